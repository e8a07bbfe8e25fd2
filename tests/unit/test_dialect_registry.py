"""
The registry of dialects: complete, in order, and the source of the documentation.
"""

import json
from collections import Counter

import pytest
from dialect_views import EXAMPLES, span_view

from proto_adapters.dialects import DIALECTS, dialect_table, scope_may_hold_genai
from proto_adapters.dialects.dialect import inside, matches
from proto_adapters.span_read import read_span


def test_every_dialect_of_the_reference_is_registered_once() -> None:
    ids = [dialect.id for dialect in DIALECTS]

    assert {path.stem for path in EXAMPLES.glob("*.json")} <= set(ids)
    assert [entry for entry, count in Counter(ids).items() if count > 1] == []


@pytest.mark.parametrize("dialect", DIALECTS, ids=[dialect.id for dialect in DIALECTS])
def test_a_dialect_says_how_it_is_known_and_where_its_kind_comes_from(dialect: object) -> None:
    entry = next(known for known in DIALECTS if known is dialect)
    signs = entry.recognised_by

    assert any((signs.scopes, signs.keys, signs.values, signs.events, signs.services))
    assert entry.kind_key or entry.kind_from
    assert entry.title
    assert entry.reads_from


def test_the_documentation_names_every_dialect_its_keys_and_its_blind_spots() -> None:
    table = dialect_table()

    for dialect in DIALECTS:
        assert f"| `{dialect.id}` |" in table
        assert f"### {dialect.title} (`{dialect.id}`)" in table
        assert all(f"`{key}`" in table for key in dialect.recognised_by.keys)
        assert all(blind in table for blind in dialect.cannot_be_seen)


def test_every_value_of_a_kind_key_is_documented() -> None:
    assert "`mlflow.spanType`: `TOOL` TOOL, `LLM` LLM, `CHAT_MODEL` LLM" in dialect_table()


def test_kind_keys_stand_in_the_order_of_step_k2() -> None:
    native = [dialect.kind_key.key for dialect in DIALECTS if dialect.kind_key is not None]

    assert native[:14] == [
        "traceloop.span.kind",
        "langsmith.span.kind",
        "langfuse.observation.type",
        "mlflow.spanType",
        "mastra.span.type",
        "ag2.span.type",
        "spring.ai.kind",
        "genkit:metadata:subtype",
        "ai.operationId",
        "lmnr.span.type",
        "span.type",
        "span.type",
        "braintrust.span_attributes",
        "n8n.node.type",
    ]


INFRASTRUCTURE = [
    "opentelemetry.instrumentation.requests",
    "opentelemetry.instrumentation.httpx",
    "opentelemetry.instrumentation.fastapi",
    "opentelemetry.instrumentation.sqlalchemy",
    "opentelemetry.instrumentation.redis",
    "@opentelemetry/instrumentation-http",
    "@opentelemetry/instrumentation-express",
    "@opentelemetry/instrumentation-pg",
    "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
    "io.opentelemetry.tomcat-10.0",
    "System.Net.Http",
    "OpenTelemetry::Instrumentation::Rack",
]
MAY_HOLD = [
    "",
    "app",
    "opentelemetry.instrumentation.openai.v1",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.botocore.bedrock-runtime",
    "opentelemetry.instrumentation.google_genai",
    "@opentelemetry/instrumentation-openai",
    "@opentelemetry/instrumentation-aws-sdk",
    "requests",
]


@pytest.mark.parametrize("scope", INFRASTRUCTURE)
def test_spans_of_infrastructure_need_no_decoding(scope: str) -> None:
    assert not scope_may_hold_genai(scope)


@pytest.mark.parametrize("scope", MAY_HOLD)
def test_any_other_scope_may_hold_genai_work(scope: str) -> None:
    assert scope_may_hold_genai(scope)


def test_no_scope_of_a_dialect_is_taken_for_infrastructure() -> None:
    scopes = {example["span"].get("scope", "") for example in _examples() if "span" in example}

    assert [scope for scope in scopes if not scope_may_hold_genai(scope)] == []


def _examples() -> list[dict[str, dict[str, str]]]:
    return [entry for path in EXAMPLES.glob("*.json") for entry in json.loads(path.read_text())]


def test_a_span_without_any_sign_is_read_without_a_rule() -> None:
    span = read_span(span_view({"http.route": "/trips", "session.id": "s-9"}, name="GET /trips"))

    assert (span.kind_rule, span.dialects, span.problems, span.session_id) == ("K9", (), (), "s-9")


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [("a*", "ab", True), ("*b", "ab", True), ("*b*", "abc", True), ("ab", "abc", False), ("*", "", True)],
)
def test_a_star_stands_for_any_text(pattern: str, text: str, *, fits: bool) -> None:
    assert matches(pattern, text) is fits


@pytest.mark.parametrize(
    ("template", "name", "found"),
    [
        ("execute_tool {}", "execute_tool x", "x"),
        ("execute_tool {}", "execute_tool ", None),
        ("{}.tool", "x.tool", "x"),
        ("{}.tool", ".tool", None),
        ("{}", "x", "x"),
        ("agent_run [{}]", "agent_run [x]", "x"),
    ],
)
def test_a_template_gives_what_stands_in_it(template: str, name: str, found: str | None) -> None:
    assert inside(template, name) == found
