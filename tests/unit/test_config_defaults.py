"""
Without a configuration the service runs on localhost; with one, only what it says differs.
"""

from pathlib import Path

import pytest

from service.config import (
    ConsoleExporterConfig,
    OtlpGrpcExporterConfig,
    OtlpHttpExporterConfig,
    config_from_tree,
    default_config,
    load_config,
)
from service.config.exporters import RetryConfig
from service.config.root_span import root_condition
from service.config.values import Block
from service.config.yaml_reader import Value
from service.durations import MINUTE, SECOND
from service.pipeline import Signal
from service.root_condition import AttributeMatch, RootCondition


def test_without_configuration_everything_listens_on_localhost_and_the_console_is_the_way_out() -> None:
    config = default_config()

    protocols = config.receivers["otlp"].protocols
    assert protocols.grpc is not None
    assert protocols.http is not None
    assert ("localhost:4317", "localhost:4318") == (protocols.grpc.endpoint, protocols.http.endpoint)
    assert config.service.telemetry.metrics.page is not None
    assert "localhost:8888" == config.service.telemetry.metrics.page.endpoint
    assert all({"console": ConsoleExporterConfig()} == config.exporters_of(signal) for signal in Signal)


def test_an_empty_file_is_the_default_configuration(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("", encoding="utf-8")

    assert default_config() == load_config([tmp_path / "empty.yaml"], {})


def test_defaults_are_those_of_the_design() -> None:
    scoring = default_config().tool_scoring

    assert "hold" == scoring.mode
    assert (5 * SECOND, 60 * SECOND, 5 * MINUTE) == (
        scoring.decision_delay_ns,
        scoring.idle_timeout_ns,
        scoring.trace_timeout_ns,
    )
    assert (50_000, 10_000, 256, 100_000) == (
        scoring.num_traces,
        scoring.span_limit,
        scoring.max_buffer_mib,
        scoring.decision_cache.size,
    )
    assert RootCondition() == root_condition(scoring.root_span_condition)
    assert not scoring.session.enabled


def test_the_defaults_of_the_exporter_are_those_of_exporterhelper_except_compression() -> None:
    exporter = OtlpGrpcExporterConfig(endpoint="collector:4317")

    assert "none" == exporter.compression
    assert (10, 1_000) == (exporter.sending_queue.num_consumers, exporter.sending_queue.queue_size)
    retry = exporter.retry_on_failure
    assert (5 * SECOND, 0.5, 1.5, 30 * SECOND) == (
        retry.initial_interval_ns,
        retry.randomization_factor,
        retry.multiplier,
        retry.max_interval_ns,
    )


def test_retries_never_end_in_hold_mode_unless_told_to() -> None:
    assert 0 == RetryConfig().give_up_after_ns("hold")
    assert 5 * MINUTE == RetryConfig().give_up_after_ns("pass_through")
    assert MINUTE == RetryConfig.model_validate({"max_elapsed_time": "1m"}).give_up_after_ns("hold")


@pytest.mark.parametrize(
    ("exporter_id", "model"),
    [
        pytest.param("otlp", OtlpGrpcExporterConfig, id="otlp is otlp_grpc"),
        pytest.param("otlp_grpc/east", OtlpGrpcExporterConfig, id="named"),
        pytest.param("otlphttp", OtlpHttpExporterConfig, id="otlphttp is otlp_http"),
    ],
)
def test_the_type_in_an_id_says_what_the_component_is(exporter_id: str, model: type[Block]) -> None:
    endpoint = "http://collector:4318" if model is OtlpHttpExporterConfig else "collector:4317"
    config = config_from_tree({"exporters": {exporter_id: {"endpoint": endpoint}}}, {})

    assert isinstance(config.exporters[exporter_id], model)
    assert [exporter_id] == list(config.exporters_of(Signal.TRACES))


def test_naming_one_protocol_switches_the_other_off() -> None:
    config = config_from_tree({"receivers": {"otlp": {"protocols": {"grpc": None}}}}, {})

    protocols = config.receivers["otlp"].protocols
    assert protocols.grpc is not None
    assert protocols.http is None


def test_a_signal_without_a_pipeline_does_not_leave() -> None:
    config = config_from_tree({"service": {"pipelines": {"logs": {"exporters": ["console"]}}}}, {})

    assert ["console"] == list(config.exporters_of(Signal.LOGS))
    assert {} == config.exporters_of(Signal.TRACES)


def test_signals_may_leave_to_different_exporters() -> None:
    tree: dict[str, Value] = {
        "exporters": {"otlp/a": {"endpoint": "a:1"}, "otlp/b": {"endpoint": "b:1"}, "console": None},
        "service": {"pipelines": {"traces": {"exporters": ["otlp/a"]}, "metrics": {"exporters": ["otlp/b", "otlp/a"]}}},
    }
    config = config_from_tree(tree, {})

    assert ["otlp/a"] == list(config.exporters_of(Signal.TRACES))
    assert ["otlp/b", "otlp/a"] == list(config.exporters_of(Signal.METRICS))
    assert {"otlp/a", "otlp/b"} == set(config.active_exporters)


def test_receivers_that_no_pipeline_names_do_not_run_if_one_names_any() -> None:
    tree: dict[str, Value] = {
        "receivers": {"otlp": None, "otlp/2": {"protocols": {"grpc": {"endpoint": "localhost:0"}}}},
        "service": {"pipelines": {"traces": {"receivers": ["otlp/2"], "exporters": ["console"]}}},
    }

    assert ["otlp/2"] == list(config_from_tree(tree, {}).active_receivers)


@pytest.mark.parametrize(
    ("configured", "expected"),
    [
        pytest.param("parent_empty", RootCondition(), id="no parent"),
        pytest.param("parent_empty_or_remote", RootCondition(accept_remote_parent=True), id="sidecar"),
        pytest.param(
            [{"attribute": "gen_ai.operation.name", "values": "invoke_agent"}, {"attribute": "x", "values": [1, True]}],
            RootCondition(
                attributes=(AttributeMatch("gen_ai.operation.name", ("invoke_agent",)), AttributeMatch("x", (1, True)))
            ),
            id="attributes",
        ),
    ],
)
def test_the_root_condition_has_three_forms(configured: Value, expected: RootCondition) -> None:
    config = config_from_tree({"processors": {"tool_scoring": {"root_span_condition": configured}}}, {})

    assert expected == root_condition(config.tool_scoring.root_span_condition)


def test_the_readers_form_of_the_collector_is_the_metrics_page() -> None:
    reader: Value = {"pull": {"exporter": {"prometheus": {"host": "::1", "port": 9000}}}}
    config = config_from_tree({"service": {"telemetry": {"metrics": {"level": "basic", "readers": [reader]}}}}, {})

    assert config.service.telemetry.metrics.page is not None
    assert "[::1]:9000" == config.service.telemetry.metrics.page.endpoint


def test_level_none_switches_the_metrics_page_off() -> None:
    config = config_from_tree({"service": {"telemetry": {"metrics": {"level": "none"}}}}, {})

    assert config.service.telemetry.metrics.page is None


def test_an_authenticator_is_found_by_its_id() -> None:
    tree: dict[str, Value] = {
        "extensions": {"bearertokenauth/in": {"token": "abc"}},
        "receivers": {"otlp": {"protocols": {"grpc": {"auth": {"authenticator": "bearertokenauth/in"}}}}},
        "service": {"extensions": ["bearertokenauth/in"]},
    }
    config = config_from_tree(tree, {})

    grpc = config.receivers["otlp"].protocols.grpc
    assert grpc is not None
    found = config.authenticator(grpc.auth)
    assert found is not None
    assert found.token is not None
    assert "abc" == found.token.get_secret_value()
    assert config.authenticator(None) is None
