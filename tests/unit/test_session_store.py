"""
Which sessions are held, when they are due, and what memory they may take.
"""

from copy import deepcopy

import msgspec
import pytest
from session_builders import a_part, a_turn

from service.buffer.completion import SECOND_NS
from service.buffer.sessions import SessionLimits, SessionStore
from service.evidence import CoverageReason, Trigger
from service.session_evidence import SessionKey, TracePart

LIMITS = SessionLimits(idle_timeout_ns=30, max_duration_ns=100, max_sessions=3, max_traces_per_session=2)
KEY = SessionKey("trip-planner", "s")


def a_store(**changed: int) -> SessionStore:
    return SessionStore(msgspec.structs.replace(LIMITS, **changed))


def turn(number: int = 1, session: str = "s", *, start: float = 0, tools: int = 1) -> TracePart:
    trace = a_turn(number, start=start, session=session)
    for _ in range(tools):
        trace.tool("a", start + 1, start + 2)
    return a_part(trace)


def due(store: SessionStore, now_ns: int) -> list[tuple[str, Trigger]]:
    """
    What is due, closed as the service would close it.
    """
    found = []
    while (each := store.next_due(now_ns)) is not None:
        found.append((each.session.key.session_id, each.trigger))
        store.close(each.session, each.trigger, now_ns)
    return found


def reasons(store: SessionStore, part: TracePart, now_ns: int) -> set[str]:
    return {str(reason) for reason in store.add(part, now_ns).reasons}


def test_a_session_is_due_when_no_trace_came_for_one_idle_timeout() -> None:
    store = a_store()
    store.add(turn(1), 0)
    store.add(turn(2), 20)

    assert [] == due(store, 49)
    assert [("s", Trigger.IDLE_TIMEOUT)] == due(store, 50)
    assert [] == due(store, 51)


def test_sessions_are_due_in_the_order_in_which_they_fell_silent() -> None:
    store = a_store()
    for number, session in enumerate(["one", "two", "one"]):
        store.add(turn(number, session), number)

    assert [("two", Trigger.IDLE_TIMEOUT), ("one", Trigger.IDLE_TIMEOUT)] == due(store, 40)


def test_a_session_that_goes_on_ends_at_its_maximum_duration() -> None:
    store = a_store()
    for now_ns in range(0, 100, 20):
        store.add(turn(), now_ns)

    assert [] == due(store, 99)
    assert [("s", Trigger.TRACE_TIMEOUT)] == due(store, 100)
    assert 0 == len(store)


def test_a_session_resumes_within_one_idle_timeout_of_its_result() -> None:
    store = a_store()
    store.add(turn(1), 0)
    due(store, 30)

    assert set() == reasons(store, turn(2), 59)
    assert [("s", Trigger.IDLE_TIMEOUT)] == due(store, 89)


def test_what_comes_after_the_kept_time_starts_a_session_anew() -> None:
    store = a_store()
    store.add(turn(1), 0)
    due(store, 30)

    assert [] == due(store, 60)
    assert 0 == len(store)
    assert {"reopened"} == reasons(store, turn(2), 61)


def test_evidence_is_kept_no_longer_than_the_maximum_duration() -> None:
    store = a_store(idle_timeout_ns=60)
    store.add(turn(), 0)
    due(store, 60)

    assert [] == due(store, 100)
    assert 0 == len(store)


def test_a_trace_that_closed_again_replaces_its_part() -> None:
    store = a_store()
    store.add(turn(1, tools=1), 0)
    size = store.size
    session = store.add(turn(1, tools=3), 1)

    assert 1 == len(session.parts)
    assert 3 == session.call_count
    assert size < store.size == session.size


def test_a_trace_that_names_another_session_later_moves_there() -> None:
    store = a_store()
    store.add(turn(1, "wrong"), 0)
    store.add(turn(1, "right"), 1)

    assert [SessionKey("trip-planner", "right")] == [session.key for session in store.sessions()]


def test_a_session_that_lost_a_trace_to_another_is_scored_again() -> None:
    store = a_store()
    store.add(turn(1, "wrong"), 0)
    store.add(turn(2, "wrong"), 0)
    due(store, 30)

    store.add(turn(1, "right"), 31)

    assert [("wrong", Trigger.IDLE_TIMEOUT), ("right", Trigger.IDLE_TIMEOUT)] == due(store, 61)


