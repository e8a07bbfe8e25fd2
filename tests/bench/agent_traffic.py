"""
Synthetic traffic of agent runs, cut into export requests. Deterministic: equal arguments give equal bytes.

A run is one trace of 8 to 60 spans: an agent, chains, model calls, the tool calls that the models asked for, and the
HTTP and database spans below them. Many runs are under way at once, so a request holds spans of many traces and a trace
is spread over many requests; children end, and leave, before their parents. With the profile `content` messages,
arguments and results stand on the spans (about 3.6 KB a span), with `lean` they do not (about 0.8 KB). Some spans,
resources and scopes have fields that OTLP does not know.
"""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from math import exp, log
from random import Random

from bench.corpus import PASS_MARK, Corpus, corpus_of
from msgspec import Struct
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span
from wire_spans import key_values

SECOND_NS = 1_000_000_000
BEGIN_NS = 1_760_000_000_000_000_000
UNKNOWN_FIELD = b"\x9a\x06\x05extra"
"""Field 99 with five bytes."""

TOOLS = ("lookup_order", "refund_policy", "issue_refund", "find_customer", "send_mail", "web_search")
EXPECTED_TOOLS = TOOLS[:2]
VOCABULARY = [
    "order",
    "customer",
    "refund",
    "policy",
    "invoice",
    "account",
    "status",
    "shipping",
    "address",
    "agent",
    "tool",
    "result",
    "error",
    "retry",
    "context",
    "document",
    "summary",
    "answer",
    "question",
    "price",
    "total",
    "date",
    "number",
    "cancel",
    "return",
    "ticket",
    "payment",
    "the",
    "of",
    "to",
    "and",
    "in",
    "is",
    "for",
]
APPLICATION_ATTRIBUTES: tuple[tuple[str, object], ...] = (
    ("thread.id", 140213),
    ("thread.name", "asyncio_0"),
    ("code.function.name", "shop.agents.support.run_step"),
    ("code.file.path", "/srv/shop/agents/support.py"),
    ("code.line.number", 218),
    ("deployment.environment.name", "production"),
    ("session.id", "sess-6b1f0d7e"),
    ("user.id", "user-48211"),
    ("tenant.id", "acme-eu"),
    ("feature_flag.key", "agent-v3"),
    ("feature_flag.result.variant", "on"),
    ("app.request_id", "req-01J9ZK3WQ8"),
    ("app.experiment", "prompt-17b"),
    ("app.retry.count", 0),
    ("app.cache.hit", False),
    ("app.queue.wait_ms", 3.25),
    ("enduser.scope", "support"),
    ("network.protocol.version", "1.1"),
    ("app.region", "eu-west-1"),
    ("app.build", "2025.11.2-4f2c"),
)


LONGEST_TURN = 20
"""No turn of the agent has more spans."""


class Profile(StrEnum):
    """
    What the spans carry.
    """

    CONTENT = "content"
    LEAN = "lean"


class Sort(Struct, frozen=True):
    """
    One sort of span: its name, OTLP kind, service and scope.
    """

    name: str
    otel_kind: int
    service: str
    scope: str


INTERNAL, SERVER, CLIENT = 1, 2, 3
AGENT = Sort("invoke_agent support", SERVER, "support-agent", "openinference.instrumentation.langchain")
CHAIN = Sort("graph.step", INTERNAL, "support-agent", "openinference.instrumentation.langchain")
MODEL = Sort("chat gpt-4o", CLIENT, "support-agent", "opentelemetry.instrumentation.openai_v2")
TOOL = Sort("execute_tool", INTERNAL, "support-agent", "opentelemetry.instrumentation.langchain")
RETRIEVER = Sort("retrieve", INTERNAL, "retrieval", "openinference.instrumentation.langchain")
EMBEDDING = Sort("embeddings", CLIENT, "retrieval", "opentelemetry.instrumentation.openai_v2")
HTTP = Sort("POST", CLIENT, "support-agent", "opentelemetry.instrumentation.httpx")
DATABASE = Sort("SELECT orders", CLIENT, "orders", "opentelemetry.instrumentation.psycopg")


class Sent(Struct, frozen=True):
    """
    A span and where it comes from.
    """

    sort: Sort
    span: Span


