"""
Files are laid over one another, references are replaced, and secrets never show.
"""

from pathlib import Path

import pytest

from service.config import config_from_tree, default_config, effective_configuration, load_config, written_configuration
from service.config.exporters import OtlpGrpcExporterConfig
from service.config.yaml_reader import Value, read_yaml
from service.errors import ConfigError

DATA = Path(__file__).parent.parent / "data" / "config"


def _write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_later_files_are_laid_over_earlier_ones_key_by_key(tmp_path: Path) -> None:
    base = _write(
        tmp_path, "base.yaml", "processors: {tool_scoring: {mode: pass_through, span_limit: 5, dimensions: [a, b]}}"
    )
    over = _write(tmp_path, "over.yaml", "processors: {tool_scoring: {span_limit: 7, dimensions: [c]}}")

    scoring = load_config([base, over], {}).tool_scoring

    assert ("pass_through", 7, ("c",)) == (scoring.mode, scoring.span_limit, scoring.dimensions)


def test_a_full_configuration_loads(tmp_path: Path) -> None:
    config = load_config([DATA / "full.yaml"], {"DOWNSTREAM": "gateway:4317"})

    exporter = config.exporters["otlp_grpc"]
    assert isinstance(exporter, OtlpGrpcExporterConfig)
    assert "gateway:4317" == exporter.endpoint
    assert exporter.tls is not None
    assert exporter.tls.insecure
    assert ["refund"] == [entry.name for entry in config.tool_scoring.expectations]
    assert ("get_weather",) == config.tool_scoring.tool_selection_accuracy.expected_tools
    assert ["health_check"] == list(config.active_extensions)


def test_a_collector_style_exporter_block_loads() -> None:
    block = read_yaml("""
        endpoint: http://collector:4317
        compression: gzip
        timeout: 5s
        retry_on_failure:
          {enabled: true, initial_interval: 5s, randomization_factor: 0.5, multiplier: 1.5, max_interval: 30s,
           max_elapsed_time: 300s}
        sending_queue:
          {enabled: true, num_consumers: 10, sizer: requests, queue_size: 1000, block_on_overflow: false,
           wait_for_result: false}
    """)

    assert config_from_tree({"exporters": {"otlp_grpc": block}}, {}).exporters["otlp_grpc"] is not None


@pytest.mark.parametrize("token", ["0123", "true", "1e5", "null", "~"])
def test_a_reference_for_a_text_key_stays_text(token: str) -> None:
    tree: dict[str, Value] = {"exporters": {"otlp": {"endpoint": "c:1", "headers": {"x-key": "${env:KEY}"}}}}

    exporter = config_from_tree(tree, {"KEY": token}).exporters["otlp"]

    assert isinstance(exporter, OtlpGrpcExporterConfig)
    assert token == exporter.headers["x-key"].get_secret_value()


def test_a_reference_for_a_number_is_a_number() -> None:
    tree: dict[str, Value] = {"processors": {"tool_scoring": {"num_traces": "${env:N}"}}}

    assert 5 == config_from_tree(tree, {"N": "5"}).tool_scoring.num_traces
    with pytest.raises(ConfigError, match="processors::tool_scoring::num_traces: should be a whole number"):
        config_from_tree(tree, {"N": "five"})


def test_secrets_are_masked_in_every_form() -> None:
    tree: dict[str, Value] = {
        "exporters": {"otlp": {"endpoint": "c:1", "headers": {"api-key": "s3cret"}}},
        "extensions": {"bearertokenauth": {"token": "s3cret"}},
    }
    config = config_from_tree(tree, {})

    assert "s3cret" not in effective_configuration(config)
    assert "s3cret" not in written_configuration(config)
    assert "s3cret" not in repr(config)
    assert "s3cret" not in config.model_dump_json()


def test_the_effective_configuration_loads_as_the_same_configuration() -> None:
    for config in (default_config(), load_config([DATA / "full.yaml"], {})):
        tree = read_yaml(effective_configuration(config))

        assert isinstance(tree, dict)
        assert config == config_from_tree(tree, {})


def test_the_line_of_the_log_holds_what_was_written_and_loads_as_the_same_configuration() -> None:
    assert "{}" == written_configuration(default_config())

    config = load_config([DATA / "full.yaml"], {})
    line = written_configuration(config)
    tree = read_yaml(line)

    assert 1 == len(line.splitlines())
    assert isinstance(tree, dict)
    assert config == config_from_tree(tree, {})


def test_a_configuration_cannot_be_changed() -> None:
    config = default_config()

    with pytest.raises(ValueError, match="frozen"):
        config.tool_scoring.mode = "pass_through"  # type: ignore[misc]  # the point of the test