def test_a_session_over_its_number_of_traces_is_over() -> None:
    store = a_store()
    limits = [store.limit_of(store.add(turn(number), 0)) for number in range(3)]

    assert [None, None, Trigger.SPAN_LIMIT] == limits


def test_too_many_sessions_cost_the_kept_ones_first_then_the_oldest() -> None:
    store = a_store()
    store.add(turn(1, "kept"), 0)
    due(store, 30)
    for number, session in enumerate(["old", "new", "newer"]):
        store.add(turn(number, session), 31)

    assert store.surplus() is None
    assert ["old", "new", "newer"] == [session.key.session_id for session in store.sessions()]

    store.add(turn(9, "newest"), 32)
    surplus = store.surplus()
    assert surplus is not None
    assert "old" == surplus.key.session_id


def test_a_flood_of_sessions_takes_bounded_memory() -> None:
    store = a_store()
    largest = 0
    for number in range(500):
        store.add(turn(number, f"s{number}"), number)
        while (surplus := store.surplus()) is not None:
            store.close(surplus, Trigger.EVICTION, number)
        largest = max(largest, store.size)

    assert 3 == len(store)
    assert store.size == sum(session.size for session in store.sessions()) <= largest < 4 * store.size


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_over_its_calls_a_session_keeps_those_of_the_traces_that_began_first(order: tuple[int, ...]) -> None:
    store = a_store(max_traces_per_session=9, max_calls_per_session=5)
    for number in order:
        store.add(turn(number, start=200 * number, tools=2), 0)

    (session,) = store.sessions()
    evidence = session.evidence(Trigger.IDLE_TIMEOUT)

    assert [2, 2, 0] == [part.call_count for part in evidence.parts]
    assert ("evidence_released",) == evidence.parts[-1].evidence.coverage.reasons
    assert 4 == session.call_count


def test_a_session_first_seen_soon_after_the_start_may_be_older_than_the_process() -> None:
    store = SessionStore(LIMITS, started_ns=1_000)

    assert {"restarted"} == reasons(store, turn(1, "early"), 1_029)
    assert set() == reasons(store, turn(2, "later"), 1_030)


@pytest.mark.parametrize(
    ("trigger", "reason"),
    [
        (Trigger.IDLE_TIMEOUT, None),
        (Trigger.TRACE_TIMEOUT, CoverageReason.NOT_CLOSED_BY_ROOT),
        (Trigger.SHUTDOWN, CoverageReason.NOT_CLOSED_BY_ROOT),
        (Trigger.SPAN_LIMIT, CoverageReason.SPAN_LIMIT),
        (Trigger.EVICTION, CoverageReason.EVICTED),
    ],
)
def test_only_silence_leaves_a_session_complete(trigger: Trigger, reason: CoverageReason | None) -> None:
    session = a_store().add(turn(), 0)

    assert ({reason} if reason else set()) == session.evidence(trigger).reasons


def test_a_session_whose_evidence_was_dropped_before_it_came_knows_that() -> None:
    store = a_store()
    store.release_evidence(KEY, 0)

    assert {"evidence_released"} == reasons(store, turn(), 1)


def test_only_a_session_that_was_scored_is_scored_again_for_an_annotation() -> None:
    store = a_store()
    store.add(turn(2, "told"), 0)
    store.add(turn(1, "open"), 20)
    due(store, 30)

    store.reassess("open")
    store.reassess("told")
    store.reassess("unknown")

    assert [("told", Trigger.IDLE_TIMEOUT)] == due(store, 31)
    assert [] == due(store, 32)


def test_a_session_is_a_plain_value_that_another_process_can_take_up() -> None:
    store, later = a_store(), a_store()
    store.add(turn(1, start=200), 0)
    (session,) = store.sessions()

    later.restore([deepcopy(session)])
    resumed = later.add(turn(2), 5)

    assert msgspec.msgpack.encode(session)
    assert store.size < later.size
    assert ["a", "a"] == [call.name for part in resumed.parts.values() for call in part.evidence.calls]
    assert [("s", Trigger.IDLE_TIMEOUT)] == due(later, 35)


def test_the_defaults_are_those_of_the_configuration() -> None:
    limits = SessionLimits()

    assert (1_800, 86_400) == (limits.idle_timeout_ns / SECOND_NS, limits.max_duration_ns / SECOND_NS)
    assert (10_000, 1_000) == (limits.max_sessions, limits.max_traces_per_session)
