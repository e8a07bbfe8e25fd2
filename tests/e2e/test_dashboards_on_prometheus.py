"""
Every query of every panel on a real Prometheus over real services: each finds data, and shows what was sent.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from dashboard_files import NAMES, Target, targets
from e2e.agent_runs import AGENT, REQUIRED, RUNS
from e2e.dashboard_load import (
    NO_MAIL,
    ORDER,
    PLANNER_ORDER,
    TIMES,
    crowd,
    into_the_void,
    unwanted,
    value_of,
    whole_round,
)
from e2e.delivered import spans
from e2e.peers import wait_until
from e2e.prometheus_process import MISSING
from e2e.watched_services import WatchedServices, watched_services

EXACT = 1e-6
SETTLED_WITHIN_S = 60
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
EVERYTHING = {"selection": "tool_selection_accuracy", "condition": f"{ORDER}|{NO_MAIL}|{PLANNER_ORDER}"}
CALLS = [(run, [name for name, _, _ in run.calls]) for run in RUNS.values()]
OUT_OF_REACH = {
    "toolscore_receiver_rejected_log_records_total": "log records have no ids that could be invalid",
    "toolscore_receiver_rejected_metric_points_total": "metric points have no ids that could be invalid",
    "toolscore_receiver_failed_log_records_total": "the load breaks trace requests only",
    "toolscore_receiver_failed_metric_points_total": "the load breaks trace requests only",
    "toolscore_exporter_rejected_log_records_total": "the next hop rejects spans only",
    "toolscore_exporter_rejected_metric_points_total": "the next hop rejects spans only",
    "toolscore_exporter_enqueue_failed_spans_total": "the queue is asked for room before",
    "toolscore_exporter_enqueue_failed_log_records_total": "the queue is asked for room before",
    "toolscore_exporter_enqueue_failed_metric_points_total": "the queue is asked for room before",
}
"""Metrics that this load gives no sample, with the reason. Their panels have data from others."""
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


@dataclass(frozen=True)
class Shown:
    """
    What the dashboards show of the time between two scrapes, in which one whole round was sent to the service that is
    well. Increases between two samples are exact.
    """

    services: WatchedServices
    begin: float
    end: float
    requests: list[bytes]

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def values(self, dashboard: str, panel: str, letter: str = "A") -> dict[frozenset[tuple[str, str]], float]:
        """
        The values of one query of one panel, for the agents of the load and the service that is well.
        """
        found = next(each for each in targets(dashboard) if (each.panel, each.letter) == (panel, letter))
        chosen = {**EVERYTHING, "service": "shop-agent", "instance": self.services.well.metrics}
        expr = filled_in(found.expr, f"{round(self.seconds * 1000)}ms", chosen)
        return self.services.prometheus.query(expr, self.end)

    def one(self, dashboard: str, panel: str) -> float:
        (value,) = self.values(dashboard, panel).values()
        return value

    def by(self, label: str, dashboard: str, panel: str, letter: str = "A") -> dict[str, float]:
        """
        The values that are not nothing, by one label.
        """
        found = self.values(dashboard, panel, letter)
        return {dict(labels).get(label, ""): value for labels, value in found.items() if value}

    def counts_by(self, label: str, dashboard: str, panel: str) -> dict[str, int]:
        """
        Counts behind a panel that shows them per minute.
        """
        found = self.by(label, dashboard, panel)
        counts = {name: value * self.seconds / 60 for name, value in found.items()}
        assert all(math.isclose(count, round(count), abs_tol=EXACT) for count in counts.values()), counts
        return {name: round(count) for name, count in counts.items()}


def filled_in(expr: str, interval: str, chosen: dict[str, str]) -> str:
    """
    The expression as Grafana would send it. A variable that is not *chosen* stands for everything.
    """
    intervals = {"__rate_interval": interval, "__range": interval}
    filled = VARIABLE.sub(lambda match: {**intervals, **chosen}.get(match[1] or match[2], ".*"), expr)
    assert "$" not in filled
    return filled


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    with watched_services(tmp_path_factory.mktemp("watched")) as services:
        for _ in range(2):
            whole_round(services.well)
            for trouble in (crowd, unwanted):
                trouble(services.narrow)
            into_the_void(services.dead_end)
            services.change_annotations()
            settle(services)
        begin, before = services.prometheus.last_scrape(services.well.metrics), len(services.well.taken)
        whole_round(services.well)
        settle(services)
        end = services.prometheus.last_scrape(services.well.metrics)
        yield Shown(services, begin, end, services.well.taken[before:])


def settle(services: WatchedServices) -> None:
    """
    Wait until nothing is open any more, and until Prometheus has seen the state after that.
    """
    for sender in (services.well, services.narrow, services.dead_end):
        sender.wait_until_nothing_is_open()
    well = services.well.metrics
    assert wait_until(lambda: is_at_rest(well), within_s=SETTLED_WITHIN_S), "sessions stay open"
    before = services.prometheus.last_scrape(well)
    assert wait_until(lambda: services.prometheus.last_scrape(well) > before + 1, within_s=SETTLED_WITHIN_S)


def is_at_rest(well: str) -> bool:
    """
    No session is open, and all spans that came have left again.
    """
    came = value_of(well, "toolscore_receiver_accepted_spans_total")
    gone = sum(
        value_of(well, name)
        for name in ("toolscore_exporter_sent_spans_total", "toolscore_processor_deduplicated_spans_total")
    )
    return value_of(well, "toolscore_sessions_active") == 0 and came == gone


@pytest.mark.parametrize("target", [pytest.param(each, id=each.id) for name in NAMES for each in targets(name)])
def test_a_query_finds_data_unless_it_is_out_of_reach(target: Target, shown: Shown) -> None:
    found = shown.services.prometheus.query(filled_in(target.expr, "5m", EVERYTHING), shown.end)

    numbers = [value for value in found.values() if not math.isnan(value)]
    assert bool(numbers) != any(name in target.expr for name in OUT_OF_REACH)


@pytest.mark.parametrize("dashboard", NAMES)
def test_no_panel_is_made_of_queries_that_are_out_of_reach(dashboard: str) -> None:
    within_reach = Counter[str]()
    for target in targets(dashboard):
        within_reach[target.panel] += not any(name in target.expr for name in OUT_OF_REACH)

    assert [] == [panel for panel, count in within_reach.items() if not count]


QUALITY, SERVICE = "agent-tool-quality", "toolscore-service"
ACCURACY = sum(run.accuracy for run in RUNS.values()) / len(RUNS)
VERDICTS = {
    ORDER: Counter(run.order for run in RUNS.values()),
    NO_MAIL: Counter("false" if "send_mail" in called else "true" for _, called in CALLS),
}
ALL_VERDICTS = VERDICTS[ORDER] + VERDICTS[NO_MAIL]
MISSING_TOOLS = Counter(name for _, called in CALLS for name in REQUIRED if name not in called)


def test_selection_accuracy_is_the_mean_of_what_was_sent(shown: Shown) -> None:
    assert shown.one(QUALITY, "Selection accuracy") == pytest.approx(ACCURACY)
    assert shown.by("gen_ai_agent_name", QUALITY, "Selection accuracy by agent") == pytest.approx({AGENT: ACCURACY})
    assert shown.by("expectation", QUALITY, "Selection accuracy by expectation") == pytest.approx({"refund": ACCURACY})
    assert shown.by("gen_ai_agent_name", QUALITY, "Worst agents") == pytest.approx({AGENT: ACCURACY})
    assert shown.by("gen_ai_agent_name", QUALITY, "Worst agents", "B") == pytest.approx({AGENT: TIMES * len(RUNS)})


def test_missing_tools_are_those_that_were_not_called(shown: Shown) -> None:
    expected = {name: TIMES * count for name, count in MISSING_TOOLS.items()}

    assert shown.by("gen_ai_tool_name", QUALITY, "Missing tools of all runs") == pytest.approx(expected)
    assert shown.one(QUALITY, "Missing tools") == pytest.approx(sum(expected.values()))


def test_verdicts_are_those_of_the_runs(shown: Shown) -> None:
    decided = ALL_VERDICTS["true"] + ALL_VERDICTS["false"]
    times = {verdict: TIMES * count for verdict, count in ALL_VERDICTS.items()}

    assert shown.one(QUALITY, "Verdicts that are true") == pytest.approx(ALL_VERDICTS["true"] / decided)
    assert shown.one(QUALITY, "Undetermined") == pytest.approx(ALL_VERDICTS["undetermined"] / ALL_VERDICTS.total())
    assert times == shown.counts_by("outcome", QUALITY, "Verdicts")
    assert {"overlapping": times["undetermined"]} == shown.counts_by("reason", QUALITY, "Undetermined, by reason")


def test_each_condition_shows_its_own_verdicts(shown: Shown) -> None:
    name = "gen_ai_evaluation_name"
    shares = {each: found["true"] / (found["true"] + found["false"]) for each, found in VERDICTS.items()}

    assert shown.by(name, QUALITY, "Verdicts by condition") == pytest.approx(shares)
    for letter, verdict in (("B", "false"), ("C", "undetermined")):
        counts = {each: TIMES * found[verdict] for each, found in VERDICTS.items() if found[verdict]}
        assert shown.by(name, QUALITY, "Verdicts by condition", letter) == pytest.approx(counts)


def test_a_verdict_that_a_late_span_turns_round_is_shown(shown: Shown) -> None:
    assert shown.one(QUALITY, "Overturned verdicts") == pytest.approx(1)


def test_every_closing_has_its_trigger_and_coverage(shown: Shown) -> None:
    """
    Of the round: the runs, four unusual traces, the late one and the slow one, which is closed twice; one session; the
    late span closes its trace again. Traces without agents are none of our business.
    """
    by_root = TIMES * len(RUNS) + 4 + 2

    assert {"root_span": by_root, "idle_timeout": 1 + 1, "late_span": 1} == shown.counts_by(
        "trigger", SERVICE, "Triggers"
    )
    assert {"complete": by_root - 1 + 1, "partial": 3} == shown.counts_by("coverage", SERVICE, "Coverage")
    assert {"no_root": 1, "not_closed_by_root": 1, "tool_name_missing": 1, "late_span": 1, "missing_parent": 1} == (
        shown.counts_by("reason", SERVICE, "Reasons of partial coverage")
    )


def test_what_came_in_and_went_out_is_what_was_sent(shown: Shown) -> None:
    """
    All spans but the one with an invalid id; two of them are copies.
    """
    sent = sum(1 for _ in spans(shown.requests))

    assert shown.one(SERVICE, "Spans accepted") == pytest.approx(sent - 1)
    assert shown.one(SERVICE, "Spans sent") == pytest.approx(sent - 1 - 2)
    assert shown.one(SERVICE, "Spans lost") == 0


def test_spans_that_came_late_are_counted(shown: Shown) -> None:
    assert {"rescore": 1} == shown.counts_by("action", SERVICE, "Late spans")
    assert {"": 1} == shown.counts_by("", SERVICE, "Opened again and overturned")