def synthetic_corpus(
    profile: Profile, *, batch: int, traces: int = 200, at_once: int = 40, spans: int | None = None, seed: int = 7
) -> Corpus:
    """
    *traces* runs in requests of *batch* spans, *at_once* of them interleaved; each of *spans* spans if that is given.
    """
    random = Random(seed)
    runs = (AgentRun(random, profile, number).all_spans(spans) for number in range(traces))
    requests = map(_request, _batches(_interleaved(random, runs, at_once), batch))
    return corpus_of(f"{profile}-{batch}", requests)


def _interleaved(random: Random, runs: Iterator[list[Sent]], at_once: int) -> Iterator[Sent]:
    """
    A few spans of one run after a few of another, each run in its own order.
    """
    begun = [run[::-1] for _, run in zip(range(at_once), runs, strict=False)]
    while begun:
        place = random.randrange(len(begun))
        for _ in range(min(len(begun[place]), random.randint(1, 5))):
            yield begun[place].pop()
        if not begun[place]:
            begun.pop(place)
            begun += [run[::-1] for _, run in zip(range(1), runs, strict=False)]


def _batches(spans: Iterator[Sent], size: int) -> Iterator[list[Sent]]:
    batch: list[Sent] = []
    for span in spans:
        batch.append(span)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _request(batch: Sequence[Sent]) -> bytes:
    groups: dict[str, dict[str, list[Span]]] = {}
    for sent in batch:
        groups.setdefault(sent.sort.service, {}).setdefault(sent.sort.scope, []).append(sent.span)
    resources = [_resource_spans(service, scopes) for service, scopes in groups.items()]
    return ExportTraceServiceRequest(resource_spans=resources).SerializeToString()


def _resource_spans(service: str, scopes: dict[str, list[Span]]) -> ResourceSpans:
    told = {
        "service.name": service,
        "service.version": "3.2.1",
        "service.namespace": "shop",
        "service.instance.id": f"{service}-7c9d8b6f5-x2x9k",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": "1.38.0",
        "k8s.namespace.name": "shop",
        "k8s.pod.name": f"{service}-7c9d8b6f5-x2x9k",
        "k8s.node.name": "ip-10-0-3-17",
        "cloud.region": "eu-west-1",
        "host.arch": "amd64",
    }
    resource = ResourceSpans(
        resource=Resource(attributes=key_values(told)), schema_url="https://opentelemetry.io/schemas/1.37.0"
    )
    resource.scope_spans.extend(_scope_spans(scope, spans) for scope, spans in scopes.items())
    resource.MergeFromString(UNKNOWN_FIELD)
    return resource


def _scope_spans(scope: str, spans: list[Span]) -> ScopeSpans:
    group = ScopeSpans(spans=spans)
    group.scope.name, group.scope.version = scope, "0.58b0"
    group.scope.MergeFromString(UNKNOWN_FIELD)
    return group


