"""
Relative order of tool calls from their intervals: true, false or undetermined.

Pure, exact, O(n). The two searches and their proofs stand in `service/docs/semantics.md`; what counts as an order is
seed 004's rule. Times are plain integers of any unit: what makes a call an attempt is decided before.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from service.evaluation import Verdict

BEGINNING = -(2**127)
"""Before every time: what bounds an attempt of which no time is known."""


class Acquisition(StrEnum):
    """
    How much of the evidence was obtained. Closed set.
    """

    COMPLETE = "complete"
    PARTIAL = "partial"
    UNAVAILABLE = "unavailable"
    ERROR = "error"


class Attempt(NamedTuple):
    """
    One call as an interval. An `end` of `None` is unfinished: it establishes nothing and contradicts nothing.
    """

    start: int
    end: int | None
    is_certain: bool = True
    """False: this may not be a call that the condition asks for (its arguments are unknown)."""


Attempts = Sequence[Attempt]


def earliest_end(attempts: Attempts, frontier: int, tolerance: int) -> int | None:
    """
    The smallest end among finished attempts that start more than *tolerance* after *frontier*.
    """
    ends = [
        attempt.end
        for attempt in attempts
        if attempt.is_certain and attempt.end is not None and frontier + tolerance < attempt.start
    ]
    return min(ends, default=None)


def earliest_start(attempts: Attempts, latest: int, tolerance: int) -> int | None:
    """
    The smallest start among attempts that did not end more than *tolerance* before *latest*.
    """
    starts = [
        BEGINNING if attempt.end is None else attempt.start
        for attempt in attempts
        if attempt.end is None or attempt.end + tolerance >= latest
    ]
    return min(starts, default=None)


def is_established(steps: Sequence[Attempts], tolerance: int) -> bool:
    """
    Some choice of one attempt per step has every attempt end before the next one starts.
    """
    frontier = BEGINNING
    for attempts in steps:
        end = earliest_end(attempts, frontier, tolerance)
        if end is None:
            return False
        frontier = end
    return True


def first_impossible(steps: Sequence[Attempts], tolerance: int) -> int | None:
    """
    The first step that no uncontradicted choice can reach; `None` if some choice contradicts no pair of its attempts.

    Each attempt is held against the latest start among all attempts chosen before it, not only the previous one.
    """
    latest = BEGINNING
    for position, attempts in enumerate(steps):
        start = earliest_start(attempts, latest, tolerance)
        if start is None:
            return position
        latest = max(latest, start)
    return None


def decide(*, established: bool, possible: bool, acquisition: Acquisition, all_requests_linked: bool) -> Verdict:
    """
    The verdict on an order: true if it is established, false if complete evidence rules it out.
    """
    if acquisition in {Acquisition.ERROR, Acquisition.UNAVAILABLE}:
        return Verdict.UNDETERMINED
    if established:
        return Verdict.TRUE
    if acquisition is Acquisition.COMPLETE and not possible and all_requests_linked:
        return Verdict.FALSE
    return Verdict.UNDETERMINED


def order_verdict(
    steps: Sequence[Attempts], *, tolerance: int = 0, acquisition: Acquisition, all_requests_linked: bool = True
) -> Verdict:
    """
    Whether one attempt of each step came after one of the step before. `steps` holds the attempts of each listed tool.
    """
    return decide(
        established=is_established(steps, tolerance),
        possible=first_impossible(steps, tolerance) is None,
        acquisition=acquisition,
        all_requests_linked=all_requests_linked,
    )
