"""
`/v1/annotations/{id}` on the OTLP/HTTP listener of the running service: before the spans, after them, with mistakes.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from doubles import eventually
from wire_spans import TRACE, agent, tool, trace_request

from service.app.app import App
from service.clock import SystemClock
from service.config import config_from_tree
from service.evidence_store.documents import decode_document
from service.processor.outputs import Scored

SPANS = trace_request([tool("a"), agent()])
ID = TRACE.hex()


class Service:
    """
    A running service, as a client sees it.
    """

    app: App

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self.closings: list[Scored] = []

    def scored(self, scored: Scored) -> None:
        self.closings.append(scored)

    async def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        url = f"http://localhost:{self.app.receivers.http_ports[0]}{path}"
        async with self._session.request(method, url, data=body, headers=headers) as answer:
            content = await answer.read()
            return answer.status, await answer.json() if content else None

    async def put(self, occurrence: str, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        return await self.request("PUT", f"/v1/annotations/{occurrence}", body, headers)

    async def send_spans(self) -> None:
        url = f"http://localhost:{self.app.receivers.http_ports[0]}/v1/traces"
        async with self._session.post(url, data=SPANS, headers={"content-type": "application/x-protobuf"}) as answer:
            assert 200 == answer.status

    async def results(self, count: int) -> list[tuple[str | None, float | None, int]]:
        await eventually(lambda: len(self.closings) >= count)
        return [
            (closing.assessment.evaluations[0].expectation, closing.assessment.evaluations[0].score, closing.revision)
            for closing in self.closings
        ]


@asynccontextmanager
async def serving(http: dict[str, Any] | None = None, **tree: Any) -> AsyncIterator[Service]:  # noqa: ANN401 # YAML
    scoring: Any = {"decision_delay": "50ms", "tool_selection_accuracy": {"expected_tools": ["a", "b"]}}
    protocols: Any = {"http": {"endpoint": "localhost:0", **(http or {})}}
    whole: Any = {
        "receivers": {"otlp": {"protocols": protocols}},
        "processors": {"tool_scoring": scoring | tree.pop("tool_scoring", {})},
        "service": {"telemetry": {"metrics": {"level": "none"}}, **tree.pop("service", {})},
        **tree,
    }
    config = config_from_tree(whole, environ={})
    async with ClientSession() as session:
        service = Service(session)
        app = service.app = App(config, SystemClock(), [service])
        try:
            await app.start()
            yield service
        finally:
            await app.stop()


async def test_an_annotation_set_before_the_spans_decides_the_score() -> None:
    async with serving() as service:
        assert (200, {"occurrence": ID, "expected_tools": ["a"]}) == await service.put(ID, b'{"expected_tools": "a"}')

        await service.send_spans()

        assert [("annotation", 1.0, 0)] == await service.results(1)


async def test_an_annotation_set_after_the_verdict_revises_it() -> None:
    async with serving() as service:
        await service.send_spans()
        assert [("run", 0.5, 0)] == await service.results(1)

        await service.put(ID.upper(), b'{"expected_tools": ["a"]}')

        assert [("run", 0.5, 0), ("annotation", 1.0, 1)] == await service.results(2)


async def test_an_annotation_is_shown_and_taken_back() -> None:
    async with serving() as service:
        path = "/v1/annotations/session%2F1"
        assert 404 == (await service.request("GET", path))[0]
        await service.put("session%2F1", b'{"expected_tools": ["a"]}')

        assert (200, {"occurrence": "session/1", "expected_tools": ["a"]}) == await service.request("GET", path)
        assert (204, None) == await service.request("DELETE", path)
        assert (404, 404) == ((await service.request("DELETE", path))[0], (await service.request("GET", path))[0])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"not JSON", "the body is not JSON"),
        (b'{"expected_tools": [1]}', "expected_tools: should be a list of tool names"),
        (b'{"expected": ["a"]}', "expected: unknown key"),
    ],
)
async def test_a_malformed_annotation_is_answered_400_with_path_and_reason(body: bytes, message: str) -> None:
    async with serving() as service:
        status, answer = await service.put(ID, body)

        assert (400, 3) == (status, answer["code"])
        assert answer["message"].startswith(message)
        await service.send_spans()
        assert [("run", 0.5, 0)] == await service.results(1)


async def test_a_body_that_is_too_large_and_an_id_that_is_too_long_are_refused() -> None:
    async with serving() as service:
        assert 413 == (await service.put(ID, b" " * 70_000))[0]
        assert 400 == (await service.put("x" * 2_000, b'{"expected_tools": ["a"]}'))[0]


async def test_the_authentication_of_the_listener_holds_for_annotations() -> None:
    token = {"extensions": {"bearertokenauth": {"token": "s3cret"}}, "service": {"extensions": ["bearertokenauth"]}}
    async with serving({"auth": {"authenticator": "bearertokenauth"}}, **token) as service:
        body = b'{"expected_tools": ["a"]}'

        assert 401 == (await service.put(ID, body))[0]
        assert 200 == (await service.put(ID, body, {"authorization": "Bearer s3cret"}))[0]


async def test_the_endpoint_can_be_switched_off() -> None:
    async with serving(tool_scoring={"annotations_api": {"enabled": False}}) as service:
        assert 404 == (await service.put(ID, b'{"expected_tools": ["a"]}'))[0]


async def test_the_file_is_followed_while_the_service_runs(tmp_path: Path) -> None:
    path = tmp_path / "annotations.yaml"
    path.write_text(f"{ID}: {{expected_tools: [a, z]}}")
    async with serving(tool_scoring={"annotations_file": str(path)}) as service:
        await service.send_spans()
        assert [("annotation", 0.5, 0)] == await service.results(1)

        path.write_text(f"{ID}: {{expected_tools: a}}")

        assert ("annotation", 1.0, 1) == (await service.results(2))[-1]


async def test_evidence_is_written_with_the_annotation_that_counted(tmp_path: Path) -> None:
    path = tmp_path / "evidence.jsonl"
    async with serving(tool_scoring={"evidence": {"file": str(path)}}) as service:
        await service.put(ID, b'{"expected_tools": ["a"]}')
        await service.send_spans()
        await service.results(1)

    (document,) = (decode_document(line) for line in path.read_bytes().splitlines())
    assert ({"expected_tools": '["a"]'}, "root_span") == (document.facts.annotation, document.trigger)
