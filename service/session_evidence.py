"""
What closed traces hand to their session, and a session as the scorers see it.

Values only, plain enough to be serialised. A session is keyed by the service name and the session id, so that the "1"
of two services stay apart (design §8).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from proto_adapters.canonical import CanonicalSpan
from service.evidence import CoverageReason, ToolEvidence

PART_BYTES = 1_600
CALL_BYTES = 400
SPAN_BYTES = 640
NAME_BYTES = 64


class SessionKey(NamedTuple):
    """
    The identity of a session.
    """

    service_name: str
    session_id: str

    @property
    def occurrence(self) -> str:
        """One text for each key, whatever its two halves hold."""
        return f"{quote(self.service_name, safe='')}/{self.session_id}"

    def numbered(self, number: int) -> str:
        """The same for a session that is not the first with this key; `#` stands in no quoted name."""
        return f"{quote(self.service_name, safe='')}#{number}/{self.session_id}"


class TracePart(Struct, frozen=True, kw_only=True, eq=False):
    """
    One closed trace, or attribute-root subtree, as its session keeps it. Spans are cut to what is needed later.
    """

    occurrence: str
    """Trace id in hex; with an attribute root also its span id."""
    trace_id: bytes
    session_id: str
    evidence: ToolEvidence
    root: CanonicalSpan
    """Its ids, name, start, origin, and the attributes that the configuration names."""
    has_root: bool = True
    """`root` meets the root condition; otherwise it only stands for one that was not received."""
    agent: CanonicalSpan | None = None
    """The outermost AGENT span."""
    tool_spans: tuple[CanonicalSpan, ...] = ()
    """TOOL spans that rule W6 needs beside the calls: those that link elsewhere, and those that repeat a call."""
    linked_traces: tuple[bytes, ...] = ()
    """Other traces that spans of this one link to."""
    span_count: int = 0
    size: int = 0
    """Estimated bytes of memory."""

    @property
    def key(self) -> SessionKey:
        return SessionKey(self.root.origin.service_name, self.session_id)

    @property
    def place(self) -> tuple[int, str]:
        """Where it stands among the traces of its session: by start of the root, then by trace id."""
        return self.root.start_ns, self.occurrence

    @property
    def call_count(self) -> int:
        return len(self.evidence.calls) + len(self.evidence.embedded_calls)

    def without_calls(self) -> "TracePart":
        """
        The same with its calls dropped to save memory (`evidence_released`); which tools were called stays.
        """
        coverage = self.evidence.coverage
        reasons = tuple(sorted({*coverage.reasons, CoverageReason.EVIDENCE_RELEASED}))
        evidence = replace(
            self.evidence, calls=(), embedded_calls=(), requested_names=(), coverage=replace(coverage, reasons=reasons)
        )
        return replace(
            self,
            evidence=evidence,
            tool_spans=(),
            size=self.size - part_size(self.evidence, self.tool_spans) + part_size(evidence),
        )


def part_size(evidence: ToolEvidence, tool_spans: Sequence[CanonicalSpan] = ()) -> int:
    """
    Estimated bytes of memory of a part that holds *evidence* and *tool_spans*.
    """
    calls = (*evidence.calls, *evidence.embedded_calls)
    names = (*evidence.called_names, *evidence.requested_names)
    arguments = sum(len(msgspec.json.encode(call.arguments)) for call in calls if call.arguments is not None)
    return (
        PART_BYTES
        + arguments
        + CALL_BYTES * len(calls)
        + SPAN_BYTES * len(tool_spans)
        + sum(NAME_BYTES + len(name) for name in names)
    )


class SessionEvidence(Struct, frozen=True, kw_only=True, eq=False):
    """
    All that is known of one session. `parts` are in order of their place; `reasons` come from the session itself.
    """

    key: SessionKey
    parts: tuple[TracePart, ...]
    number: int = 1
    """One that begins when the one before it was forgotten is another occurrence: its results are no revisions."""
    reasons: frozenset[CoverageReason] = frozenset()

    @property
    def occurrence(self) -> str:
        return self.key.occurrence if self.number == 1 else self.key.numbered(self.number)


def in_place(parts: Iterable[TracePart]) -> tuple[TracePart, ...]:
    """
    *parts* in order of their place.
    """
    return tuple(sorted(parts, key=lambda part: part.place))


def group_by_session(parts: Iterable[TracePart]) -> list[SessionEvidence]:
    """
    The sessions of recorded traces: each went idle, and nothing was cut.
    """
    by_key: dict[SessionKey, list[TracePart]] = defaultdict(list)
    for part in parts:
        by_key[part.key].append(part)
    return [SessionEvidence(key=key, parts=in_place(by_key[key])) for key in sorted(by_key)]
