"""
Leaf conditions that read which tools were called and how often: `tools_called`, `tools_not_called`, `tool_call_count`.

Pure. What was seen stands on partial evidence; what was not seen needs evidence in which it would have been seen.
"""

from proto_adapters.canonical import Shape, ToolCall
from service.conditions import CallCount, LeafCondition, ToolCallCount, ToolsCalled, ToolsNotCalled
from service.evaluation import Reason, Verdict
from service.evidence import ToolEvidence
from service.scoring.absence import absence_gap
from service.scoring.calls import FoundCalls, find_calls
from service.scoring.findings import Finding, names_called, names_missing
from service.scoring.settings import ScoringSettings


def counted_calls(evidence: ToolEvidence, settings: ScoringSettings) -> tuple[ToolCall, ...]:
    """
    The calls that leaves read: executions, and with `count_embedded_calls` also calls that stand in completions only.
    """
    return evidence.calls + evidence.embedded_calls if settings.count_embedded_calls else evidence.calls


def find_tools_called(condition: ToolsCalled, evidence: ToolEvidence, settings: ScoringSettings) -> Finding:
    """
    True if a call of every tool was seen; false if one never ran.
    """
    found = _find(condition, evidence, settings, with_joined=True)
    missing = names_missing(condition.tools, found)
    verdict, reason = Verdict.TRUE, None
    if missing:
        never_ran = any(not calls.all for calls in found)
        verdict, reason = _conclude(Verdict.FALSE, evidence, settings, is_known=never_ran)
    return Finding(
        verdict,
        reason,
        called=names_called(condition.tools, found),
        missing=missing,
        explanation=f"missing: {', '.join(missing)}" if missing else "",
        from_embedded_calls=_rest_on_completions(found),
    )


def find_tools_not_called(condition: ToolsNotCalled, evidence: ToolEvidence, settings: ScoringSettings) -> Finding:
    """
    False if a call of any tool was seen; true if none ever ran.
    """
    found = _find(condition, evidence, settings, with_joined=True)
    called = names_called(condition.tools, found)
    verdict, reason = Verdict.FALSE, None
    if not called:
        none_ran = not any(calls.all for calls in found)
        verdict, reason = _conclude(Verdict.TRUE, evidence, settings, is_known=none_ran)
    return Finding(
        verdict,
        reason,
        called=called,
        explanation=f"called: {', '.join(called)}" if called else "",
        from_embedded_calls=_rest_on_completions(found),
    )


def find_tool_call_count(condition: ToolCallCount, evidence: ToolEvidence, settings: ScoringSettings) -> Finding:
    """
    True if the number of calls of every tool is within its bounds, false if one is outside, whatever is not yet seen.
    """
    found = _find(condition, evidence, settings, with_joined=False)
    gap = _gap(evidence, settings)
    verdicts = [
        _count_verdict(tool, calls, may_be_more=gap is not None)
        for tool, calls in zip(condition.tools, found, strict=True)
    ]
    broken = [
        f"{tool.name} ({len(calls.certain)})"
        for tool, calls, verdict in zip(condition.tools, found, verdicts, strict=True)
        if verdict is Verdict.FALSE
    ]
    verdict = _worst(verdicts)
    return Finding(
        verdict,
        (gap or Reason.NO_TOOL_EVIDENCE) if verdict is Verdict.UNDETERMINED else None,
        called=names_called(condition.tools, found),
        missing=tuple(
            tool.name for tool, calls in zip(condition.tools, found, strict=True) if tool.min and not calls.certain
        ),
        explanation=f"calls outside the bounds: {', '.join(broken)}" if broken else "",
        from_embedded_calls=_rest_on_completions(found),
    )


def _count_verdict(tool: CallCount, calls: FoundCalls, *, may_be_more: bool) -> Verdict:
    least = len(calls.certain)
    most = None if may_be_more else len(calls.all)
    if (tool.max is not None and least > tool.max) or (most is not None and most < tool.min):
        return Verdict.FALSE
    if least >= tool.min and (tool.max is None or (most is not None and most <= tool.max)):
        return Verdict.TRUE
    return Verdict.UNDETERMINED


def _worst(verdicts: list[Verdict]) -> Verdict:
    order = (Verdict.FALSE, Verdict.UNDETERMINED, Verdict.TRUE)
    return min(verdicts, key=order.index)


def _conclude(
    verdict: Verdict, evidence: ToolEvidence, settings: ScoringSettings, *, is_known: bool
) -> tuple[Verdict, Reason | None]:
    """
    *verdict*, which follows from what was not seen, or why it does not follow.
    """
    if gap := _gap(evidence, settings):
        return Verdict.UNDETERMINED, gap
    if not is_known:
        return Verdict.UNDETERMINED, Reason.NO_TOOL_EVIDENCE  # the arguments of a call are not known
    return verdict, None


def _gap(evidence: ToolEvidence, settings: ScoringSettings) -> Reason | None:
    return absence_gap(evidence, settings, embedded_calls_count=settings.count_embedded_calls)


def _find(
    condition: LeafCondition, evidence: ToolEvidence, settings: ScoringSettings, *, with_joined: bool
) -> list[FoundCalls]:
    return find_calls(
        condition.requirements,
        counted_calls(evidence, settings),
        condition.name_matching,
        with_aliases=settings.tool_name_aliases,
        with_joined=with_joined,
    )


def _rest_on_completions(found: list[FoundCalls]) -> bool:
    return any(call.shape is Shape.LLM_EMBEDDED for calls in found for call in calls.certain)
