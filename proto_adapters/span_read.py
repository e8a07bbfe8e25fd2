"""
One decoded span, in whatever dialect, as one `CanonicalSpan`. Pure: no protobuf, no clock, no logging.

Values of a wrong type are absent or become a named problem; nothing raises. What only the whole trace can tell is left
to the assembly: pending spans (X2, X3), stale completions (C7), refused Claude Code tools (C9), calls told twice.
"""

from typing import Any, Final

from msgspec.structs import replace

from proto_adapters.attribute_values import text_of
from proto_adapters.canonical import (
    NO_ATTRIBUTES,
    Attributes,
    CanonicalSpan,
    CompletionState,
    Problem,
    SpanKind,
    SpanStatus,
    SpanView,
)
from proto_adapters.completion import read_completion, read_response_id
from proto_adapters.dialects.detection import (
    ALL_DIALECTS,
    DIALECT_BITS,
    LOOKS_LIKE_GENAI,
    SpanFacts,
    dialect_ids,
    facts_of,
)
from proto_adapters.dialects.logfire import PENDING_PARENT, SPAN_TYPE
from proto_adapters.dialects.registry import DIALECTS
from proto_adapters.log_read import read_log
from proto_adapters.read_options import (
    CONTROL_TOOLS,
    DEFAULT_OPTIONS,
    ReadOptions,
    is_control_tool,
    with_control_tools,
)
from proto_adapters.span_fields import SESSION_KEY_SET, read_agent_name, read_session, read_status
from proto_adapters.span_kind import OPERATION, KindDecision, decide_kind, mcp_method
from proto_adapters.tool_fields import (
    MCP_KEYS,
    arguments_digest,
    read_arguments,
    read_call_id,
    read_mcp_request_id,
    read_mcp_server,
    read_tool_name,
)
from proto_adapters.tool_results import read_result_ids

__all__ = ["CONTROL_TOOLS", "ReadOptions", "is_control_tool", "read_log", "read_span"]

_SYNTHETIC: Final = sum(DIALECT_BITS[dialect.id] for dialect in DIALECTS if dialect.intervals == "synthetic")
_ZERO_LENGTH: Final = sum(DIALECT_BITS[dialect.id] for dialect in DIALECTS if dialect.intervals == "zero_length")
_PROVIDER: Final = sum(DIALECT_BITS[dialect.id] for dialect in DIALECTS if dialect.intervals == "provider")


def read_span(view: SpanView, options: ReadOptions = DEFAULT_OPTIONS) -> CanonicalSpan:
    """
    The canonical span of one decoded span.
    """
    facts = facts_of(view)
    span = _plain(facts, options)
    return replace(span, **_meaning(facts, options)) if facts.marks else span


def _plain(facts: SpanFacts, options: ReadOptions) -> CanonicalSpan:
    """
    What spans of any kind tell. One without any sign of GenAI work (K9) may be a root, a parent, or carry the session.
    """
    view = facts.view
    session_id, session_key = _session(facts, options)
    # Not a keyword more: with over 15 CPython collects a dict first, at four times the cost.
    span = CanonicalSpan(
        trace_id=view.trace_id,
        span_id=view.span_id,
        parent_span_id=view.parent_span_id,
        name=view.name,
        otel_kind=view.otel_kind,
        origin=view.origin,
        start_ns=view.start_ns,
        end_ns=view.end_ns,
        flags=view.flags,
        status=view.status,
        dropped_attributes_count=view.dropped_attributes_count,
        dropped_events_count=view.dropped_events_count,
        links=tuple(view.links) if view.links else (),
        session_id=session_id,
        session_key=session_key,
    )
    if options.selected_keys and (selected := options.selected_keys & facts.keys):
        return replace(span, selected={key: facts.attributes[key] for key in sorted(selected)})
    return span


def _session(facts: SpanFacts, options: ReadOptions) -> tuple[str | None, str | None]:
    if not options.session_keys and facts.keys.isdisjoint(SESSION_KEY_SET):
        return None, None
    return read_session(facts.attributes, facts.keys, facts.scope, options.session_keys)


def _meaning(facts: SpanFacts, options: ReadOptions) -> dict[str, Any]:
    """
    What the dialects of the span tell: the fields of the canonical span beyond the plain ones.
    """
    decision = decide_kind(facts)
    status, error_type = read_status(facts)
    fields: dict[str, Any] = {
        "status": status,
        "error_type": error_type,
        "dialects": dialect_ids(facts.marks, decision.dialect),
        "kind": decision.kind,
        "kind_rule": decision.rule,
        "handoff": decision.handoff,
        "agent_name": read_agent_name(facts, decision),
    }
    problems: list[tuple[Problem, str]] = []
    if decision.conflict is not None:
        problems.append((Problem.DIALECT_CONFLICT, decision.conflict))
    if SPAN_TYPE in facts.keys:
        fields.update(_pending_fields(facts))
    if decision.kind is SpanKind.TOOL:
        fields.update(_tool_fields(facts, decision, options, problems))
    elif decision.kind is SpanKind.LLM:
        fields.update(_llm_fields(facts, status, options, problems))
    elif _is_unrecognised(facts, decision):
        problems.append((Problem.UNRECOGNISED_GENAI, _unknown_keys(facts)))
    elif decision.kind is SpanKind.UNKNOWN and not isinstance(facts.value(OPERATION), str | None):
        problems.append((Problem.VALUE_UNDECODABLE, f"{OPERATION} is no text"))
    if not facts.keys.isdisjoint(MCP_KEYS) or facts.is_dialect("fastmcp"):
        fields.update(_mcp_fields(facts))
    _note_undecodable(facts.attributes, problems)
    if problems:
        fields["problems"] = tuple(problem for problem, _ in problems)
        fields["problem_details"] = tuple(detail for _, detail in problems)
    return fields


