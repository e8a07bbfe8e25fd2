"""
`service/metadata.yaml` is what the service emits, documents and generates, no more and no less.
"""

import ast
import re
import subprocess
import sys
from enum import StrEnum
from pathlib import Path

import pytest
from doubles import ManualClock
from every_count import drive, metrics_of, values_of
from opentelemetry.sdk.metrics.export import Metric, Sum

import proto_adapters
import service
from proto_adapters.canonical import Problem, Shape
from service import processor
from service.evaluation import ExpectedSource, Reason, Status, Verdict
from service.evidence import CoverageReason, Partition, Trigger
from service.pipeline import Signal
from service.telemetry import instruments
from service.telemetry.generate import generate
from service.telemetry.metadata import Metric as Described
from service.telemetry.metadata import load_metadata
from service.telemetry.otel_recorder import OtelRecorder
from service.telemetry.recorder import (
    FailureReason,
    Gauge,
    LateAction,
    LossReason,
    RefusalReason,
    RejectionReason,
    Reloadable,
    Transport,
    UnscoredReason,
)

PROCESSOR = Path(processor.__file__).parent
OUTPUT_NAME = re.compile(r"(toolscore|gen_ai\.evaluation)\.[a-z_.]*[a-z]")

METADATA = load_metadata()
DESCRIBED = {name: metric for _, name, metric in METADATA.expanded()}


@pytest.fixture
def emitted() -> dict[str, Metric]:
    clock = ManualClock()
    recorder = OtelRecorder(clock)
    clock.advance(1_000_000_000)
    drive(recorder)
    return {metric.name: metric for _, metric in metrics_of(recorder.collect())}


def test_every_metric_of_the_metadata_is_emitted_and_nothing_else(emitted: dict[str, Metric]) -> None:
    assert sorted(DESCRIBED) == sorted(emitted)


def test_every_metric_moves_when_its_event_is_counted() -> None:
    clock = ManualClock()
    recorder = OtelRecorder(clock)
    clock.advance(1_000_000_000)
    drive(recorder)
    collected = recorder.collect()

    assert [] == [name for name in DESCRIBED if not any(values_of(collected, name).values())]


def test_units_descriptions_and_kinds_are_those_of_the_metadata(emitted: dict[str, Metric]) -> None:
    for name, described in DESCRIBED.items():
        metric = emitted[name]

        assert (described.unit, described.description) == (metric.unit, metric.description)
        assert _data_kind(described) == _shape_of(metric), name


def test_attributes_and_their_values_are_those_of_the_metadata(emitted: dict[str, Metric]) -> None:
    for name, described in DESCRIBED.items():
        attributes = [METADATA.metric_attributes[each] for each in described.attributes]
        allowed = {attribute.key: attribute.values for attribute in attributes}

        for point in emitted[name].data.data_points:
            for key, value in (point.attributes or {}).items():
                assert key in allowed, (name, key)
                assert not allowed[key] or value in allowed[key], (name, key, value)


def test_each_attribute_of_the_metadata_is_given_by_some_point(emitted: dict[str, Metric]) -> None:
    for name, described in DESCRIBED.items():
        given = {key for point in emitted[name].data.data_points for key in point.attributes or {}}
        keys = {METADATA.metric_attributes[each].key for each in described.attributes}

        assert keys == given, name


