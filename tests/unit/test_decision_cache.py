"""
What is remembered of traces whose evidence is gone.
"""

from builders import a_trace_id

from service.buffer.decision_cache import Decision, DecisionCache, ForgottenTraces
from service.evidence import Trigger

DECISION = Decision(Trigger.ROOT_SPAN, {"toolscore.revision": 0})


def test_the_least_recently_used_decision_is_forgotten_first() -> None:
    cache = DecisionCache(2)
    cache.put(a_trace_id(1), DECISION)
    cache.put(a_trace_id(2), DECISION)
    cache.get(a_trace_id(1))

    cache.put(a_trace_id(3), DECISION)

    assert [False, True, False] == [cache.was_forgotten(a_trace_id(number)) for number in (1, 2, 3)]
    assert cache.get(a_trace_id(2)) is None
    assert DECISION == cache.get(a_trace_id(1))


def test_a_trace_that_was_never_decided_was_not_forgotten() -> None:
    cache = DecisionCache(1)
    for number in range(1000):
        cache.put(a_trace_id(number), DECISION)

    assert not any(cache.was_forgotten(a_trace_id(number)) for number in range(5000, 6000))


def test_forgotten_traces_take_a_fixed_amount_of_memory() -> None:
    forgotten = ForgottenTraces(16)
    for number in range(1000):
        forgotten.add(a_trace_id(number))

    assert a_trace_id(999) in forgotten
    assert sum(a_trace_id(number) in forgotten for number in range(1000)) <= 16