# ---- TOOL ----


def _tool_fields(
    facts: SpanFacts, decision: KindDecision, options: ReadOptions, problems: list[tuple[Problem, str]]
) -> dict[str, Any]:
    tool = read_tool_name(facts, decision)
    if tool.conflict is not None:
        problems.append((Problem.TOOL_NAME_CONFLICT, tool.conflict))
    elif tool.name is None:
        problems.append((Problem.TOOL_NAME_MISSING, "no usable name at any key or in the span name"))
    if tool.unreadable_key is not None:
        problems.append((Problem.VALUE_UNDECODABLE, f"{tool.unreadable_key} is no text"))
    arguments = read_arguments(facts)
    call_id = read_call_id(facts, tool.name)
    fields: dict[str, Any] = {
        "tool_name": tool.name,
        "tool_name_raw": tool.raw,
        "tool_name_key": tool.key,
        "tool_call_id": call_id,
        "arguments_digest": arguments_digest(arguments),
        "executed": _executed(facts),
        "control_tool": tool.name is not None and is_control_tool(tool.name, options.control_tools),
        "order_evidence": _has_real_interval(facts, call_id) and facts.text(SPAN_TYPE) != "pending_span",
    }
    if options.keep_arguments:
        fields["tool_arguments"] = arguments
    return fields


def _executed(facts: SpanFacts) -> bool | None:
    """
    C9, as far as the span tells it: arguments that did not validate, a deferred call.
    """
    refused = facts.text("pydantic_ai.tool.failure_stage") == "validation"
    return False if refused or facts.text("pydantic_ai.tool.deferral.name") is not None else None


def _has_real_interval(facts: SpanFacts, call_id: str | None) -> bool:
    """
    False for intervals that are synthetic by construction. Zero length alone is no sign: fast tools are real.
    """
    marks, view = facts.marks, facts.view
    if marks & _SYNTHETIC or facts.scope.startswith("@arizeai/openinference-instrumentation-beeai"):
        return False
    if marks & _ZERO_LENGTH and call_id is None and view.start_ns == view.end_ns:
        return False
    return not (marks & _PROVIDER and facts.text("gen_ai.tool.type") == "extension")


# ---- LLM ----


def _llm_fields(
    facts: SpanFacts, status: SpanStatus, options: ReadOptions, problems: list[tuple[Problem, str]]
) -> dict[str, Any]:
    completion = read_completion(facts, status, keep_arguments=options.keep_arguments, limits=options.limits)
    if not completion.state.is_readable:
        problems.append((Problem.COMPLETION_HIDDEN, completion.detail))
    if completion.state is CompletionState.TRUNCATED:
        problem = Problem.LIMIT_EXCEEDED if completion.is_over_limit else Problem.VALUE_UNDECODABLE
        problems.append((problem, completion.detail))
    fields: dict[str, Any] = {
        "completion": completion.state,
        "embedded_calls": with_control_tools(completion.calls, options),
        "finish_reasons": completion.finish_reasons,
        "response_id": read_response_id(facts),
    }
    if options.read_results:
        fields["result_call_ids"] = read_result_ids(facts, options.limits)
    return fields


# ---- MCP, Logfire, problems ----


def _mcp_fields(facts: SpanFacts) -> dict[str, Any]:
    return {
        "mcp_server": read_mcp_server(facts),
        "mcp_method": mcp_method(facts),
        "mcp_session_id": facts.text("mcp.session.id"),
        "mcp_request_id": read_mcp_request_id(facts),
    }


def _pending_fields(facts: SpanFacts) -> dict[str, Any]:
    """
    A pending span announces its parent, so that its own parent is the one that span will have.
    """
    if facts.text(SPAN_TYPE) != "pending_span":
        return {}
    return {
        "pending": True,
        "pending_for": facts.view.parent_span_id,
        "parent_span_id": _announced_parent(facts.attributes),
        "end_ns": None,
    }


def _announced_parent(attributes: Attributes) -> bytes | None:
    text = text_of(attributes.get(PENDING_PARENT))
    try:
        parent = bytes.fromhex(text) if text is not None else b""
    except ValueError:
        return None
    return parent if len(parent) == 8 and any(parent) else None


def _is_unrecognised(facts: SpanFacts, decision: KindDecision) -> bool:
    return decision.rule == "K9" and bool(facts.marks & LOOKS_LIKE_GENAI) and not facts.marks & ALL_DIALECTS


def _unknown_keys(facts: SpanFacts) -> str:
    return f"no dialect knows the keys of scope {facts.scope!r}"


def _note_undecodable(attributes: Attributes, problems: list[tuple[Problem, str]]) -> None:
    undecodable = getattr(attributes, "undecodable", None) if attributes is not NO_ATTRIBUTES else None
    if undecodable:
        problems.append((Problem.VALUE_UNDECODABLE, f"{len(undecodable)} attribute values are not what they say"))
