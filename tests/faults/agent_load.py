"""
Load for the fault suite: agent runs as requests, and a sender that does what OTLP asks of a client.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from typing import Self, cast

import grpc
import grpc.aio
from doubles import details_of
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from wire_spans import agent, tool, trace_request

from service.exporter.otlp_grpc import read_retry_info

EXPORT_TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
RETRYABLE = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
LONGEST_PAUSE_S = 0.05
"""Tests wait no longer than this where a server asks for seconds."""


def trace_id(number: int) -> bytes:
    return (number + 1).to_bytes(16, "big")


def agent_run(number: int, *, padding: int = 0, tools: Sequence[str] = ("a", "b")) -> list[bytes]:
    """
    The spans of one agent run: a call of each tool, then the agent. *padding* is added to the attributes of each.

    Each has a status, if an empty one: a Collector writes it, and spans are compared byte for byte.
    """
    extra = {"padding": "x" * padding} if padding else {}
    trace = trace_id(number)
    calls = [
        tool(name, trace=trace, start=place, end=place + 0.5, attributes=extra, status=Status())
        for place, name in enumerate(tools)
    ]
    return [*calls, agent(trace=trace, attributes=extra, status=Status())]


def agent_runs(count: int, *, first: int = 0, padding: int = 0) -> list[bytes]:
    """
    One request for each of *count* agent runs.
    """
    return [trace_request(agent_run(number, padding=padding)) for number in range(first, first + count)]


class Sender:
    """
    An OTLP/gRPC client that tries again what may be tried again, and knows what was accepted.
    """

    def __init__(self, endpoint: str, *, attempts: int = 10_000) -> None:
        self._channel = grpc.aio.insecure_channel(endpoint, options=[("grpc.max_reconnect_backoff_ms", 200)])
        self._export = self._channel.unary_unary(EXPORT_TRACES, request_serializer=None, response_deserializer=None)
        self._attempts = attempts
        self.accepted: list[bytes] = []
        self.in_doubt: list[bytes] = []
        self.is_stopped = False
        """Set, nothing more is sent."""
        self.refusals: Counter[str] = Counter()
        self.hinted = 0
        """Refusals that said when to come again."""
        self.rejected_spans = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close(grace=None)

    async def send(self, request: bytes) -> bool:
        """
        Send until it is accepted; False if it was refused for good or too often. Then it may have been taken or not.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                answer = await cast("Awaitable[bytes]", self._export(request, timeout=20))
            except grpc.aio.AioRpcError as error:
                if not await self._may_repeat(error, is_last=attempt == self._attempts):
                    break
                continue
            self.accepted.append(request)
            self.rejected_spans += ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans
            return True
        self.in_doubt.append(request)
        return False

    async def _may_repeat(self, error: grpc.aio.AioRpcError, *, is_last: bool) -> bool:
        self.refusals[error.code().name] += 1
        pause_ns = read_retry_info(details_of(error))
        self.hinted += pause_ns is not None
        if is_last or self.is_stopped or (error.code() not in RETRYABLE and pause_ns is None):
            return False
        await asyncio.sleep(LONGEST_PAUSE_S if pause_ns is None else min(LONGEST_PAUSE_S, pause_ns / 1e9))
        return True

    async def send_all(self, requests: Iterable[bytes], *, at_once: int = 8) -> None:
        """
        Send all, several at a time.
        """
        waiting = iter(list(requests))

        async def work() -> None:
            for request in waiting:
                if self.is_stopped:
                    return
                await self.send(request)

        await asyncio.gather(*(work() for _ in range(at_once)))


def shuffled(spans: Iterable[bytes], seed: int) -> list[bytes]:
    mixed = list(spans)
    random.Random(seed).shuffle(mixed)
    return mixed
