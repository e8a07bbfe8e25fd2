"""
The canonical kind of one span: drop rules, corrections, and the order of decisions K0 to K9. Pure.

Reference §5.1, §5.2. The first rule that answers wins, and its id is kept. C7, C9 for Claude Code, X2 and X3 need the
whole trace and are applied where it is assembled. Rules C12 to C15 extend the reference by what recordings showed:

C12  `traceloop.span.kind` = task with a tool operation (LangChain.js) is a TOOL whose name is lost
C13  BeeAI: of the event spans of one call only the one that tells its outcome is the TOOL
C14  AgentOps `tool_call.X` spans are requests: CHAIN
C15  Codex: the dispatcher's span around an MCP call, and spans of the answer's stream, are CHAIN
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from proto_adapters.attribute_values import text_of
from proto_adapters.canonical import AttributeValue, SpanKind
from proto_adapters.dialects import haystack
from proto_adapters.dialects.claude_code import CLAUDE_CODE
from proto_adapters.dialects.codex import MCP_CALL, REQUEST_SPANS
from proto_adapters.dialects.crewai import PRODUCT_TELEMETRY
from proto_adapters.dialects.detection import (
    ALL_DIALECTS,
    DIALECT_BITS,
    HAS_COMPLETION,
    TELLS_A_MODEL,
    SpanFacts,
)
from proto_adapters.dialects.dialect import Dialect, KindKey
from proto_adapters.dialects.gen_ai_span_kind import GEN_AI_SPAN_KIND, SPAN_KIND_NAME
from proto_adapters.dialects.logfire import SPAN_TYPE
from proto_adapters.dialects.mcp import TOOLS_CALL
from proto_adapters.dialects.openai_agents import OPENAI_AGENTS
from proto_adapters.dialects.openinference import OPENINFERENCE, instrumentor_of
from proto_adapters.dialects.operations import HANDOFF_OPERATIONS, OPERATION_KINDS
from proto_adapters.dialects.registry import DIALECTS, NATIVE_KIND_DIALECTS
from proto_adapters.dialects.vercel_ai import VERCEL_AI_LEGACY, VERCEL_OPERATION_NAME
from proto_adapters.dialects.voltagent import VOLTAGENT, VOLTAGENT_ENTITY

OPERATION: Final = "gen_ai.operation.name"
TRACELOOP_KIND: Final = "traceloop.span.kind"
OPENINFERENCE_KIND: Final = "openinference.span.kind"
MCP_METHOD: Final = "mcp.method.name"

LANGCHAIN_SCOPES: Final = (
    "openinference.instrumentation.langchain",
    "@arizeai/openinference-instrumentation-langchain",
    "@arizeai/openinference-instrumentation-langchain-v0",
)
_INSTRUCTOR: Final = "openinference.instrumentation.instructor"
_LLAMAINDEX_TRACELOOP: Final = ("opentelemetry.instrumentation.llamaindex", "@traceloop/instrumentation-llamaindex")
_WRAPPER_RULES: Final = {"google_adk": "X5", "litellm_v1": "X6", "claude_code": "X7"}
_MERGED_NAMES: Final = ("(merged tools)", "execute_tool (merged)")
_BEEAI_OUTCOME: Final = re.compile(r"tool\.(?:[^.]+\.)*(?P<name>[^.]+)\.(?:success|error)-\d+")
_CODEX_NAMESPACED: Final = re.compile(r"mcp__.+?__.")


class KindDecision(Struct, frozen=True):
    """
    The kind of a span, the rule that decided, and the dialect that gave it.
    """

    kind: SpanKind
    rule: str
    dialect: str | None = None
    handoff: bool = False
    conflict: str | None = None
    """Both values, where two keys of K2 to K5 tell different kinds and the pair is not known to be harmless."""


class _Claim(Struct, frozen=True):
    """
    What one key tells of the kind.
    """

    key: str
    kind: SpanKind
    step: str
    dialect: str
    handoff: bool = False


def decide_kind(facts: SpanFacts) -> KindDecision:
    """
    The kind of the span by the first rule that answers.
    """
    decision = _remembered_decision(facts) or _by_method(facts) or _by_weak_evidence(facts)
    return decision or _by_span_name(facts) or KindDecision(SpanKind.UNKNOWN, "K9")


def _by_strong_evidence(facts: SpanFacts) -> KindDecision | None:
    """
    K0 to K5, the steps that read nothing but the name, the scope, the marks and the values at `DECIDING_KEYS`.
    """
    dropped = _dropped(facts)
    if dropped is not None:
        return dropped
    claims = tuple(_claims(facts))
    return _corrected(facts, claims) or _claimed(claims)


_DECISIONS: Final[dict[object, KindDecision | None]] = {}
_MAX_DECISIONS: Final = 8192
_MAX_TEXT: Final = 128


def _remembered_decision(facts: SpanFacts) -> KindDecision | None:
    """
    As `_by_strong_evidence`, which is asked once for equal evidence.

    What it reads has few values, and asking it costs as much as one and a half protobuf parses of the span.
    """
    keys = facts.keys & DECIDING_KEYS
    values = tuple(map(facts.attributes.__getitem__, keys))
    if "tool_name" in facts.keys or not all(map(_is_short, (facts.view.name, *values))):
        return _by_strong_evidence(facts)  # Codex, where the presence of an id decides as well; or what fills the memo
    evidence = facts.scope, facts.view.name, facts.marks, keys, values
    if evidence not in _DECISIONS:
        if len(_DECISIONS) >= _MAX_DECISIONS:
            _DECISIONS.clear()
        _DECISIONS[evidence] = _by_strong_evidence(facts)
    return _DECISIONS[evidence]


def forget_decisions() -> None:
    """
    Ask anew for every span from now on.
    """
    _DECISIONS.clear()


def _is_short(value: AttributeValue) -> bool:
    return type(value) is str and len(value) <= _MAX_TEXT


# ---- K0: spans that are no work, or only wrap it ----


def _dropped(facts: SpanFacts) -> KindDecision | None:
    if facts.text(SPAN_TYPE) == "log":
        return KindDecision(SpanKind.UNKNOWN, "X1", "logfire")
    if facts.scope == PRODUCT_TELEMETRY:
        return KindDecision(SpanKind.UNKNOWN, "X4", "crewai_native")
    name = facts.view.name
    if name in _MERGED_NAMES or facts.text("gen_ai.tool.name") in _MERGED_NAMES:
        return KindDecision(SpanKind.CHAIN, "X5")
    span_type = (facts.text("span.type") or "") if "span.type" in facts.keys else ""
    if name.startswith(("claude_code.tool.", "claude_code.hook")) or (
        facts.is_dialect("claude_code") and matches_step(span_type)
    ):
        return KindDecision(SpanKind.CHAIN, "X7", "claude_code")
    if facts.rules.wrappers and (dialect := facts.rules.wrapper(name)) is not None:
        return KindDecision(SpanKind.CHAIN, _WRAPPER_RULES.get(dialect.id, "X8"), dialect.id)
    return None


def matches_step(span_type: str) -> bool:
    """
    Whether Claude Code's `span.type` is a step inside a tool's span.
    """
    return span_type.removeprefix("claude_code.").startswith(("tool.", "hook"))


# ---- K2 to K5: keys that tell the kind ----

_NATIVE: Final[tuple[tuple[KindKey, Dialect], ...]] = (
    *((dialect.kind_key, dialect) for dialect in NATIVE_KIND_DIALECTS if dialect.kind_key is not None),
    (VERCEL_OPERATION_NAME, VERCEL_AI_LEGACY),
    (VOLTAGENT_ENTITY, VOLTAGENT),
    *((dialect.kind_key, dialect) for dialect in (OPENAI_AGENTS,) if dialect.kind_key is not None),
)
_SHARED_KEYS: Final = frozenset({"span.type", "entity.type"})
"""Keys that count only in spans that are the dialect's by another sign."""
_FAMILIES: Final[tuple[tuple[KindKey, Dialect, str], ...]] = (
    *((dialect.kind_key, dialect, "K3") for dialect in (OPENINFERENCE,) if dialect.kind_key is not None),
    *((dialect.kind_key, dialect, "K4") for dialect in (GEN_AI_SPAN_KIND,) if dialect.kind_key is not None),
    (SPAN_KIND_NAME, GEN_AI_SPAN_KIND, "K4"),
)
_NATIVE_KEYS: Final = frozenset(kind_key.key for kind_key, _ in _NATIVE)
DECIDING_KEYS: Final = (
    _NATIVE_KEYS
    | {kind_key.key for kind_key, _, _ in _FAMILIES}
    | {OPERATION, TRACELOOP_KIND, MCP_METHOD, SPAN_TYPE, haystack.COMPONENT_TYPE, "gen_ai.tool.name", "span.type"}
    | {"entity.type", "rpc.method", "rpc.system", "tool.name"}
)
"""What K0 to K5 read."""
_OWN_OPERATIONS: Final = tuple((DIALECT_BITS[dialect.id], dialect) for dialect in DIALECTS if dialect.operations)
_BY_OPERATION: Final = sum(DIALECT_BITS[dialect.id] for dialect in DIALECTS if dialect.kind_key is None)


