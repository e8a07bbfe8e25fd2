"""
The fast order searches against brute force, and what must always hold of their verdicts.
"""

import random
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st
from property import oracles

from service.evaluation import Verdict
from service.scoring import order, partial_order
from service.scoring.order import Acquisition, Attempt, order_verdict
from service.scoring.partial_order import partial_order_verdict

RANDOM_CHAINS = 50_000
RANDOM_PARTIAL_ORDERS = 12_000
TIMES = 8

Steps = list[list[Attempt]]


def a_random_attempt(rng: random.Random, *, unfinished: float) -> Attempt:
    """
    Small times, so that ties, zero lengths and touching intervals are common.
    """
    start = rng.randrange(TIMES)
    end = None if rng.random() < unfinished else start + rng.choice((0, 0, 1, 2, rng.randrange(TIMES)))
    return Attempt(start, end)


def random_steps(rng: random.Random, count: int, most_attempts: int) -> Steps:
    unfinished = rng.choice((0.0, 0.0, 0.2))
    return [
        [a_random_attempt(rng, unfinished=unfinished) for _ in range(rng.randint(rng.random() > 0.1, most_attempts))]
        for _ in range(count)
    ]


def random_pairs(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """
    A random acyclic order whose nodes are numbered without regard to it.
    """
    numbers = rng.sample(range(count), count)
    return [(numbers[i], numbers[j]) for i, j in combinations(range(count), 2) if rng.random() < 0.5]


def test_fifty_thousand_random_orders_agree_with_brute_force() -> None:
    rng = random.Random(20260901)
    seen = set()
    for _ in range(RANDOM_CHAINS):
        steps = random_steps(rng, rng.choice((2, 2, 3, 3, 4, 5)), 3)
        tolerance = rng.choice((0, 0, 1, 3))
        acquisition = rng.choice((Acquisition.COMPLETE, Acquisition.COMPLETE, *Acquisition))
        linked = rng.random() < 0.9

        expected = oracles.verdict(steps, oracles.chain(len(steps)), tolerance, acquisition, linked=linked)

        found = order_verdict(steps, tolerance=tolerance, acquisition=acquisition, all_requests_linked=linked)
        assert expected == found, (steps, tolerance, acquisition, linked)
        seen.add(found)
    assert set(Verdict) == seen


def test_random_partial_orders_agree_with_brute_force() -> None:
    rng = random.Random(20260902)
    seen = set()
    for _ in range(RANDOM_PARTIAL_ORDERS):
        count = rng.choice((2, 3, 4, 4, 5))
        steps, pairs = random_steps(rng, count, 2), random_pairs(rng, count)
        tolerance, acquisition = rng.choice((0, 0, 1, 3)), rng.choice((Acquisition.COMPLETE, Acquisition.PARTIAL))

        expected = oracles.verdict(steps, pairs, tolerance, acquisition)

        found = partial_order_verdict(steps, pairs, tolerance=tolerance, acquisition=acquisition)
        assert expected == found, (steps, pairs, tolerance, acquisition)
        seen.add(found)
    assert set(Verdict) == seen


def test_every_small_order_of_three_agrees_with_brute_force() -> None:
    """
    All intervals between times 0 and 3, one attempt each: the review's defect lives here.
    """
    intervals = [Attempt(start, end) for start, end in product(range(4), repeat=2) if start <= end]
    for one, two, three in product(intervals, repeat=3):
        steps = [[one], [two], [three]]
        assert oracles.is_established(steps, oracles.chain(3), 0) == order.is_established(steps, 0)
        assert oracles.is_possible(steps, oracles.chain(3), 0) == (order.first_impossible(steps, 0) is None)


ATTEMPTS = st.builds(
    lambda start, length: Attempt(start, None if length is None else start + length),
    st.integers(0, 12),
    st.none() | st.integers(0, 12),
)
FINISHED = st.builds(lambda start, length: Attempt(start, start + length), st.integers(0, 3), st.integers(0, 2))
TOLERANCES = st.integers(0, 4)


def steps_of(attempts: st.SearchStrategy[Attempt], tools: int = 4) -> st.SearchStrategy[Steps]:
    return st.lists(st.lists(attempts, max_size=3), min_size=2, max_size=tools)


@given(steps_of(ATTEMPTS), TOLERANCES)
def test_a_chain_is_a_partial_order(steps: Steps, tolerance: int) -> None:
    pairs = oracles.chain(len(steps))

    for acquisition in Acquisition:
        assert order_verdict(steps, tolerance=tolerance, acquisition=acquisition) == partial_order_verdict(
            steps, pairs, tolerance=tolerance, acquisition=acquisition
        )


@given(steps_of(ATTEMPTS), ATTEMPTS, st.integers(0, 3), TOLERANCES)
def test_a_further_attempt_never_takes_true_away(steps: Steps, further: Attempt, place: int, tolerance: int) -> None:
    before = order.is_established(steps, tolerance)
    steps[place % len(steps)].append(further)

    assert not before or order.is_established(steps, tolerance)


@given(steps_of(ATTEMPTS), TOLERANCES, st.integers(0, 9))
def test_finishing_an_attempt_never_takes_true_away(steps: Steps, tolerance: int, length: int) -> None:
    finished = [
        [attempt if attempt.end is not None else Attempt(attempt.start, attempt.start + length) for attempt in attempts]
        for attempts in steps
    ]

    assert not order.is_established(steps, tolerance) or order.is_established(finished, tolerance)


@given(steps_of(ATTEMPTS), TOLERANCES)
def test_what_is_established_is_possible(steps: Steps, tolerance: int) -> None:
    assert not order.is_established(steps, tolerance) or order.first_impossible(steps, tolerance) is None


@given(steps_of(ATTEMPTS), TOLERANCES)
def test_a_larger_tolerance_only_withdraws_verdicts_on_what_ran(steps: Steps, tolerance: int) -> None:
    verdicts = [
        order_verdict(steps, tolerance=wider, acquisition=Acquisition.COMPLETE) for wider in (tolerance, tolerance + 1)
    ]

    assert verdicts[1] in {verdicts[0], Verdict.UNDETERMINED}


@given(steps_of(ATTEMPTS), TOLERANCES, st.randoms(use_true_random=False))
def test_the_order_of_attempts_plays_no_part(steps: Steps, tolerance: int, rng: random.Random) -> None:
    shuffled = [rng.sample(attempts, len(attempts)) for attempts in steps]

    for acquisition in Acquisition:
        assert order_verdict(steps, tolerance=tolerance, acquisition=acquisition) == order_verdict(
            shuffled, tolerance=tolerance, acquisition=acquisition
        )


@given(st.lists(st.lists(FINISHED, min_size=1, max_size=2), min_size=2, max_size=3), st.integers(0, 1))
def test_verdicts_are_those_of_all_possible_worlds(steps: Steps, tolerance: int) -> None:
    """
    True is "in order in every world", possible is "in order, ties allowed, in some world".
    """
    if sum(map(len, steps)) > 4:
        steps = [attempts[:1] for attempts in steps]
    worlds = list(oracles.worlds(steps, tolerance))

    assert order.is_established(steps, tolerance) == all(oracles.has_chain(world, strict=True) for world in worlds)
    assert (order.first_impossible(steps, tolerance) is None) == any(
        oracles.has_chain(world, strict=False) for world in worlds
    )


@given(steps_of(ATTEMPTS), TOLERANCES)
def test_impossible_partial_orders_name_a_node_that_has_no_uncontradicted_choice(steps: Steps, tolerance: int) -> None:
    pairs = oracles.chain(len(steps))

    assert partial_order.first_impossible(steps, pairs, tolerance) == order.first_impossible(steps, tolerance)
