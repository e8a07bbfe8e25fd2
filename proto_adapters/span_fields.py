"""
Fields that spans of any kind may tell: the session, the agent, and whether the work failed. Pure. Reference §5.3.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from proto_adapters.attribute_values import (
    ABSENT_SESSIONS,
    SCRUBBED_PREFIX,
    clean_name,
    flag_of,
    identifier_of,
    text_of,
    unquoted,
)
from proto_adapters.canonical import AttributeValue, EventView, SpanKind, SpanStatus
from proto_adapters.dialects.detection import DIALECT_BITS, SpanFacts
from proto_adapters.dialects.dialect import WHOLE_NAME, inside
from proto_adapters.dialects.registry import DIALECTS
from proto_adapters.span_kind import KindDecision

SPAN_NAME: Final = "span name"
"""The key of names that were read from the span's own name."""

# ---- session and agent ----

SESSION_KEYS: Final = (
    "langfuse.session.id",
    "session.id",
    "gen_ai.conversation.id",
    "traceloop.association.properties.session_id",
    "langsmith.metadata.session_id",
    "langsmith.metadata.thread_id",
    "langsmith.metadata.conversation_id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.thread_id",
    "lmnr.association.properties.session_id",
    "gcp.vertex.agent.session_id",
    "spring.ai.chat.client.conversation.id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.session.id",
    "ai.telemetry.metadata.threadId",
    "ai.settings.context.sessionId",
    "genkit:sessionId",
    "genkit:metadata:agent:sessionId",
    "mlflow.trace.session",
    "gen_ai.session.id",
    "gen_ai.agent.session_id",
    "copilot_chat.chat_session_id",
    "copilot_chat.session_id",
    "gen_ai.thread.id",
    "voltagent.conversation_id",
    "conversation.id",
    "group_id",
    "langfuse.trace.metadata.langfuse_session_id",
    "metadata.sessionId",
    "mastra.metadata.sessionId",
    "lk.room_name",
    "lk.job_id",
    "_ml_obs.session_id",
)
SESSION_KEY_SET: Final = frozenset(SESSION_KEYS)
_SESSION_SCOPES: Final = {"group_id": "logfire.openai_agents"}
"""Keys too general to count outside one scope."""


def read_session(
    attributes: Mapping[str, AttributeValue], keys: frozenset[str], scope: str, configured: tuple[str, ...] = ()
) -> tuple[str | None, str | None]:
    """
    The session id that the span itself tells, and its key. *configured* keys take the place of the known ones.
    """
    for key in configured or _known_keys(keys, scope):
        session = _session_id(attributes[key]) if key in keys else None
        if session is not None:
            return session, key
    return None, None


def _known_keys(keys: frozenset[str], scope: str) -> Sequence[str]:
    present = [key for key in keys & SESSION_KEY_SET if scope == _SESSION_SCOPES.get(key, scope)]
    return sorted(present, key=SESSION_KEYS.index) if len(present) > 1 else present


def _session_id(value: AttributeValue) -> str | None:
    session = identifier_of(value)
    if session is None or len(session) > _MAX_SESSION:
        return session and _cleaned_session(session)
    return _recurring_session(session)


def _cleaned_session(session: str) -> str | None:
    session = unquoted(session.strip())
    return None if session in ABSENT_SESSIONS or session.startswith(SCRUBBED_PREFIX) else session


_MAX_SESSION: Final = 128
_recurring_session: Final = lru_cache(4096)(_cleaned_session)
"""Every span of a run tells its session."""

AGENT_KEYS: Final = (
    "gen_ai.agent.name",
    "agent.name",
    "agent_name",
    "langsmith.metadata.lc_agent_name",
    "traceloop.association.properties.lc_agent_name",
    "lk.agent_name",
    "ai.telemetry.functionId",
    "graph.node.id",
)
_AGENT_SET: Final = frozenset(AGENT_KEYS)
_OWN_AGENT_KEYS: Final = (("voltagent", "entity.name"), ("n8n", "n8n.node.name"))


def read_agent_name(facts: SpanFacts, decision: KindDecision) -> str | None:
    """
    The name of the agent that the span is of, or of which it tells.
    """
    if not facts.keys.isdisjoint(_AGENT_SET):
        for key in AGENT_KEYS:
            if key in facts.keys and (name := clean_name(facts.value(key))) is not None:
                return name
    return _agent_of_agent_span(facts, decision) if decision.kind is SpanKind.AGENT else None


def _agent_of_agent_span(facts: SpanFacts, decision: KindDecision) -> str | None:
    for dialect_id, key in _OWN_AGENT_KEYS:
        if facts.is_dialect(dialect_id) and (name := clean_name(facts.value(key))) is not None:
            return name
    if facts.scope == "logfire.openai_agents":
        return clean_name(facts.value("name"))
    for dialect in DIALECTS:
        if facts.marks & DIALECT_BITS[dialect.id]:
            for form in dialect.agent_in_span:
                if form != WHOLE_NAME or dialect.id == decision.dialect:
                    name = clean_name(inside(form, facts.view.name))
                    if name is not None:
                        return name
    return None


# ---- errors ----

_ERROR_TEXTS: Final = (
    ("gen_ai.tool.status", "error"),
    ("tool.status", "error"),
    ("gen_ai.task.status", "failure"),
    ("langfuse.observation.level", "error"),
    ("genkit:state", "error"),
)
_ERROR_FLAGS: Final = (("success", False), ("error", True), ("haystack.tool.error", True))
_ERROR_KEYS: Final = frozenset(
    {key for key, _ in _ERROR_TEXTS} | {key for key, _ in _ERROR_FLAGS} | {"logfire.level_num", "error.type"}
) | {"lk.function_tool.is_error"}
_LOGFIRE_ERROR: Final = 17


def read_status(facts: SpanFacts) -> tuple[SpanStatus, str | None]:
    """
    The status of the work, and the type of its error. An `exception` event alone is no error.
    """
    status = facts.view.status
    if status is not SpanStatus.ERROR and facts.keys.isdisjoint(_ERROR_KEYS):
        return status, None
    error_type = identifier_of(facts.value("error.type"))
    if error_type is not None or _tells_an_error(facts):
        status = SpanStatus.ERROR
    if status is SpanStatus.ERROR and error_type is None:
        error_type = _exception_type(facts.view.events)
    return status, error_type


def _tells_an_error(facts: SpanFacts) -> bool:
    for key, value in _ERROR_TEXTS:
        if (facts.text(key) or "").lower() == value:
            return True
    for key, wanted in _ERROR_FLAGS:
        if key in facts.keys and flag_of(facts.value(key)) is wanted:
            return True
    if flag_of(facts.value("lk.function_tool.is_error")):
        return True
    level = facts.value("logfire.level_num")
    return type(level) is int and level >= _LOGFIRE_ERROR


def _exception_type(events: Sequence[EventView]) -> str | None:
    """
    The type that the last exception event tells, if a producer writes no `error.type`.
    """
    for event in reversed(events):
        if event.name == "exception":
            return text_of(event.attributes.get("exception.type"))
    return None