def _claims(facts: SpanFacts) -> Iterator[_Claim]:
    if not facts.keys.isdisjoint(_NATIVE_KEYS):
        yield from _native_claims(facts)
    if facts.is_dialect("haystack") and (kind := haystack.span_kind(facts.view.name, facts.attributes)) is not None:
        yield _Claim("span name", kind, "K2", "haystack")
    for kind_key, dialect, step in _FAMILIES:
        if kind_key.key in facts.keys and (kind := kind_key.kind_of(facts.value(kind_key.key))) is not None:
            yield _Claim(kind_key.key, kind, step, dialect.id)
    if OPERATION in facts.keys:
        yield from _operation_claims(facts)


def _native_claims(facts: SpanFacts) -> Iterator[_Claim]:
    for kind_key, dialect in _NATIVE:
        key = kind_key.key
        if key not in facts.keys or (key in _SHARED_KEYS and not _is_its(facts, kind_key, dialect)):
            continue
        value = facts.value(key)
        kind = kind_key.kind_of(value)
        if kind is not None:
            yield _Claim(key, kind, "K2", dialect.id, value in kind_key.handoff_values)


def _is_its(facts: SpanFacts, kind_key: KindKey, dialect: Dialect) -> bool:
    if kind_key.key == "entity.type" and "span.type" in facts.keys:
        return False  # it tells whose span this is, not what it does
    if dialect is CLAUDE_CODE:
        return facts.is_dialect("claude_code") and "entity.type" not in facts.keys
    return facts.is_dialect(dialect.id) or {"span.type", "entity.type"} <= facts.keys


