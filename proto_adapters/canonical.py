"""
The canonical span model: what every span of every GenAI dialect becomes.

Values only: no protobuf, no clock, no I/O. Times are integer nanoseconds since the Unix epoch, ids are `bytes`
(16 for a trace, 8 for a span). Values are immutable by contract. Design §4; `service/docs/dialects.md` tells how
each dialect is read into it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal

from msgspec import Struct

AttributeValue = str | bool | int | float | bytes | list["AttributeValue"] | dict[str, "AttributeValue"] | None
Attributes = Mapping[str, AttributeValue]

NO_ATTRIBUTES: Attributes = {}

REMOTE_PARENT = 0x300
"""OTLP span flags, bits 8 and 9: whether the parent is remote is known, and it is."""


class SpanKind(StrEnum):
    """
    What a span does in an agent run. Closed set; not the OpenTelemetry span kind (`CanonicalSpan.otel_kind`).
    """

    AGENT = "AGENT"
    LLM = "LLM"
    TOOL = "TOOL"
    CHAIN = "CHAIN"
    RETRIEVER = "RETRIEVER"
    RERANKER = "RERANKER"
    EMBEDDING = "EMBEDDING"
    GUARDRAIL = "GUARDRAIL"
    EVALUATOR = "EVALUATOR"
    MEMORY = "MEMORY"
    UNKNOWN = "UNKNOWN"


class CompletionState(StrEnum):
    """
    Whether the completion of an LLM span can be read.
    """

    READ = "read"
    """An output field decodes to a call or to text."""
    HIDDEN = "hidden"
    """A model answered, and nothing can be read of the answer."""
    NONE = "none"
    """No sign of an answer: an auxiliary span, or a failure before a reply."""
    TRUNCATED = "truncated"
    """A value does not decode because it was cut."""
    REFERENCED = "referenced"
    """The content was moved elsewhere (`*_ref` attributes)."""
    STALE = "stale"
    """The span mixes several responses (correction C7)."""

    @property
    def is_readable(self) -> bool:
        return self is CompletionState.READ or self is CompletionState.NONE


class SpanStatus(StrEnum):
    UNSET = "unset"
    OK = "ok"
    ERROR = "error"


class Problem(StrEnum):
    """
    Why a span could not be read as its producer may have meant it. Closed set, shown by `toolscore explain`.
    """

    TOOL_NAME_MISSING = "tool_name_missing"
    TOOL_NAME_CONFLICT = "tool_name_conflict"
    COMPLETION_HIDDEN = "completion_hidden"
    DIALECT_CONFLICT = "dialect_conflict"
    UNRECOGNISED_GENAI = "unrecognised_genai"
    SPAN_UNDECODABLE = "span_undecodable"
    VALUE_UNDECODABLE = "value_undecodable"
    LIMIT_EXCEEDED = "limit_exceeded"


class Shape(StrEnum):
    """
    Where the tool calls of one trace are read from. The two are never mixed for one trace (seed 000).
    """

    TOOL_SPANS = "tool_spans"
    LLM_EMBEDDED = "llm_embedded"


class Origin(Struct, frozen=True, eq=False):
    """
    The resource and instrumentation scope that spans came under, interned: one object for equal headers.

    `resource_header` and `scope_header` are the serialised ResourceSpans and ScopeSpans messages without their
    children, every unknown field included, so that spans can be joined to them again unchanged.
    """

    resource_header: bytes
    scope_header: bytes
    service_name: str = ""
    resource_attributes: Attributes = NO_ATTRIBUTES
    scope_name: str = ""
    scope_version: str = ""


NO_ORIGIN = Origin(b"", b"")


class EventView(Struct, frozen=True):
    """
    A span event as dialects read it.
    """

    name: str
    attributes: Attributes
    time_ns: int = 0


class LinkView(Struct, frozen=True):
    trace_id: bytes
    span_id: bytes


class SpanView(Struct, frozen=True, eq=False):
    """
    One decoded span, before any dialect has looked at it: what the wire said, as Python values.

    `attributes` decodes each value when it is first read, so reading few keys of a large span is cheap. `end_ns` is
    `None` for a span without an end (0 on the wire). An absent or all-zero parent is `None`.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None
    name: str
    otel_kind: int
    start_ns: int
    end_ns: int | None
    attributes: Attributes
    events: Sequence[EventView] = ()
    links: Sequence[LinkView] = ()
    status: SpanStatus = SpanStatus.UNSET
    status_message: str = ""
    flags: int = 0
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0
    origin: Origin = NO_ORIGIN
    keys: frozenset[str] | None = None
    """The keys of `attributes`, if who decoded the span knows them."""


class LogView(Struct, frozen=True, eq=False):
    """
    One decoded log record that belongs to a span, as dialects read it (`gen_ai.choice` and its relatives).
    """

    trace_id: bytes
    span_id: bytes
    event_name: str
    attributes: Attributes
    body: AttributeValue
    time_ns: int = 0
    origin: Origin = NO_ORIGIN


class EmbeddedCall(Struct, frozen=True):
    """
    A tool call that a model asked for in a completion.
    """

    name: str
    call_id: str | None = None
    """`None` for placeholders and made-up ids."""
    arguments: AttributeValue = None
    """Kept only if a condition reads arguments."""
    candidate: int = 0
    """Index of the output message or choice."""
    index: int = 0
    """Order inside the candidate."""
    executed_by: Literal["client", "provider"] = "client"
    source: str = ""
    """The field it was read from, for example `gen_ai.output.messages`."""
    control_tool: bool = False