NAMED_IN_CODE = {
    ast.unparse(node)
    for package in (Path(service.__file__).parent, Path(proto_adapters.__file__).parent)
    for path in package.rglob("*.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Attribute)
}

CLOSED_SETS: dict[str, list[type[StrEnum]]] = {
    "partition": [Partition],
    "trigger": [Trigger],
    "coverage_reason": [CoverageReason],
    "evaluation_reason": [Reason],
    "signal": [Signal],
    "transport": [Transport],
    "request_reason": [RefusalReason, FailureReason],
    "refusal_reason": [RefusalReason],
    "failure_reason": [FailureReason],
    "rejection_reason": [RejectionReason],
    "loss_reason": [LossReason],
    "late_action": [LateAction],
    "unscored_reason": [UnscoredReason],
    "problem": [Problem],
    "reloadable": [Reloadable],
}


@pytest.mark.parametrize("attribute", CLOSED_SETS)
def test_every_member_of_a_closed_set_is_given_by_some_code(attribute: str) -> None:
    members = {f"{enum.__name__}.{member.name}" for enum in CLOSED_SETS[attribute] for member in enum}

    assert [] == sorted(member for member in members if member not in NAMED_IN_CODE)


@pytest.mark.parametrize("attribute", CLOSED_SETS)
def test_closed_sets_of_metrics_are_those_of_the_code(attribute: str) -> None:
    values = [member.value for enum in CLOSED_SETS[attribute] for member in enum]

    assert sorted(values) == sorted(METADATA.metric_attributes[attribute].values)


def test_an_outcome_is_a_verdict_or_a_status() -> None:
    outcomes = {*Verdict, *Status}

    for attribute in ("outcome", "from", "to"):
        assert outcomes == set(METADATA.metric_attributes[attribute].values)


@pytest.mark.parametrize(
    ("attribute", "enum"),
    [
        ("toolscore.trigger", Trigger),
        ("toolscore.coverage_reasons", CoverageReason),
        ("toolscore.shape", Shape),
        ("toolscore.expected_source", ExpectedSource),
        ("toolscore.partition", Partition),
        ("toolscore.evaluation.{name}.label", Verdict),
        ("toolscore.evaluation.{name}.status", Status),
        ("toolscore.evaluation.{name}.reason", Reason),
        ("gen_ai.evaluation.score.label", Verdict),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_closed_sets_of_spans_and_events_are_those_of_the_code(attribute: str, enum: type[StrEnum]) -> None:
    assert sorted(enum) == sorted(METADATA.values_of(METADATA.output_attributes[attribute]))


def test_every_attribute_that_is_written_is_in_the_metadata() -> None:
    sources = [file.read_text() for file in PROCESSOR.glob("*.py")]
    texts = {node.value for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    names = {text for text in texts if isinstance(text, str) and OUTPUT_NAME.fullmatch(text)}

    assert names <= set(METADATA.output_attributes) | {"gen_ai.evaluation.result"}


def test_every_gauge_has_a_level_and_the_process_has_the_rest() -> None:
    assert {gauge.value for gauge in Gauge} == {name for name in instruments.LEVELS if not name.startswith("process_")}


def test_names_follow_the_conventions() -> None:
    for name, metric in DESCRIBED.items():
        assert not name.endswith(("_total", ".total", "_seconds", "_bytes", "_count_total")), name
        assert metric.unit in {"s", "By", "1"} or metric.unit.startswith("{"), name
        assert bool(metric.buckets) == (metric.kind == "histogram"), name
        assert list(metric.buckets) == sorted(set(metric.buckets)), name


def test_no_attribute_is_an_id() -> None:
    keys = {attribute.key for attribute in METADATA.metric_attributes.values()}

    assert not {key for key in keys if key.endswith((".id", "_id"))}


@pytest.mark.parametrize("path", generate(METADATA), ids=lambda path: path.name)
def test_generated_files_are_fresh(path: Path) -> None:
    """
    After a change of the metadata: `python -m service.telemetry.generate`.
    """
    assert generate(METADATA)[path] == path.read_text(encoding="utf-8")


def test_the_protocol_and_the_null_recorder_need_no_sdk() -> None:
    code = "import sys, service.telemetry.recorder; sys.exit('opentelemetry.sdk' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


def _data_kind(described: Described) -> tuple[str, bool]:
    kinds = {
        "counter": ("Sum", True),
        "histogram": ("Histogram", False),
        "observable_counter": ("Sum", True),
        "observable_up_down_counter": ("Sum", False),
        "observable_gauge": ("Gauge", False),
    }
    return kinds[described.kind]


def _shape_of(metric: Metric) -> tuple[str, bool]:
    return type(metric.data).__name__, isinstance(metric.data, Sum) and metric.data.is_monotonic