def _operation_claims(facts: SpanFacts) -> Iterator[_Claim]:
    operation = (facts.text(OPERATION) or "").strip().lower()
    kind = OPERATION_KINDS.get(operation)
    if kind is not None:
        yield _Claim(OPERATION, kind, "K5", _dialect_by_operation(facts), operation in HANDOFF_OPERATIONS)
        return
    for bit, dialect in _OWN_OPERATIONS:
        if facts.marks & bit and operation in dialect.operations:
            yield _Claim(OPERATION, dialect.operations[operation], "K5", dialect.id)
            return


def _dialect_by_operation(facts: SpanFacts) -> str:
    """
    The first dialect of the span that tells its kind by the operation; the convention itself if none is known.
    """
    marks = facts.marks & _BY_OPERATION
    if not marks:
        return "otel_genai_messages"
    return DIALECTS[(marks & -marks).bit_length() - 1].id


def _claimed(claims: tuple[_Claim, ...]) -> KindDecision | None:
    if not claims:
        return None
    first = claims[0]
    rule = first.step if first.step == "K5" else f"{first.step}:{first.key}"
    return KindDecision(first.kind, rule, first.dialect, first.handoff, _conflict(claims))


_HARMLESS: Final = frozenset(
    {
        (TRACELOOP_KIND, SpanKind.CHAIN, OPENINFERENCE_KIND, SpanKind.TOOL),
        (TRACELOOP_KIND, SpanKind.CHAIN, OPERATION, SpanKind.AGENT),
        ("langsmith.span.kind", SpanKind.RETRIEVER, OPERATION, SpanKind.EMBEDDING),
        ("langsmith.span.kind", SpanKind.CHAIN, OPERATION, SpanKind.LLM),
        (OPENINFERENCE_KIND, SpanKind.LLM, OPERATION, SpanKind.AGENT),
        ("spring.ai.kind", SpanKind.TOOL, OPERATION, SpanKind.CHAIN),
        ("spring.ai.kind", SpanKind.AGENT, OPERATION, SpanKind.CHAIN),
    }
)
_OPERATION_REPEATS_TYPE: Final = frozenset({"mastra.span.type"})


