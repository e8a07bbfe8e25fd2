"""
GenAI log records as completions of the LLM spans they belong to. Pure.

Three forms: the event `gen_ai.choice` (semantic conventions 1.28-1.36), `gen_ai.client.inference.operation.details`
(1.37 on), and ADOT's one record for each model span, whose body has `input` and `output`. A log record never makes a
tool call of its own: Claude Code and Codex tell in logs what their spans tell too (reference §5.4).
"""

from hashlib import blake2b
from typing import Final

import msgspec

from proto_adapters.attribute_values import decoded, text_of
from proto_adapters.call_collector import CallCollector
from proto_adapters.canonical import AttributeValue, CompletionState, LogCompletion, LogView
from proto_adapters.completion import told_state
from proto_adapters.embedded_calls import read_output
from proto_adapters.read_options import DEFAULT_OPTIONS, ReadOptions, with_control_tools

CHOICE: Final = "gen_ai.choice"
DETAILS: Final = "gen_ai.client.inference.operation.details"
_MESSAGES: Final = "gen_ai.output.messages"
_MOVED: Final = "gen_ai.output.messages_ref"


def read_log(log: LogView, options: ReadOptions = DEFAULT_OPTIONS) -> LogCompletion | None:
    """
    What one log record tells of a completion; `None` if it tells nothing, or belongs to no span.
    """
    if not any(log.trace_id) or not any(log.span_id):
        return None
    output = _output_of(log)
    if output is None:
        return None
    collector = CallCollector(keep_arguments=options.keep_arguments, limits=options.limits)
    collector.source = log.event_name or text_of(log.attributes.get("event.name")) or "log"
    for value in output:
        read_output(value, collector)
    _place_choice(log, collector)
    return LogCompletion(
        trace_id=log.trace_id,
        span_id=log.span_id,
        digest=_digest(log),
        completion=_state(log, collector),
        embedded_calls=with_control_tools(collector.calls, options),
    )


def _output_of(log: LogView) -> list[AttributeValue] | None:
    """
    The output values of the record, or `None` if it is none of the three forms.
    """
    name = log.event_name or text_of(log.attributes.get("event.name")) or ""
    body = decoded(log.body)
    if name == CHOICE:
        return [body if body is not None else dict(log.attributes)]
    if name == DETAILS:
        return _details(log, body)
    return _adot_output(body, is_named_for_scope=bool(name) and name == log.origin.scope_name)


def _details(log: LogView, body: AttributeValue) -> list[AttributeValue] | None:
    holders = (log.attributes, body if isinstance(body, dict) else {})
    found = [holder[_MESSAGES] for holder in holders if _MESSAGES in holder]
    is_moved = any(_MOVED in holder for holder in holders)
    return found if found or is_moved or log.attributes or isinstance(body, dict) else None


def _adot_output(body: AttributeValue, *, is_named_for_scope: bool) -> list[AttributeValue] | None:
    """
    The output half of an ADOT body: only a record named for its scope, or one with both halves, is ADOT's.
    """
    output = body.get("output") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(output, dict) or "messages" not in output:
        return None
    return [output["messages"]] if is_named_for_scope or "input" in body else None


def _place_choice(log: LogView, collector: CallCollector) -> None:
    """
    Give the calls of a `gen_ai.choice` the index of the choice as their candidate.
    """
    body = decoded(log.body)
    index = body.get("index") if isinstance(body, dict) else None
    if type(index) is int and 0 < index < 1 << 31:
        collector.calls = [msgspec.structs.replace(call, candidate=index) for call in collector.calls]


def _state(log: LogView, collector: CallCollector) -> CompletionState:
    told = told_state(collector, tuple(collector.finish_reasons))
    if told is not None:
        return told[0]
    if collector.has_text:
        return CompletionState.READ
    body = decoded(log.body)
    moved = _MOVED in log.attributes or (isinstance(body, dict) and _MOVED in body)
    return CompletionState.REFERENCED if moved else CompletionState.HIDDEN


def _digest(log: LogView) -> bytes:
    """
    Equal for equal records: the same record delivered twice is one.
    """
    content = (log.event_name, log.time_ns, dict(log.attributes), log.body)
    try:
        encoded = msgspec.msgpack.encode(content, order="deterministic")
    except (TypeError, ValueError, OverflowError, RecursionError):
        encoded = repr((log.event_name, log.time_ns, sorted(log.attributes))).encode()
    return blake2b(encoded, digest_size=16).digest()
