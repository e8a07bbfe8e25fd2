"""
Readable canonical spans and traces for unit tests.

`a_trace().agent("planner", 0, 20).tool("get_weather", start=1, end=5).assembled()`. Times are in ticks of one
millisecond after `BASE_NS`, which is no whole millisecond, so that no span looks as if its times were cut.
"""

from typing import Any, Self

from proto_adapters.canonical import (
    CanonicalSpan,
    CanonicalTrace,
    CompletionState,
    EmbeddedCall,
    LogCompletion,
    Origin,
    SpanKind,
    SpanStatus,
)
from proto_adapters.trace_assembly import AssemblyOptions, assemble

TICK_NS = 1_000_000
BASE_NS = 1_700_000_000_000_000_001
SERVER, CLIENT = 2, 3
ABSENT = "(absent)"
"""As `under`: a parent that is not held."""


def at(tick: float | None) -> int | None:
    """
    The time of a tick; `None` stays `None`.
    """
    return None if tick is None else BASE_NS + round(tick * TICK_NS)


def a_trace_id(number: int = 1) -> bytes:
    return number.to_bytes(16, "big")


def a_span_id(number: int = 1) -> bytes:
    return number.to_bytes(8, "big")


def an_origin(service_name: str = "trip-planner", scope_name: str = "tests") -> Origin:
    """
    An origin whose headers differ where its names differ.
    """
    return Origin(service_name.encode(), scope_name.encode(), service_name=service_name, scope_name=scope_name)


def a_span(
    kind: SpanKind = SpanKind.UNKNOWN, start: float = 0, end: float | None = 1, **fields: object
) -> CanonicalSpan:
    """
    One span, in ticks; *fields* are those of `CanonicalSpan`.
    """
    values: dict[str, Any] = {"trace_id": a_trace_id(), "span_id": a_span_id(), "kind": kind, "origin": an_origin()}
    return CanonicalSpan(**(values | {"start_ns": at(start), "end_ns": at(end)} | fields))


def a_call(name: str, call_id: str | None = None, **fields: object) -> EmbeddedCall:
    values: dict[str, Any] = {"call_id": call_id, "source": "gen_ai.output.messages"} | fields
    return EmbeddedCall(name=name, **values)


class TraceBuilder:
    """
    Spans of one trace, each under the first parentless one unless *under* names another by its label.
    """

    def __init__(self, trace_id: bytes) -> None:
        self.trace_id = trace_id
        self.spans: list[CanonicalSpan] = []
        self.logs: list[LogCompletion] = []
        self._ids: dict[str, bytes] = {}
        self._root: bytes | None = None

    def span(self, kind: SpanKind, start: float = 0, end: float | None = 1, **fields: object) -> Self:
        """
        Add a span; *label* is what others call it by, *under* the label of its parent or `ABSENT`.
        """
        values: dict[str, Any] = {"span_id": a_span_id(len(self.spans) + 1), "trace_id": self.trace_id} | fields
        label, under = values.pop("label", None), values.pop("under", None)
        span = a_span(kind, start, end, **({"parent_span_id": self._parent(under)} | values))
        if not self.spans and span.parent_span_id is None:
            self._root = span.span_id
        self.spans.append(span)
        if label:
            self._ids[label] = span.span_id
        return self

    def tool(self, tool_name: str | None, /, start: float = 0, end: float | None = 1, **fields: object) -> Self:
        return self.span(
            SpanKind.TOOL, start, end, **({"name": f"execute_tool {tool_name}", "tool_name": tool_name} | fields)
        )

    def llm(self, *calls: EmbeddedCall | str, start: float = 0, end: float | None = 1, **fields: object) -> Self:
        """
        An LLM span whose completion asks for *calls*; readable unless *completion* says otherwise.
        """
        embedded = tuple(
            a_call(call, index=place) if isinstance(call, str) else call for place, call in enumerate(calls)
        )
        return self.span(
            SpanKind.LLM,
            start,
            end,
            **({"name": "chat", "completion": CompletionState.READ, "embedded_calls": embedded} | fields),
        )

    def agent(self, name: str = "planner", /, start: float = 0, end: float | None = 100, **fields: object) -> Self:
        return self.span(SpanKind.AGENT, start, end, **({"name": f"invoke_agent {name}", "agent_name": name} | fields))

    def chain(self, name: str = "step", /, start: float = 0, end: float | None = 1, **fields: object) -> Self:
        return self.span(SpanKind.CHAIN, start, end, **({"name": name} | fields))

    def mcp_server(self, name: str | None, /, start: float = 0, end: float | None = 1, **fields: object) -> Self:
        return self.tool(name, start, end, **({"otel_kind": SERVER, "mcp_method": "tools/call"} | fields))

    def mcp_client(self, name: str | None, /, start: float = 0, end: float | None = 1, **fields: object) -> Self:
        return self.tool(name, start, end, **({"otel_kind": CLIENT, "mcp_method": "tools/call"} | fields))

    def failed_tool(self, name: str, /, start: float = 0, end: float | None = 1, **fields: object) -> Self:
        return self.tool(name, start, end, **({"status": SpanStatus.ERROR} | fields))

    def log(
        self,
        label: str,
        *calls: EmbeddedCall | str,
        completion: CompletionState = CompletionState.READ,
    ) -> Self:
        """
        Add a log record that tells of the completion of the span called *label*.
        """
        embedded = tuple(
            a_call(call, index=place, source="log") if isinstance(call, str) else call
            for place, call in enumerate(calls)
        )
        digest = len(self.logs).to_bytes(16, "big")
        self.logs.append(LogCompletion(self.trace_id, self._ids[label], digest, completion, embedded))
        return self

    def id_of(self, label: str) -> bytes:
        return self._ids[label]

    def assembled(self, options: AssemblyOptions | None = None) -> CanonicalTrace:
        return assemble(self.spans, self.logs, options or AssemblyOptions())

    def _parent(self, under: str | None) -> bytes | None:
        if under is None:
            return self._root
        return a_span_id(0xDEAD) if under == ABSENT else self._ids[under]


def a_trace(number: int = 1) -> TraceBuilder:
    return TraceBuilder(a_trace_id(number))


def asked_for(trace: CanonicalTrace) -> list[str]:
    """
    Names of the calls that completions ask for.
    """
    return [call.name for _, call in trace.embedded]


def unreadable(trace: CanonicalTrace) -> int:
    """
    LLM spans that make a trace partial: not readable and no repetition.
    """
    llm = (span for span in trace.spans if span.kind is SpanKind.LLM)
    return sum(span.duplicate_of is None and not span.completion.is_readable for span in llm)
