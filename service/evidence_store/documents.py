"""
The form of one stored evidence document: a JSON object on a line of its own, protected by a digest.

Pure. The digest is over all members but `schema` and `sha256`, keys sorted, without blanks: another order of keys is
the same document, another value is not. It tells edits and damage; it is no signature. No arguments, no content
(design §5).
"""

from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from proto_adapters.canonical import Shape, SpanStatus
from service.evaluation import Status, Verdict
from service.evidence import CoverageBasis, CoverageReason, Partition, Trigger

SCHEMA = "toolscore.evidence"
VERSION = 1
LINE_START = b'{"schema":"toolscore.evidence"'
"""How every line begins that is written here."""
DIGEST_KEY = "sha256"

_encoder = msgspec.json.Encoder(order="sorted")


Natural = Annotated[int, Meta(ge=0, le=2**63 - 1)]
TraceId = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
SpanId = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]


class EvidenceRefused(ValueError):
    """
    A line is no evidence document that may be scored: not one at all, of another version, or not as it was written.
    """


class StoredArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    What is left of the arguments of a call.
    """

    group: Natural | None = None
    """Calls of the document with equal arguments have equal groups."""
    answers: dict[str, bool] = {}
    """Argument rule -> whether the call fits it."""


class StoredCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    One call with its interval. Ids in hex.
    """

    name: str
    trace_id: TraceId
    span_id: SpanId
    start_ns: Natural
    end_ns: Natural | None
    end_slack_ns: Natural = 0
    status: SpanStatus = SpanStatus.UNSET
    shape: Shape = Shape.TOOL_SPANS
    call_id: str | None = None
    aliases: tuple[str, ...] = ()
    control_tool: bool = False
    order_evidence: bool = True
    result_ids: tuple[str, ...] = ()
    arguments: StoredArguments | None = None
    """`None` if they were not known, or nothing asked for them."""


class StoredCoverage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    label: str
    reasons: tuple[CoverageReason, ...] = ()
    basis: CoverageBasis = CoverageBasis.INFERRED


class StoredFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    What decides the expectation of the occurrence: names, and the attributes that policies of the time read.
    """

    annotated_as: str
    """The id that annotations name: the trace, or the bare session."""
    service_name: str
    agent_name: str | None
    has_agent: bool
    has_root: bool
    root_span_name: str
    root_attributes: dict[str, str] = {}
    """Single values as text, as policies match them."""
    resource_attributes: dict[str, str] = {}
    attribute_tools: tuple[str, ...] | None = None
    """Of `expected_tools_attribute`; empty if its value could not be read."""
    annotation: dict[str, str] | None = None
    """What the annotations file or API said of the occurrence."""


class StoredResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One evaluation of the same closing, as it was delivered.
    """

    evaluation: str
    identifier: str
    expectation: str | None
    status: Status
    score: float | None
    label: Verdict | None
    revision: Natural


class EvidenceDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One closing of one occurrence: evidence, what decides the expectation, and what was said then.
    """

    schema: str = SCHEMA
    version: Natural = VERSION
    partition: Partition
    occurrence: str
    trigger: Trigger
    revision: Natural
    shapes: tuple[Shape, ...]
    coverage: StoredCoverage
    calls: tuple[StoredCall, ...] = ()
    called_names: tuple[str, ...] = ()
    embedded_calls: tuple[StoredCall, ...] = ()
    nameless_calls: Natural = 0
    requested_names: tuple[str, ...] = ()
    has_tool_evidence: bool = False
    observed_call_count: Natural = 0
    all_requests_linked: bool = True
    resolution_ns: Natural = 0
    order_from_embedded_calls: bool = False
    """Intervals and results of embedded calls were read; without them no order of them can be told."""
    facts: StoredFacts
    results: tuple[StoredResult, ...] = ()


def encode_document(document: EvidenceDocument) -> bytes:
    """
    *document* as one line with its digest, the line break included.
    """
    members = msgspec.structs.asdict(document)
    del members["schema"]
    text = _encoder.encode(members)
    return LINE_START + b',"' + DIGEST_KEY.encode() + b'":"' + _digest(text).encode() + b'",' + text[1:] + b"\n"


def _digest(members: bytes) -> str:
    return sha256(members).hexdigest()


def decode_document(line: bytes) -> EvidenceDocument:
    """
    The document on *line*. Raises `EvidenceRefused` and nothing else.
    """
    members = _members(line)
    if members.get("schema") != SCHEMA:
        raise EvidenceRefused(f"is no evidence document: schema should be {SCHEMA}")
    if members.get("version") != VERSION:
        raise EvidenceRefused(
            f"is an evidence document of a version that this release does not read; it reads {VERSION}"
        )
    if members.pop(DIGEST_KEY, None) != _digest_of(members):
        raise EvidenceRefused("was changed after it was written: its sha256 does not fit, so it cannot be scored")
    try:
        return msgspec.convert(members, EvidenceDocument)
    except (msgspec.ValidationError, RecursionError) as error:
        raise EvidenceRefused(f"is no evidence document: {error}") from None


def _members(line: bytes) -> dict[str, object]:
    try:
        members = msgspec.json.decode(line)
    except (ValueError, RecursionError) as error:
        raise EvidenceRefused(f"is not JSON: {error}") from None
    if not isinstance(members, dict):
        raise EvidenceRefused("is no evidence document: should be a JSON object")
    return members


def _digest_of(members: dict[str, object]) -> str | None:
    try:
        return _digest(_encoder.encode({key: value for key, value in members.items() if key != "schema"}))
    except (ValueError, RecursionError, OverflowError):
        return None  # values that were never written here
