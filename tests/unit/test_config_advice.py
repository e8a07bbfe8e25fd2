"""
What works but is unwise is said, and is no mistake.
"""

from pathlib import Path

import pytest

from service.config import advice, config_from_tree, default_config
from service.config.yaml_reader import read_yaml

SCORING = "processors::tool_scoring"


def test_the_default_configuration_needs_no_advice() -> None:
    assert [] == advice(default_config())


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        pytest.param(
            "receivers: {otlp: {protocols: {grpc: {endpoint: '0.0.0.0:4317'}}}}",
            "receivers::otlp::protocols::grpc",
            "reachable from the network without tls and auth",
            id="all interfaces",
        ),
        pytest.param(
            "receivers: {otlp: {protocols: {http: {endpoint: ':4318'}}}}",
            "receivers::otlp::protocols::http",
            "reachable from the network without tls and auth",
            id="empty host",
        ),
        pytest.param(
            "service: {telemetry: {metrics: {prometheus: {host: 10.0.0.1}}}}",
            "service::telemetry::metrics::prometheus",
            "reachable from the network without tls and auth",
            id="metrics page",
        ),
        pytest.param(
            "service: {pipelines: {traces: {exporters: [console]}}}",
            f"{SCORING}::late_spans::action",
            "rescore corrects results by events, and service::pipelines::logs is left out",
            id="corrections nobody hears",
        ),
        pytest.param(
            "service: {pipelines: {logs: {exporters: [console]}}}",
            f"{SCORING}::mode",
            "hold releases spans, and service::pipelines::traces is left out",
            id="spans held for nobody",
        ),
        pytest.param(
            "processors: {tool_scoring: {tool_selection_accuracy: {expected_tools: [log_in, x, login]}}}",
            f"{SCORING}::tool_selection_accuracy::expected_tools",
            "log_in and login are one name without case and separators",
            id="spellings of one name",
        ),
        pytest.param(
            "processors: {tool_scoring: {expectations: [{name: e, expected_tools: [getWeather, get_weather]}]}}",
            f"{SCORING}::expectations[0]::expected_tools",
            "getWeather and get_weather are one name without case and separators",
            id="spellings of one name in an entry",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1', retry_on_failure: {max_elapsed_time: 300s}}}",
            "exporters::otlp::retry_on_failure",
            "with mode: hold spans are lost when retries end; max_elapsed_time: 0s keeps them",
            id="retries that end",
        ),
        pytest.param(
            "processors: {tool_scoring: {drop_pending_traces_on_shutdown: true}}",
            f"{SCORING}::drop_pending_traces_on_shutdown",
            "with mode: hold the spans of open traces are lost at shutdown",
            id="dropped at shutdown",
        ),
        pytest.param(
            "processors: {tool_scoring: {evaluation_span: true}}",
            f"{SCORING}::evaluation_span",
            "has no effect with mode: hold; the root carries the scores",
            id="evaluation span in hold mode",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1', sending_queue: {wait_for_result: true}}}",
            "exporters::otlp::sending_queue::wait_for_result",
            "has no effect with mode: hold; a request is acknowledged when its spans are held",
            id="waiting for the result in hold mode",
        ),
        pytest.param(
            "processors: {tool_scoring: {expectations: [{name: a, partition: both, expected_tools: [x]}]}}",
            f"{SCORING}::expectations",
            "an entry is for sessions, and session::enabled is false",
            id="session policy without sessions",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1', tls: {insecure: true}, auth: {authenticator: bearertokenauth}}}\n"
            "extensions: {bearertokenauth: {token: x}}\n"
            "service: {extensions: [bearertokenauth]}",
            "exporters::otlp::auth",
            "the token is sent without TLS",
            id="token in the clear",
        ),
    ],
)
def test_what_is_unwise_is_said_with_its_path(text: str, path: str, message: str) -> None:
    tree = read_yaml(text)
    assert isinstance(tree, dict)

    assert [(path, message)] == advice(config_from_tree(tree, {}))


@pytest.mark.parametrize("endpoint", ["127.0.0.1:4317", "[::1]:4317", "localhost:0"])
def test_a_loopback_address_is_no_open_door(endpoint: str) -> None:
    tree = read_yaml(f"receivers: {{otlp: {{protocols: {{grpc: {{endpoint: '{endpoint}'}}}}}}}}")
    assert isinstance(tree, dict)

    assert [] == advice(config_from_tree(tree, {}))


def test_tls_and_auth_together_close_the_door(tmp_path: Path) -> None:
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).touch()
    tree = read_yaml(f"""
        receivers:
          otlp:
            protocols:
              grpc:
                endpoint: 0.0.0.0:4317
                tls: {{cert_file: {tmp_path}/cert.pem, key_file: {tmp_path}/key.pem}}
                auth: {{authenticator: bearertokenauth}}
        extensions: {{bearertokenauth: {{token: x}}}}
        service: {{extensions: [bearertokenauth]}}
    """)
    assert isinstance(tree, dict)

    assert [] == advice(config_from_tree(tree, {}))