def _conflict(claims: tuple[_Claim, ...]) -> str | None:
    """
    Both keys with their kinds, if a later key denies the first and the pair is not an expected one.
    """
    first = claims[0]
    for other in claims[1:]:
        if SpanKind.UNKNOWN in {first.kind, other.kind} or first.kind is other.kind:
            continue
        harmless = (first.key, first.kind, other.key, other.kind) in _HARMLESS
        if not harmless and not (first.key in _OPERATION_REPEATS_TYPE and other.key == OPERATION):
            return f"{first.key} says {first.kind}, {other.key} says {other.kind}"
    return None


# ---- K1: corrections ----


def _corrected(facts: SpanFacts, claims: tuple[_Claim, ...]) -> KindDecision | None:
    method = mcp_method(facts)
    if method is not None and method != TOOLS_CALL:
        return KindDecision(SpanKind.CHAIN, "C6", _mcp_owner(facts))
    if facts.is_dialect("traceloop"):
        return _corrected_traceloop(facts, claims)
    if facts.is_dialect("openinference"):
        return _corrected_openinference(facts, claims)
    if facts.is_dialect("agentops") and facts.view.name.startswith("tool_call."):
        return KindDecision(SpanKind.CHAIN, "C14", "agentops")
    if facts.is_dialect("codex_cli") or "tool_name" in facts.keys:
        return _corrected_codex(facts)
    return None


def _corrected_traceloop(facts: SpanFacts, claims: tuple[_Claim, ...]) -> KindDecision | None:
    if facts.scope.startswith(_LLAMAINDEX_TRACELOOP) and facts.text("tool.name") is not None:
        return KindDecision(SpanKind.TOOL, "C10", "traceloop")
    if facts.text(TRACELOOP_KIND) != "task":
        return None
    operation = next((claim.kind for claim in claims if claim.key == OPERATION), None)
    if operation is SpanKind.LLM:
        return KindDecision(SpanKind.LLM, "C11", "traceloop")
    if operation is SpanKind.TOOL:
        return KindDecision(SpanKind.TOOL, "C12", "traceloop")
    return None


def _corrected_openinference(facts: SpanFacts, claims: tuple[_Claim, ...]) -> KindDecision | None:
    if facts.scope == _INSTRUCTOR:
        return KindDecision(SpanKind.CHAIN, "C3", OPENINFERENCE.id)
    if not claims or claims[0].key != OPENINFERENCE_KIND:
        return None
    kind, has_name = claims[0].kind, facts.text("tool.name") is not None
    if kind is SpanKind.AGENT and has_name and facts.scope in LANGCHAIN_SCOPES:
        return KindDecision(SpanKind.TOOL, "C1", OPENINFERENCE.id)
    return _corrected_openinference_tool(facts, has_name=has_name) if kind is SpanKind.TOOL else None


def _corrected_openinference_tool(facts: SpanFacts, *, has_name: bool) -> KindDecision | None:
    if not has_name and _is_handoff(facts):
        return KindDecision(SpanKind.CHAIN, "C2", OPENINFERENCE.id, handoff=True)
    if "beeai" in (instrumentor_of(facts.scope) or "") and not _tells_a_beeai_call(facts, has_name=has_name):
        return KindDecision(SpanKind.CHAIN, "C13", OPENINFERENCE.id)
    return None


def _is_handoff(facts: SpanFacts) -> bool:
    agents_scope = "openai_agents" in facts.scope or "openai-agents" in facts.scope
    return agents_scope and facts.view.name.startswith("handoff to ")


def _tells_a_beeai_call(facts: SpanFacts, *, has_name: bool) -> bool:
    """
    Python writes one named span for each call, and an `error` below it; JavaScript one span for each event of a call.
    """
    if facts.scope.startswith("@"):
        return beeai_tool_name(facts.view.name) is not None
    return has_name


def beeai_tool_name(span_name: str) -> str | None:
    """
    The tool's name in the span that tells the outcome of a BeeAI call, as in `tool.dynamic.getWeather.success-2`.
    """
    found = _BEEAI_OUTCOME.fullmatch(span_name)
    return found["name"] if found else None


def _corrected_codex(facts: SpanFacts) -> KindDecision | None:
    """
    Codex tells one call on many nested spans: the run is where both name and id are, for MCP in `mcp.tools.call`.
    """
    if not facts.is_dialect("codex_cli") and "call_id" not in facts.keys:
        return None
    tool = facts.text("tool_name")
    if tool is None:
        return None
    joined = tool.startswith("mcp__") and _CODEX_NAMESPACED.match(tool) is None
    if joined or facts.view.name in REQUEST_SPANS:
        return KindDecision(SpanKind.CHAIN, "C15", "codex_cli")
    return None


