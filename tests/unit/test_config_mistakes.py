"""
Every mistake in a configuration is told as `path: message`, in the user's words and without the value.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from service.config import config_from_tree, load_config
from service.config.yaml_reader import Value, read_yaml
from service.errors import ConfigError


def _problems(text: str) -> list[tuple[str, str]]:
    tree = read_yaml(text)
    assert isinstance(tree, dict)
    with pytest.raises(ConfigError) as refused:
        config_from_tree(tree, {})
    return refused.value.problems


def _scoring(text: str) -> str:
    return "processors: {tool_scoring: {" + text + "}}"


SCORING = "processors::tool_scoring"


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        pytest.param("recievers: {}", "recievers", "unknown key; did you mean receivers?", id="top-level key"),
        pytest.param("x: {}", "x", "unknown key", id="key like no other"),
        pytest.param(
            _scoring("trce_timeout: 5m"),
            f"{SCORING}::trce_timeout",
            "unknown key; did you mean trace_timeout?",
            id="key",
        ),
        pytest.param(
            "exporters: {otlp/b: {endpoint: 'c:1', sending_queue: {que_size: 1}}}",
            "exporters::otlp/b::sending_queue::que_size",
            "unknown key; did you mean queue_size?",
            id="key of a component",
        ),
        pytest.param(
            _scoring("expectations: [{name: a, conditions: [{condition_type: tools_called, tools: [x], nam: y}]}]"),
            f"{SCORING}::expectations[0]::conditions[0]::nam",
            "unknown key; did you mean name?",
            id="key of a condition",
        ),
        pytest.param(
            _scoring(
                "expectations: [{name: a, conditions: [{condition_type: tools_called, tools: [x], name: redundancy}]}]"
            ),
            SCORING,
            "expectations: redundancy in a is the name of a metric; name the condition otherwise",
            id="condition with the name of a metric",
        ),
        pytest.param(
            _scoring(
                "tool_selection_accuracy: {metric_name: tools_called}, "
                "expectations: [{name: a, conditions: [{condition_type: tools_called, tools: [x]}]}]"
            ),
            SCORING,
            "expectations: tools_called in a is the name of a metric; name the condition otherwise",
            id="condition with the metric_name",
        ),
        pytest.param(
            _scoring("tool_selection_accuracy: {metric_name: redundancy}"),
            SCORING,
            "tool_selection_accuracy.metric_name: redundancy is the name of another metric",
            id="metric_name of another metric",
        ),
        pytest.param(
            _scoring("idle_timeout: 60"),
            f"{SCORING}::idle_timeout",
            "a duration needs a unit: write 10s, 200ms or 1m30s",
            id="duration without unit",
        ),
        pytest.param(_scoring("trace_timeout: 0"), f"{SCORING}::trace_timeout", "should be longer than 0s", id="zero"),
        pytest.param(
            _scoring("timestamp_resolution: 1"),
            f"{SCORING}::timestamp_resolution",
            "a duration needs a unit: write 10s, 200ms or 1m30s",
            id="resolution without unit",
        ),
        pytest.param(
            _scoring("num_traces: '5'"), f"{SCORING}::num_traces", "should be a whole number", id="number as text"
        ),
        pytest.param(_scoring("num_traces: 1.0"), f"{SCORING}::num_traces", "should be a whole number", id="float"),
        pytest.param(_scoring("num_traces: true"), f"{SCORING}::num_traces", "should be a whole number", id="switch"),
        pytest.param(
            _scoring("num_traces: 0"), f"{SCORING}::num_traces", "should be greater than or equal to 1", id="too small"
        ),
        pytest.param(_scoring("early_verdicts: on"), f"{SCORING}::early_verdicts", "should be true or false", id="on"),
        pytest.param(_scoring("mode: fast"), f"{SCORING}::mode", "should be 'hold' or 'pass_through'", id="choice"),
        pytest.param(_scoring("expectations: {}"), f"{SCORING}::expectations", "should be a list", id="list"),
        pytest.param(_scoring("session: 5"), f"{SCORING}::session", "should be a block of keys", id="block"),
        pytest.param("service: []", "service", "should be a block of keys", id="list for a block"),
        pytest.param(
            _scoring("decision_cache: {size: 10}"),
            SCORING,
            "decision_cache.size should not be smaller than num_traces",
            id="cache smaller than buffer",
        ),
        pytest.param(
            "processors: {memory_limiter: {limit_mib: 300}}",
            "processors",
            "tool_scoring::max_buffer_mib should be smaller than memory_limiter::limit_mib less its spike_limit_mib",
            id="buffer over the soft limit of memory",
        ),
        pytest.param(
            "processors: {memory_limiter: {limit_mib: 512, spike_limit_mib: 512}}",
            "processors::memory_limiter",
            "spike_limit_mib should be smaller than limit_mib",
            id="spike",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1', retry_on_failure: {max_elapsed_time: 10s}}}",
            "exporters::otlp::retry_on_failure",
            "max_elapsed_time should not be shorter than initial_interval and max_interval, or be 0s",
            id="gives up before the first retry",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1', retry_on_failure: {initial_interval: 1m}}}",
            "exporters::otlp::retry_on_failure",
            "initial_interval should not be longer than max_interval",
            id="first interval over the longest",
        ),
        pytest.param(
            _scoring("session: {idle_timeout: 2h, max_duration: 1h}"),
            f"{SCORING}::session",
            "idle_timeout should not be longer than max_duration",
            id="session",
        ),
        pytest.param(
            _scoring("dimensions: [session.id]"),
            f"{SCORING}::dimensions",
            "should hold no ids: every id is a series of its own",
            id="id as dimension",
        ),
        pytest.param(
            _scoring("dimensions: [gen_ai.tool.name]"),
            f"{SCORING}::dimensions",
            "should hold no tool names: senders choose them",
            id="tool name as dimension",
        ),
        pytest.param(
            _scoring("dimensions: [a, a]"), f"{SCORING}::dimensions", "should name nothing twice", id="dimension twice"
        ),
        pytest.param(
            _scoring("root_span_condition: root"),
            f"{SCORING}::root_span_condition",
            "should be 'parent_empty' or 'parent_empty_or_remote'",
            id="root rule",
        ),
        pytest.param(
            _scoring("root_span_condition: [{attribute: a}]"),
            f"{SCORING}::root_span_condition[0]::values",
            "is required",
            id="root match without values",
        ),
        pytest.param(
            _scoring("expectations: [{name: a, conditions: [{condition_type: tool_called, tools: [x]}]}]"),
            f"{SCORING}::expectations[0]::conditions[0]",
            "unknown condition_type; known are 'tools_called', 'tools_called_in_order', 'tools_not_called', "
            "'tool_call_count', 'tools_called_in_partial_order', 'all_of', 'any_of', 'majority', 'not'",
            id="condition type",
        ),
        pytest.param(
            "receivers: {zipkin: {}}", "receivers::zipkin", "unknown type; known are otlp", id="receiver type"
        ),
        pytest.param("receivers: {otlp/: {}}", "receivers::otlp/", "a component id is type or type/name", id="id"),
        pytest.param(
            "receivers: {otlp: {protocols: {}}}",
            "receivers::otlp::protocols",
            "should name grpc, http or both",
            id="no protocol",
        ),
        pytest.param("receivers: {}", "receivers", "should define a receiver", id="no receiver"),
        pytest.param("exporters: {}", "exporters", "should define an exporter", id="no exporter"),
        pytest.param("exporters: [console]", "exporters", "should map component ids to their blocks", id="list of ids"),
        pytest.param("exporters: {otlp: {}}", "exporters::otlp::endpoint", "is required", id="no endpoint"),
        pytest.param(
            "exporters: {otlp: {endpoint: collector}}",
            "exporters::otlp::endpoint",
            "should be host:port, for example localhost:4317",
            id="no port",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: ':4317'}}",
            "exporters::otlp::endpoint",
            "should name a host and a port to send to, for example collector:4317",
            id="no host to send to",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1', compression: zstd}}",
            "exporters::otlp::compression",
            "should be 'none' or 'gzip'",
            id="zstd on gRPC",
        ),
        pytest.param(
            "exporters: {otlphttp: {endpoint: 'c:4318'}}",
            "exporters::otlphttp::endpoint",
            "should be a URL such as http://collector:4318",
            id="URL",
        ),
        pytest.param(
            "exporters: {otlphttp: {endpoint: 'http://me:secret@c'}}",
            "exporters::otlphttp::endpoint",
            "should hold no user, query or fragment; credentials go into auth or headers",
            id="password in the URL",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1', headers: {a: \"x\\ny\"}}}",
            "exporters::otlp::headers::a",
            "should hold printable ASCII characters only",
            id="header injection",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1', tls: {cert_file: a.pem}}}",
            "exporters::otlp::tls",
            "cert_file and key_file should be given together",
            id="certificate without key",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1', tls: {ca_file: /nonexistent/ca.pem}}}",
            "exporters::otlp::tls::ca_file",
            "no such file",
            id="missing file",
        ),
        pytest.param(
            "receivers: {otlp: {protocols: {grpc: {tls: {}}}}}",
            "receivers::otlp::protocols::grpc::tls",
            "cert_file and key_file are required for a listener",
            id="server without certificate",
        ),
        pytest.param(
            "receivers: {otlp: {protocols: {grpc: {auth: {authenticator: bearertokenaut}}}}}\n"
            "extensions: {bearertokenauth: {token: x}}",
            "receivers::otlp::protocols::grpc::auth::authenticator",
            "bearertokenaut is not an authenticator that extensions defines; did you mean bearertokenauth?",
            id="undefined authenticator",
        ),
        pytest.param(
            "receivers: {otlp: {protocols: {grpc: {auth: {authenticator: bearertokenauth}}}}}\n"
            "extensions: {bearertokenauth: {token: x}}",
            "receivers::otlp::protocols::grpc::auth::authenticator",
            "bearertokenauth does not run; add it to service::extensions",
            id="authenticator that does not run",
        ),
        pytest.param(
            "extensions: {bearertokenauth: {token: x, filename: y}}",
            "extensions::bearertokenauth",
            "should have either token or filename",
            id="two tokens",
        ),
        pytest.param(
            "extensions: {bearertokenauth: {token: ' '}}",
            "extensions::bearertokenauth::token",
            "should not be empty",
            id="blank token",
        ),
        pytest.param(
            "service: {extensions: [health_check]}",
            "service::extensions[0]",
            "health_check is not defined",
            id="undefined extension",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: 'c:1'}}\nservice: {pipelines: {traces: {exporters: [otlp/a]}}}",
            "service::pipelines::traces::exporters[0]",
            "otlp/a is not defined; did you mean otlp?",
            id="undefined exporter",
        ),
        pytest.param(
            "service: {pipelines: {traces: {processors: [batch, tool_scorin], exporters: [console]}}}",
            "service::pipelines::traces::processors[1]",
            "tool_scorin is not defined; did you mean tool_scoring?",
            id="undefined processor",
        ),
        pytest.param(
            "service: {pipelines: {traces: {receivers: [otlp/2], exporters: [console]}}}",
            "service::pipelines::traces::receivers[0]",
            "otlp/2 is not defined; did you mean otlp?",
            id="undefined receiver",
        ),
        pytest.param(
            "exporters: {console: {}, otlp: {endpoint: 'c:1'}}",
            "service::pipelines",
            "is required, since exporters defines more than one",
            id="where to",
        ),
        pytest.param(
            "service: {pipelines: {}}", "service::pipelines", "should name traces, logs or metrics", id="no pipeline"
        ),
        pytest.param(
            "receivers: {otlp: {protocols: {grpc: {endpoint: 'localhost:8888'}}}}",
            "service::telemetry::metrics::prometheus",
            "localhost:8888 is also the address of receivers::otlp::protocols::grpc",
            id="address taken twice",
        ),
        pytest.param(
            "exporters: {otlp: {endpoint: '${env:NOWHERE}'}}",
            "exporters::otlp::endpoint",
            "the environment variable NOWHERE is not set and there is no :-default",
            id="unset variable",
        ),
    ],
)
def test_a_mistake_is_told_with_its_path(text: str, path: str, message: str) -> None:
    assert [(path, message)] == _problems(text)


def test_every_mistake_is_told_at_once() -> None:
    problems = _problems(_scoring("mode: fast, span_limit: -1") + "\nservice: {shutdown_timeout: 5}")

    assert [f"{SCORING}::mode", f"{SCORING}::span_limit", "service::shutdown_timeout"] == [path for path, _ in problems]


def test_an_unset_variable_and_undefined_names_hide_no_other_mistake() -> None:
    problems = _problems(
        _scoring("mode: fast")
        + "\nexporters: {otlp: {endpoint: '${env:NOWHERE}'}, otlp/b: {endpoint: 5}}"
        + "\nservice: {extensions: [zpages], pipelines: {traces: {exporters: [otlp, otlp/c]}}}"
    )

    assert [
        "exporters::otlp::endpoint",
        f"{SCORING}::mode",
        "exporters::otlp/b::endpoint",
        "service::extensions[0]",
        "service::pipelines::traces::exporters[1]",
    ] == [path for path, _ in problems]


def test_undefined_names_missing_files_and_unset_variables_are_told_together() -> None:
    problems = _problems(
        _scoring("annotations_file: /none.yaml")
        + "\nexporters: {otlp: {endpoint: 'c:1', tls: {ca_file: '${env:NOWHERE}'}}}"
        + "\nservice: {extensions: [zpages]}"
    )

    assert ["exporters::otlp::tls::ca_file", "service::extensions[0]", f"{SCORING}::annotations_file"] == [
        path for path, _ in problems
    ]


@pytest.mark.parametrize(
    ("tools", "message"),
    [("[]", "should have at least 2 items"), ("[a]", "should have at least 2 items")],
    ids=["none", "one"],
)
def test_a_list_that_is_too_short_is_told_in_plain_words(tools: str, message: str) -> None:
    condition = "{condition_type: tools_called_in_order, tools: " + tools + "}"

    problems = _problems(_scoring("expectations: [{name: a, conditions: [" + condition + "]}]"))

    assert [(f"{SCORING}::expectations[0]::conditions[0]::tools", message)] == problems


def test_a_mistake_in_an_item_is_not_told_again_for_its_list() -> None:
    problems = _problems(_scoring("expectations: [{name: a, expected_tools: [{nam: x}]}]"))

    item = f"{SCORING}::expectations[0]::expected_tools[0]"
    assert {f"{item}::name", f"{item}::nam"} == {path for path, _ in problems}


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param({"exporters": {"otlp": {"endpoint": "s3cret", "headers": {"a": ["s3cret"]}}}}, id="values"),
        pytest.param({"extensions": {"bearertokenauth": {"token": "s3cret\n"}}}, id="token"),
        pytest.param({"processors": {"tool_scoring": {"mode": "s3cret", "idle_timeout": "s3cret"}}}, id="choices"),
    ],
)
def test_a_message_never_quotes_a_value(tree: Mapping[str, Value]) -> None:
    with pytest.raises(ConfigError) as refused:
        config_from_tree(tree, {})

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"a: 1\na: 2\n", "line 2, column 1: the key a stands twice", id="key twice"),
        pytest.param(b"- a\n", "should be a block of keys: receivers, processors, exporters …", id="list"),
        pytest.param(b"hello", "should be a block of keys: receivers, processors, exporters …", id="text"),
        pytest.param(b"a: \xff\n", "the file is not UTF-8 text", id="binary"),
        pytest.param(b"a: [\n", "line 2, column 1: expected the node content, but found '<stream end>'", id="open"),
        pytest.param(b"#" * (1024 * 1024 + 1), "the file is larger than 1 MiB", id="huge"),
    ],
)
def test_a_broken_file_is_told_with_its_name_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "toolscore.yaml"
    path.write_bytes(content)

    with pytest.raises(ConfigError) as refused:
        load_config([path], {})

    assert [(str(path), message)] == refused.value.problems


def test_a_missing_file_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: No such file or directory"):
        load_config([tmp_path / "none.yaml"], {})