class AgentRun:
    """
    One run of the agent, span by span.
    """

    def __init__(self, random: Random, profile: Profile, number: int) -> None:
        self._random = random
        self._has_content = profile is Profile.CONTENT
        self._trace_id = random.randbytes(12) + PASS_MARK
        self._now_ns = BEGIN_NS + number * SECOND_NS // 20
        self._spans: list[Sent] = []

    def all_spans(self, count: int | None) -> list[Sent]:
        """
        The spans of the run in the order in which they end; *count* of them, or as many as such runs have.
        """
        wanted = count or min(60, max(8, int(self._random.lognormvariate(3.1, 0.55))))
        root = self._random.randbytes(8)
        begun_ns = self._now_ns
        while len(self._spans) < wanted - (LONGEST_TURN if count else 1):
            self._turn(root)
        while count and len(self._spans) < count - 1:
            self._leaf(CHAIN, root, self._chain_attributes())
        self._end(AGENT, root, b"", begun_ns, self._agent_attributes())
        return self._spans

    def _turn(self, root: bytes) -> None:
        """
        One turn of the agent's loop: a chain around a model call and the tools that it asked for.
        """
        chain, begun_ns = self._random.randbytes(8), self._now_ns
        calls = [(self._random.choice(TOOLS), f"call_{self._random.getrandbits(64):016x}") for _ in range(self._few())]
        self._model(chain, calls)
        for name, call_id in calls:
            self._tool(chain, name, call_id)
        if self._random.random() < 0.4:
            self._leaf(RETRIEVER, chain, self._retriever_attributes())
        if self._random.random() < 0.27:
            self._leaf(EMBEDDING, chain, self._embedding_attributes())
        self._end(CHAIN, chain, root, begun_ns, self._chain_attributes())

    def _few(self) -> int:
        return self._random.choices((0, 1, 2), (15, 45, 40))[0]

    def _model(self, parent: bytes, calls: Sequence[tuple[str, str]]) -> None:
        for position in range(1 + (self._random.random() < 0.6)):
            span_id, begun_ns = self._random.randbytes(8), self._now_ns
            if self._random.random() < 0.55:
                self._leaf(HTTP, span_id, self._http_attributes())
            self._end(MODEL, span_id, parent, begun_ns, self._model_attributes(calls if position == 0 else ()))

    def _tool(self, parent: bytes, name: str, call_id: str) -> None:
        span_id, begun_ns = self._random.randbytes(8), self._now_ns
        if self._random.random() < 0.45:
            self._leaf(HTTP, span_id, self._http_attributes())
        if self._random.random() < 0.75:
            self._leaf(DATABASE, span_id, self._database_attributes())
        self._end(TOOL, span_id, parent, begun_ns, self._tool_attributes(name, call_id), name=f"execute_tool {name}")

    def _leaf(self, sort: Sort, parent: bytes, attributes: list[tuple[str, object]]) -> None:
        self._end(sort, self._random.randbytes(8), parent, self._now_ns, attributes)

    def _end(
        self,
        sort: Sort,
        span_id: bytes,
        parent: bytes,
        begun_ns: int,
        attributes: list[tuple[str, object]],
        *,
        name: str = "",
    ) -> None:
        self._now_ns += self._between(1_000_000, 3 * SECOND_NS)
        span = Span(
            trace_id=self._trace_id,
            span_id=span_id,
            parent_span_id=parent,
            name=name or sort.name,
            kind=sort.otel_kind,  # type: ignore[arg-type]  # an enum of protobuf is an int
            start_time_unix_nano=begun_ns,
            end_time_unix_nano=self._now_ns,
            flags=0x101,
            attributes=key_values(dict(self._with_application(attributes))),
        )
        if self._random.random() < 0.05:
            self._fail(span)
        if self._random.random() < 0.02:
            span.MergeFromString(UNKNOWN_FIELD)
        self._spans.append(Sent(sort, span))

    def _with_application(self, attributes: list[tuple[str, object]]) -> list[tuple[str, object]]:
        """
        *attributes* among 10 to 30 in all, as applications add their own.
        """
        spare = self._random.randint(10, 30) - len(attributes)
        added = self._random.sample(APPLICATION_ATTRIBUTES, max(0, min(spare, len(APPLICATION_ATTRIBUTES))))
        return attributes + added

    def _fail(self, span: Span) -> None:
        span.status.code = span.status.STATUS_CODE_ERROR
        span.status.message = "upstream timeout"
        told = {
            "exception.type": "TimeoutError",
            "exception.message": "timed out",
            "exception.stacktrace": self._text(900),
        }
        span.events.add(name="exception", time_unix_nano=self._now_ns, attributes=key_values(told))

    def _between(self, low: int, high: int) -> int:
        """
        Log-uniform: many small values, a few large ones.
        """
        return int(exp(self._random.uniform(log(low), log(high))))

    def _text(self, size: int) -> str:
        words = self._random.choices(VOCABULARY, k=size // 6 + 1)
        return " ".join(words)[:size]

    def _prose(self, low: int, high: int) -> str:
        return self._text(self._between(low, high))

    def _agent_attributes(self) -> list[tuple[str, object]]:
        told: list[tuple[str, object]] = [
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.agent.name", "support"),
            ("gen_ai.agent.id", "asst_5j66UpCpwteGg4YSxUnt7lPY"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.conversation.id", f"conv_{self._random.getrandbits(48):012x}"),
            ("gen_ai.usage.input_tokens", self._random.randrange(40_000)),
        ]
        content = [("input.value", self._prose(60, 1200)), ("output.value", self._prose(100, 2500))]
        return told + (content if self._has_content else [])

    def _model_attributes(self, calls: Sequence[tuple[str, str]]) -> list[tuple[str, object]]:
        told: list[tuple[str, object]] = [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "gpt-4o-2024-08-06"),
            ("gen_ai.response.model", "gpt-4o-2024-08-06"),
            ("gen_ai.response.id", f"chatcmpl-{self._random.getrandbits(96):024x}"),
            ("gen_ai.request.temperature", 0.2),
            ("gen_ai.request.max_tokens", 2048),
            ("gen_ai.usage.input_tokens", self._random.randrange(9000)),
            ("gen_ai.usage.output_tokens", self._random.randrange(1200)),
            ("gen_ai.response.finish_reasons", ["tool_calls" if calls else "stop"]),
            ("server.address", "api.example.com"),
            ("server.port", 443),
        ]
        if self._has_content:
            told.append(("gen_ai.input.messages", self._history()))
            told.append(("gen_ai.output.messages", self._answer(calls)))
        return told

    def _history(self) -> str:
        left = self._between(1500, 16_000)
        messages = [{"role": "system", "parts": [{"type": "text", "content": self._text(left // 4)}]}]
        while left > 0:
            size = self._between(120, 2500)
            left -= size
            messages.append({"role": "user", "parts": [{"type": "text", "content": self._text(size)}]})
        return json.dumps(messages)

    def _answer(self, calls: Sequence[tuple[str, str]]) -> str:
        parts: list[dict[str, object]] = [{"type": "text", "content": self._prose(100, 1500)}]
        for name, call_id in calls:
            arguments = {"query": self._prose(60, 800), "limit": 10}
            parts.append({"type": "tool_call", "id": call_id, "name": name, "arguments": arguments})
        return json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}])

    def _tool_attributes(self, name: str, call_id: str) -> list[tuple[str, object]]:
        told: list[tuple[str, object]] = [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", name),
            ("gen_ai.tool.call.id", call_id),
            ("gen_ai.tool.type", "function"),
        ]
        if self._has_content:
            arguments = json.dumps({"query": self._prose(60, 800), "limit": 10})
            result = json.dumps({"rows": [self._text(200) for _ in range(self._between(1, 25))]})
            told += [("gen_ai.tool.call.arguments", arguments), ("gen_ai.tool.call.result", result)]
        return told

    def _chain_attributes(self) -> list[tuple[str, object]]:
        return [("openinference.span.kind", "CHAIN"), ("step.name", "agent"), ("step.index", len(self._spans))]

    def _retriever_attributes(self) -> list[tuple[str, object]]:
        told: list[tuple[str, object]] = [("openinference.span.kind", "RETRIEVER"), ("retrieval.top_k", 5)]
        for place in range(5 if self._has_content else 0):
            document = f"retrieval.documents.{place}.document."
            told += [(f"{document}score", self._random.random()), (f"{document}content", self._prose(200, 1600))]
        return told

    def _embedding_attributes(self) -> list[tuple[str, object]]:
        return [
            ("gen_ai.operation.name", "embeddings"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "text-embedding-3-small"),
            ("gen_ai.usage.input_tokens", self._random.randrange(300)),
        ]

    def _http_attributes(self) -> list[tuple[str, object]]:
        return [
            ("http.request.method", "POST"),
            ("url.full", "https://api.example.com/v1/chat/completions"),
            ("http.response.status_code", 200),
            ("server.address", "api.example.com"),
            ("server.port", 443),
            ("user_agent.original", "python-httpx/0.28.1"),
        ]

    def _database_attributes(self) -> list[tuple[str, object]]:
        return [
            ("db.system.name", "postgresql"),
            ("db.namespace", "orders"),
            ("db.operation.name", "SELECT"),
            ("db.query.text", "SELECT id, total FROM orders WHERE customer_id = $1 ORDER BY created_at DESC"),
            ("server.address", "pg-primary"),
            ("server.port", 5432),
        ]
