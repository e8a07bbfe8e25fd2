"""
Readable evidence for tests of the scorers, without spans.

`tool_spans(a_tool_call("a", 0, 2), a_tool_call("b", 3, 5))` is the evidence of one complete trace. Times are abstract.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from proto_adapters.canonical import Shape, SpanStatus, ToolCall
from service.conditions import Condition, parse_condition
from service.evaluation import Evaluation
from service.evidence import Coverage, CoverageReason, Partition, ToolEvidence
from service.scoring.conditions import evaluate_condition
from service.scoring.order import Attempt
from service.scoring.settings import DEFAULT_SCORING, ScoringSettings

TRACE_ID = bytes(15) + b"\x01"
PARTIAL = Coverage((CoverageReason.MISSING_PARENT,))


def a_tool_call(name: str, start: int = 0, end: int | None = 1, **fields: object) -> ToolCall:
    values: dict[str, Any] = {"trace_id": TRACE_ID, "span_id": start.to_bytes(8, "big")} | fields
    return ToolCall(name=name, start_ns=start, end_ns=end, **values)


def a_failed_call(name: str, start: int = 0, end: int | None = 1) -> ToolCall:
    return a_tool_call(name, start, end, status=SpanStatus.ERROR)


def a_requested_call(name: str, start: int = 0, end: int | None = None, **fields: object) -> ToolCall:
    return a_tool_call(name, start, end, shape=Shape.LLM_EMBEDDED, **fields)


def tool_spans(*calls: ToolCall, **fields: object) -> ToolEvidence:
    """
    Evidence of a complete trace that has TOOL spans.
    """
    values: dict[str, Any] = {
        "shapes": (Shape.TOOL_SPANS,),
        "calls": calls,
        "called_names": tuple(dict.fromkeys(name for call in calls for name in (call.name, *call.aliases))),
        "has_tool_evidence": True,
        "observed_call_count": sum(not call.control_tool for call in calls),
    }
    return ToolEvidence(**(values | fields))


def llm_embedded(*calls: ToolCall, **fields: object) -> ToolEvidence:
    """
    Evidence of a complete trace that has LLM spans only, all of them readable.
    """
    names = tuple(dict.fromkeys(call.name for call in calls))
    values: dict[str, Any] = {
        "shapes": (Shape.LLM_EMBEDDED,),
        "embedded_calls": calls,
        "called_names": names,
        "requested_names": names,
        "has_tool_evidence": True,
        "observed_call_count": len(calls),
    }
    return ToolEvidence(**(values | fields))


def partial(evidence: ToolEvidence) -> ToolEvidence:
    return replace(evidence, coverage=PARTIAL)


def unlinked(evidence: ToolEvidence) -> ToolEvidence:
    return replace(evidence, partition=Partition.SESSION, all_requests_linked=False)


class TraceCase(NamedTuple):
    """
    One trace of a selection case: names of TOOL spans (`None`: nameless), and of calls per LLM span.
    """

    tool_names: Sequence[str | None]
    llm_calls: Sequence[Sequence[str]]

    @property
    def shape(self) -> Shape | None:
        if self.tool_names:
            return Shape.TOOL_SPANS
        return Shape.LLM_EMBEDDED if self.llm_calls else None

    @property
    def names(self) -> list[str]:
        if self.tool_names:
            return [name for name in self.tool_names if name is not None]
        return [name for calls in self.llm_calls for name in calls]


def pooled(traces: Iterable[TraceCase]) -> ToolEvidence:
    """
    Selection evidence of one trace, or of a session of several, each read in its own shape.
    """
    held = list(traces)
    names = [name for trace in held for name in trace.names]
    nameless = sum(name is None for trace in held for name in trace.tool_names)
    return ToolEvidence(
        partition=Partition.SESSION if len(held) > 1 else Partition.TRACE,
        shapes=tuple(dict.fromkeys(trace.shape for trace in held if trace.shape)),
        called_names=tuple(dict.fromkeys(names)),
        nameless_calls=nameless,
        has_tool_evidence=True,
        observed_call_count=len(names),
        coverage=Coverage((CoverageReason.TOOL_NAME_MISSING,) if nameless else ()),
    )


def steps_of(tools: Sequence[str], spans: Sequence[Sequence[Any]]) -> list[list[Attempt]]:
    """
    The attempts of each tool of an order case; a span is `[tool, start, end or null]`.
    """
    return [[Attempt(start, end) for name, start, end in spans if name == tool] for tool in tools]


def a_condition(condition_type: str, *tools: object, **fields: object) -> Condition:
    document: dict[str, object] = {"condition_type": condition_type} | fields
    return parse_condition(document | {"tools": list(tools)} if tools else document)


def answers(
    condition: Condition, evidence: ToolEvidence, settings: ScoringSettings = DEFAULT_SCORING
) -> tuple[Evaluation, ...]:
    return evaluate_condition(condition, evidence, "a policy", settings)


def answer(condition: Condition, evidence: ToolEvidence, settings: ScoringSettings = DEFAULT_SCORING) -> Evaluation:
    """
    The evaluation of the condition itself.
    """
    return answers(condition, evidence, settings)[0]