class CanonicalSpan(Struct, frozen=True, kw_only=True, eq=False):
    """
    One span in the one model that scoring knows.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None = None
    name: str = ""
    otel_kind: int = 0
    origin: Origin = NO_ORIGIN
    start_ns: int = 0
    end_ns: int | None = None
    flags: int = 0
    """OTLP span flags: bits 0-7 W3C, bits 8-9 whether the parent is remote."""
    status: SpanStatus = SpanStatus.UNSET
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0
    links: tuple[LinkView, ...] = ()

    dialects: tuple[str, ...] = ()
    """Ids of all dialects that recognise the span; the first gave the kind."""
    kind: SpanKind = SpanKind.UNKNOWN
    kind_rule: str = "K9"
    """The rule that decided the kind, for example `K2:traceloop.span.kind` or `C1`."""
    problems: tuple[Problem, ...] = ()
    problem_details: tuple[str, ...] = ()
    """One text for each problem, for people. Never message content."""

    error_type: str | None = None
    session_id: str | None = None
    """The span's own value, before inheritance."""
    session_key: str | None = None
    agent_name: str | None = None
    order_evidence: bool = True
    """False for intervals that are synthetic by construction; they support presence, never an order."""
    pending: bool = False
    """A Logfire pending span (rules X2, X3): stands for an unfinished span until that span arrives."""
    pending_for: bytes | None = None
    """Span id of the unfinished span that this pending span announces."""

    tool_name: str | None = None
    """Instrumentation decoration removed, nothing else (names N1-N3)."""
    tool_name_raw: str | None = None
    tool_name_key: str | None = None
    tool_call_id: str | None = None
    mcp_server: str | None = None
    mcp_method: str | None = None
    mcp_session_id: str | None = None
    mcp_request_id: str | None = None
    arguments_digest: bytes | None = None
    """Digest of the call's arguments, for rule W2; `None` where the producer writes none."""
    tool_arguments: AttributeValue = None
    """Kept only if a condition reads arguments; never emitted."""
    executed: bool | None = None
    """False: refused, deferred or failed validation (correction C9). `None`: nothing says otherwise."""
    handoff: bool = False
    control_tool: bool = False
    """A tool of the framework itself (`final_answer`, `transfer_to_agent`, …)."""
    duplicate_of: bytes | None = None
    """Span id of the call (TOOL) or completion (LLM) that this span repeats (W1-W6, LLM duplicates)."""
    duplicate_rule: str | None = None

    completion: CompletionState = CompletionState.NONE
    embedded_calls: tuple[EmbeddedCall, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    response_id: str | None = None
    result_call_ids: tuple[str, ...] = ()
    """Ids of calls whose results stand in this LLM span's input; read only for `order_from_embedded_calls`."""

    selected: Attributes = NO_ATTRIBUTES
    """Attributes that the configuration names (policies, dimensions, root conditions), by key."""

    @property
    def has_ended(self) -> bool:
        return self.end_ns is not None

    @property
    def has_valid_time(self) -> bool:
        """Start known and, if the span has ended, not after its end (decision D16)."""
        return self.start_ns > 0 and (self.end_ns is None or self.end_ns >= self.start_ns)

    @property
    def has_remote_parent(self) -> bool:
        """The sender said that the parent lives in another process (`flags`, bits 8 and 9)."""
        return (self.flags & REMOTE_PARENT) == REMOTE_PARENT


class LogCompletion(Struct, frozen=True):
    """
    What one log record tells of the completion of one LLM span.
    """

    trace_id: bytes
    span_id: bytes
    digest: bytes
    completion: CompletionState
    embedded_calls: tuple[EmbeddedCall, ...] = ()


class ToolCall(Struct, frozen=True, kw_only=True):
    """
    One tool call, after spans that show the same call were joined (rules W1-W6).
    """

    name: str
    trace_id: bytes
    span_id: bytes
    start_ns: int
    end_ns: int | None
    """`None` if the call did not finish, or its times are impossible."""
    end_slack_ns: int = 0
    """How much later the true end may be: 1 ms for starts cut to whole milliseconds (design §6.2)."""
    status: SpanStatus = SpanStatus.UNSET
    call_id: str | None = None
    aliases: tuple[str, ...] = ()
    """Names that joined inner spans give the same call; used only with `tool_name_aliases`."""
    control_tool: bool = False
    order_evidence: bool = True
    arguments: AttributeValue = None
    result_ids: tuple[str, ...] = ()
    """Ids of calls whose results the completion that asked for this call had read; only for embedded calls."""
    shape: Shape = Shape.TOOL_SPANS


class CanonicalTrace(Struct, frozen=True, kw_only=True):
    """
    The distinct spans of one trace (or of one subtree of it), assembled: what the scorers' evidence is built from.

    `spans` are ordered by (start, span id), pending spans are resolved and `duplicate_of` is set. `calls` are the
    executed calls that an order may use; `called_names` those that selection counts, joined spans included.
    """

    spans: tuple[CanonicalSpan, ...]
    shape: Shape | None
    """`None` if the trace has neither a TOOL nor an LLM span: such a trace is ineligible."""
    calls: tuple[ToolCall, ...] = ()
    called_names: tuple[str, ...] = ()
    nameless_calls: int = 0
    embedded: tuple[tuple[CanonicalSpan, EmbeddedCall], ...] = ()
    """Distinct calls asked for in completions, each with its LLM span."""
    session_id: str | None = None
    other_session_ids: tuple[str, ...] = ()
    agent_span: CanonicalSpan | None = None
    """The outermost AGENT span."""
    server_only: bool = False
    """Only MCP server spans: a fragment of a run elsewhere, not scored by itself."""