# ---- K6 to K8: weaker evidence ----


def mcp_method(facts: SpanFacts) -> str | None:
    """
    The MCP method of the span; FastMCP 3.0 writes it as an RPC method.
    """
    if MCP_METHOD in facts.keys:
        return facts.text(MCP_METHOD)
    return facts.text("rpc.method") if facts.text("rpc.system") == "mcp" else None


def _by_method(facts: SpanFacts) -> KindDecision | None:
    if mcp_method(facts) != TOOLS_CALL:
        return None
    return KindDecision(SpanKind.TOOL, f"K6:{MCP_METHOD}", _mcp_owner(facts))


def _mcp_owner(facts: SpanFacts) -> str:
    return next((name for name in ("fastmcp", "mcp_python_sdk") if facts.is_dialect(name)), "mcp_semconv")


_TOOL_SIGNS: Final = (
    "gen_ai.tool.name",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call_id",
    "tool_call.id",
    "tool.call_id",
    "tool.id",
    "ai.toolCall.id",
    "spring.ai.tool.call.id",
    "tool_use_id",
    "lk.function_tool.id",
)
_REQUEST_TYPES: Final = {
    "chat": SpanKind.LLM,
    "completion": SpanKind.LLM,
    "acompletion": SpanKind.LLM,
    "embedding": SpanKind.EMBEDDING,
    "embeddings": SpanKind.EMBEDDING,
    "aembedding": SpanKind.EMBEDDING,
    "rerank": SpanKind.RERANKER,
}
_TOOL_SIGN_KEYS: Final = frozenset(_TOOL_SIGNS)


def _by_weak_evidence(facts: SpanFacts) -> KindDecision | None:
    if not facts.keys.isdisjoint(_TOOL_SIGN_KEYS) and not facts.marks & TELLS_A_MODEL:
        sign = next((key for key in _TOOL_SIGNS if facts.text(key) is not None), None)
        if sign is not None:
            return KindDecision(SpanKind.TOOL, f"K7:{sign}", _owner(facts))
    if facts.text("tool_name") is not None and facts.text("call_id") is not None:
        return KindDecision(SpanKind.TOOL, "K7:tool_name", "codex_cli")
    kind = _REQUEST_TYPES.get((text_of(facts.value("llm.request.type")) or "").lower())
    if kind is not None:
        return KindDecision(kind, "K7:llm.request.type", _owner(facts))
    if facts.marks & HAS_COMPLETION:
        return KindDecision(SpanKind.LLM, "K7:completion", _owner(facts))
    return None


def _owner(facts: SpanFacts) -> str | None:
    """
    The dialect that owns the scope, else the first that recognises the span.
    """
    marks = facts.rules.marks or facts.marks & ALL_DIALECTS
    return DIALECTS[(marks & -marks).bit_length() - 1].id if marks else None


_NAMED_BY_ATTRIBUTES: Final = tuple(
    (DIALECT_BITS[dialect.id], dialect)
    for dialect in DIALECTS
    if dialect.span_names and not dialect.recognised_by.scopes
)
"""Dialects whose scope is not known: their own attributes say that the span name is theirs."""


def _by_span_name(facts: SpanFacts) -> KindDecision | None:
    name = facts.view.name
    for rule, dialect in facts.rules.names:
        if _is_named(rule.pattern, name):
            return KindDecision(rule.kind, f"K8:{rule.pattern}", dialect.id, rule.handoff)
    for bit, dialect in _NAMED_BY_ATTRIBUTES:
        if facts.marks & bit:
            for rule in dialect.span_names:
                if _is_named(rule.pattern, name):
                    return KindDecision(rule.kind, f"K8:{rule.pattern}", dialect.id, rule.handoff)
    if name == MCP_CALL and facts.text("tool.name") is not None:
        return KindDecision(SpanKind.TOOL, f"K8:{MCP_CALL}", "codex_cli")
    return None


def _is_named(pattern: str, name: str) -> bool:
    head, star, tail = pattern.partition("*")
    if not star:
        return name == pattern
    return len(name) >= len(head) + len(tail) and name.startswith(head) and name.endswith(tail)
