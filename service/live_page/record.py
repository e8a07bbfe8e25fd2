"""
What the live page holds of one occurrence: plain values, clipped and without control characters.

Values only. Ids are hex here, since they are only shown. Nothing holds arguments, results or message text. There are no
cycles in them, so they are left out of garbage collection: hundreds are made for one closing.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from service.telemetry.logs import safe

MAX_TEXT = 200
MAX_NAMES = 100
MAX_REMEMBERED = 4_096
"""Texts of which it is remembered how they are shown: names recur in every span."""
MAX_CLOSINGS = 20

_INVISIBLE = re.compile("[\u200b\u200e\u200f\u2060-\u2064\ufeff]")


def shown(text: str) -> str:
    """
    *text* as people may see it: control and invisible characters as escapes, and not too long.
    """
    return _visible(text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…")


@lru_cache(MAX_REMEMBERED)
def _visible(text: str) -> str:
    visible = _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", safe(text))
    return visible.encode("utf-8", "backslashreplace").decode()


def shown_names(names: Iterable[str]) -> list[str]:
    return [shown(name) for _, name in zip(range(MAX_NAMES), names, strict=False)]


class Outcome(Struct, frozen=True, kw_only=True, gc=False):
    """
    One evaluation as it stands now.
    """

    name: str
    type: str
    status: str
    score: float | None = None
    label: str | None = None
    reason: str | None = None
    lower: float | None = None
    upper: float | None = None
    expected: list[str] = []
    called: list[str] = []
    missing: list[str] = []
    requested_not_executed: list[str] = []
    explanation: str = ""
    expectation: str | None = None
    expected_source: str | None = None
    from_embedded_calls: bool = False
    identifier: str = ""
    revision: int | None = None
    """`None` if it was never delivered."""
    idempotency_id: str | None = None

    @property
    def is_exact(self) -> bool:
        return self.lower == self.upper

    @property
    def verdict(self) -> str:
        """The verdict, or what stands in its place: `score` for a number, else the status."""
        return self.label or ("score" if self.score is not None else self.status)


class Summary(Struct, frozen=True, kw_only=True, gc=False):
    """
    One occurrence in the list.
    """

    token: str
    """Names the occurrence in addresses."""
    partition: str
    occurrence: str
    closed_ns: int
    """Wall time of the last closing."""
    service: str
    agent: str
    expectation: str
    trigger: str
    coverage: str
    reasons: list[str]
    revision: int
    is_provisional: bool
    shapes: list[str]
    called: list[str]
    missing: list[str]
    outcomes: list[Outcome]

    @property
    def verdicts(self) -> set[str]:
        found = {outcome.verdict for outcome in self.outcomes}
        if any(outcome.score is not None and outcome.score < 1 for outcome in self.outcomes):
            found.add("below_one")
        return found


class ShownCall(Struct, frozen=True, kw_only=True, gc=False):
    """
    One tool call on the time axis.
    """

    name: str
    trace_id: str
    span_id: str
    start_ns: int
    end_ns: int | None
    slack_ns: int = 0
    """How much later the true end may be, since its clock was cut."""
    status: str = "unset"
    is_control: bool = False
    is_synthetic: bool = False
    """Its interval was made up by its producer and is no evidence of an order."""
    is_requested: bool = False
    """Asked for in a completion, without an execution span."""
    after: list[int] = []
    """Positions of the calls whose results the completion that asked for it had read."""

    @property
    def latest_end_ns(self) -> int | None:
        """The end as an order sees it; `None` if it establishes nothing."""
        return None if self.end_ns is None or self.is_synthetic else self.end_ns + self.slack_ns


class OrderQuestion(Struct, frozen=True, kw_only=True, gc=False):
    """
    One condition that reads an order: its tools, the pairs it requires, and which calls are calls of which tool.
    """

    name: str
    tools: list[str]
    pairs: list[tuple[int, int]]
    tolerance_ns: int
    attempts: list[list[int]]
    """For each tool the positions of its calls."""
    uncertain: list[list[int]]
    """Calls of that name whose arguments are not known."""


class ShownEmbeddedCall(Struct, frozen=True, gc=False):
    name: str
    call_id: str | None
    source: str


class ShownSpan(Struct, frozen=True, kw_only=True, gc=False):
    """
    How one span was read.
    """

    span_id: str
    parent_span_id: str | None
    name: str
    kind: str
    kind_rule: str
    dialects: list[str]
    start_ns: int
    end_ns: int | None
    status: str
    tool_name: str | None
    tool_name_key: str | None
    duplicate_of: str | None
    duplicate_rule: str | None
    executed: bool | None
    completion: str | None
    embedded_calls: list[ShownEmbeddedCall]
    problems: list[str]
    closing: int = 0
    """The closing with which it was first seen, from 0."""


class Closing(Struct, frozen=True, kw_only=True, gc=False):
    """
    One closing of the occurrence: when, by what, and how each evaluation stood.
    """

    closed_ns: int
    trigger: str
    coverage: str
    reasons: list[str]
    is_provisional: bool
    verdicts: list[tuple[str, str, int | None]]
    """Name of the evaluation, its score or verdict, its revision."""


class Detail(Struct, frozen=True, kw_only=True, gc=False):
    """
    All that the page of one occurrence shows beside its summary.
    """

    calls: list[ShownCall]
    questions: list[OrderQuestion]
    spans: list[ShownSpan]
    span_count: int
    call_count: int
    root_span_id: str | None
    """`None` if the root was not received."""
    basis: str
    session_id: str | None
    resolution_ns: int
    nameless_calls: int
    closing_count: int
    closings: list[Closing]
    """The newest last, at most `MAX_CLOSINGS`."""
