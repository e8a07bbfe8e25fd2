"""
Metrics as text, read back with Prometheus' own parsers.
"""

import msgspec
import pytest
from doubles import ManualClock
from every_count import SPAN_ID, SUBJECT, TRACE_ID, a_score, drive
from prometheus_client import Metric
from prometheus_client.samples import Sample
from prometheus_text import read_openmetrics, read_plain

from service.telemetry.exposition import expose, wants_openmetrics
from service.telemetry.metadata import load_metadata
from service.telemetry.otel_recorder import OtelRecorder
from service.telemetry.prometheus_names import family_name, label_name, metric_name

SCORE = "gen_ai_evaluation_score"


@pytest.fixture
def recorder() -> OtelRecorder:
    clock = ManualClock(now_ns=1_700_000_000_123_456_789)
    recorder = OtelRecorder(clock, resource={"service.name": "toolscore", "service.version": "1.2.3"})
    clock.advance(1_000_000_000)
    return recorder


def openmetrics_of(recorder: OtelRecorder) -> dict[str, Metric]:
    text = expose(recorder.collect(), openmetrics=True)
    return {family.name: family for family in read_openmetrics(text)}


def plain_of(recorder: OtelRecorder) -> dict[str, Metric]:
    return {family.name: family for family in read_plain(expose(recorder.collect(), openmetrics=False))}


def buckets_of(family: Metric) -> list[Sample]:
    return [sample for sample in family.samples if sample.name.endswith("_bucket")]


def test_every_metric_stands_in_openmetrics_with_unit_and_help(recorder: OtelRecorder) -> None:
    drive(recorder)

    families = openmetrics_of(recorder)

    for _, name, metric in load_metadata().expanded():
        family = families[family_name(name, metric.unit, metric.kind)]
        assert metric.description == family.documentation
        assert not family.unit or family.name.endswith(f"_{family.unit}")


def test_both_formats_tell_the_same_samples(recorder: OtelRecorder) -> None:
    drive(recorder)
    collected = recorder.collect()

    new = read_openmetrics(expose(collected, openmetrics=True))
    old = read_plain(expose(collected, openmetrics=False))

    def samples(families: list[Metric]) -> list[tuple[str, dict[str, str], float]]:
        return [(one.name, one.labels, one.value) for family in families for one in family.samples]

    assert samples(new) == samples(old)


def test_buckets_are_cumulative_and_spelt_alike_in_both_formats(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(0.0), SUBJECT, enters_histogram=True)
    recorder.scored(a_score(1.0), SUBJECT, enters_histogram=True)

    for families in (openmetrics_of(recorder), plain_of(recorder)):
        buckets = buckets_of(families[SCORE])
        assert ["0.0", *(f"0.{tenth}" for tenth in range(1, 10)), "1.0", "+Inf"] == [
            one.labels["le"] for one in buckets
        ]
        assert [1] * 10 + [2, 2] == [one.value for one in buckets]


def test_an_exemplar_leads_to_the_scored_trace(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(0.5), SUBJECT, enters_histogram=True)

    exemplars = {one.labels["le"]: one.exemplar for one in buckets_of(openmetrics_of(recorder)[SCORE]) if one.exemplar}

    assert ["0.5"] == list(exemplars)
    assert {"trace_id": TRACE_ID.hex(), "span_id": SPAN_ID.hex()} == exemplars["0.5"].labels
    assert 0.5 == exemplars["0.5"].value
    assert "1700000001.123456789" == str(exemplars["0.5"].timestamp)


def test_a_bucket_shows_its_latest_exemplar(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(0.5), SUBJECT, enters_histogram=True)
    recorder.scored(a_score(0.5), msgspec.structs.replace(SUBJECT, span_id=b"\xff" * 8), enters_histogram=True)

    (exemplar,) = [one.exemplar for one in buckets_of(openmetrics_of(recorder)[SCORE]) if one.exemplar]
    assert "ff" * 8 == exemplar.labels["span_id"]


def test_the_plain_format_has_no_exemplars(recorder: OtelRecorder) -> None:
    recorder.scored(a_score(0.5), SUBJECT, enters_histogram=True)

    assert "trace_id" not in expose(recorder.collect(), openmetrics=False)


def test_the_resource_is_target_info(recorder: OtelRecorder) -> None:
    labels = {"service_name": "toolscore", "service_version": "1.2.3"}

    assert [labels] == [one.labels for one in openmetrics_of(recorder)["target"].samples]
    assert [labels] == [one.labels for one in plain_of(recorder)["target_info"].samples]


def test_keys_that_become_one_label_are_joined() -> None:
    recorder = OtelRecorder(ManualClock(), resource={"host.name": "a", "host_name": "b"})

    assert [{"host_name": "a;b"}] == [one.labels for one in openmetrics_of(recorder)["target"].samples]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1", True),
        ("text/plain;version=0.0.4, application/openmetrics-text", True),
        ("text/plain", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_openmetrics_is_written_only_if_asked_for(accept: str, *, expected: bool) -> None:
    assert expected == wants_openmetrics(accept)


@pytest.mark.parametrize(
    ("name", "unit", "kind", "expected"),
    [
        ("toolscore.receiver.accepted_spans", "{span}", "counter", "toolscore_receiver_accepted_spans_total"),
        ("toolscore.journal.written", "By", "counter", "toolscore_journal_written_bytes_total"),
        ("process.cpu.time", "s", "observable_counter", "process_cpu_time_seconds_total"),
        ("process.uptime", "s", "observable_gauge", "process_uptime_seconds"),
        ("gen_ai.evaluation.score", "1", "histogram", "gen_ai_evaluation_score"),
        ("share", "1", "gauge", "share_ratio"),
        ("age.seconds", "s", "gauge", "age_seconds"),
        ("toolscore.traces_released_early", "{trace}", "counter", "toolscore_traces_released_early_total"),
    ],
)
def test_metric_names_follow_the_rules_for_prometheus(name: str, unit: str, kind: str, expected: str) -> None:
    assert expected == metric_name(name, unit, kind)


@pytest.mark.parametrize(
    ("key", "expected"), [("gen_ai.agent.name", "gen_ai_agent_name"), ("2fa", "key_2fa"), ("ä b", "__b")]
)
def test_label_names_hold_no_other_characters(key: str, expected: str) -> None:
    assert expected == label_name(key)
