"""
Several replicas behind a Collector that routes by trace id: they find what one finds; and while one dies and another
comes, what they say is less, but nothing wrong.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from conservation import assert_conserved, span_bag
from e2e.collectors import Collector, filing_collector
from e2e.dashboard_load import value_of
from e2e.delivered import Attributes, roots_with_scores
from e2e.peers import wait_until
from e2e.replicas import Replica, replicas, router
from e2e.sending import send_over_grpc
from e2e.service_process import toolscore
from e2e.test_collector_configurations import SCORING
from e2e.trip_load import ACCURACY, ORDER, Trips, in_halves, trips

TIMES = 20
ARRIVES_WITHIN_S = 60
PATIENT = {**SCORING, "decision_delay": "2s", "idle_timeout": "4s"}
SCORE, LABEL = f"toolscore.evaluation.{ACCURACY}.score", f"toolscore.evaluation.{ORDER}.label"
OF_A_CHANGE = {"membership_changed", "restarted"}
Verdict = tuple[object, object, object]


def verdicts(collector: Collector) -> dict[bytes, Verdict]:
    roots = roots_with_scores(collector.written("traces"))
    return {each: (root.get(SCORE), root.get(LABEL), root.get("toolscore.coverage")) for each, root in roots.items()}


def wait_for_roots(collector: Collector, number: int) -> None:
    wait_until(lambda: len(roots_with_scores(collector.written("traces"))) >= number, within_s=ARRIVES_WITHIN_S)


def interleaved(sent: Trips) -> list[bytes]:
    """
    Each trace in two requests, all first halves before all second ones.
    """
    halves = [in_halves(request) for request in sent.requests]
    return [first for first, _ in halves] + [second for _, second in halves]


def test_three_replicas_find_what_one_finds(tmp_path: Path) -> None:
    with (
        filing_collector(tmp_path / "of_one") as of_one,
        filing_collector(tmp_path / "of_three") as of_three,
        toolscore(tmp_path / "one", of_one.grpc, SCORING) as one,
        replicas(tmp_path, of_three.grpc, SCORING) as more,
    ):
        members = [more.add() for _ in range(3)]
        with router(tmp_path, members) as routing:
            sent = trips(TIMES)
            send_over_grpc(routing.grpc, interleaved(sent))
            send_over_grpc(one.grpc, interleaved(sent))
            for collector in (of_one, of_three):
                wait_for_roots(collector, len(sent.worth))
        accepted = [value_of(each.addresses.metrics, "toolscore_receiver_accepted_spans_total") for each in members]

    assert_conserved(sent.requests, of_three.written("traces"))
    assert verdicts(of_one) == verdicts(of_three)
    assert {"complete"} == {coverage for _, _, coverage in verdicts(of_three).values()}
    assert Counter(label for _, label in sent.worth.values()) == Counter(
        label for _, label, _ in verdicts(of_three).values()
    )
    assert min(accepted) > 0
    assert sum(accepted) == len(span_bag(sent.requests))


@dataclass(frozen=True)
class Change:
    """
    What came out of traffic during which one replica was killed and another added.
    """

    before: Trips
    during: Trips
    after: Trips
    roots: dict[bytes, Attributes]


@pytest.fixture(scope="module")
def change(tmp_path_factory: pytest.TempPathFactory) -> Change:
    directory = tmp_path_factory.mktemp("change")
    with (
        filing_collector(directory / "last") as last,
        replicas(directory, last.grpc, PATIENT) as more,
    ):
        members = [more.add() for _ in range(3)]
        with router(directory, members) as routing:
            before = trips(TIMES)
            send_over_grpc(routing.grpc, before.requests)
            wait_for_roots(last, len(before.worth))
            during = trips(TIMES)
            halves = [in_halves(request) for request in during.requests]
            send_over_grpc(routing.grpc, [first for first, _ in halves])
            wait_until(
                lambda: accepted_by(members) >= spans_of(before) + first_spans(halves), within_s=ARRIVES_WITHIN_S
            )
            members = replace_first(members, more.add())
            routing.change(members)
            for member in members:
                member.tell_of_change()
            send_over_grpc(routing.grpc, [second for _, second in halves])
            after = trips(TIMES)
            send_over_grpc(routing.grpc, after.requests)
            wait_for_roots(last, len(before.worth) + len(during.worth) + len(after.worth))
    return Change(before, during, after, roots_with_scores(last.written("traces")))


def replace_first(members: list[Replica], added: Replica) -> list[Replica]:
    members[0].kill()
    return [*members[1:], added]


def accepted_by(members: list[Replica]) -> float:
    return sum(value_of(each.addresses.metrics, "toolscore_receiver_accepted_spans_total") for each in members)


def spans_of(sent: Trips) -> int:
    return len(span_bag(sent.requests))


def first_spans(halves: list[tuple[bytes, bytes]]) -> int:
    return len(span_bag(first for first, _ in halves))


def test_every_root_arrives_though_a_replica_died(change: Change) -> None:
    assert {*change.before.worth, *change.during.worth, *change.after.worth} == set(change.roots)


@pytest.mark.parametrize("phase", ["before", "after"])
def test_traces_before_and_after_the_change_are_judged_as_ever(change: Change, phase: str) -> None:
    sent: Trips = getattr(change, phase)
    found = {trace_id: change.roots[trace_id] for trace_id in sent.worth}

    assert {trace_id: label for trace_id, (_, label) in sent.worth.items()} == {
        trace_id: root[LABEL] for trace_id, root in found.items()
    }
    assert {"complete"} == {root["toolscore.coverage"] for root in found.values()}


def test_traces_that_were_open_say_that_they_may_lack_spans(change: Change) -> None:
    for trace_id in change.during.worth:
        reasons = change.roots[trace_id]["toolscore.coverage_reasons"]
        assert isinstance(reasons, list)
        assert OF_A_CHANGE & set(reasons)


def test_no_verdict_contradicts_the_spans_that_were_sent(change: Change) -> None:
    for trace_id, (score, label) in change.during.worth.items():
        root = change.roots[trace_id]
        assert root[LABEL] in {label, "undetermined"}
        assert root[LABEL] != "false"
        lower, upper = (root[f"toolscore.evaluation.{ACCURACY}.{bound}"] for bound in ("lower", "upper"))
        assert isinstance(lower, float)
        assert isinstance(upper, float)
        assert lower <= score <= upper
