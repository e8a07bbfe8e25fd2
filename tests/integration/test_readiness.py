"""
Readiness of the whole service: lost while nothing can be taken, back when there is room.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import grpc.aio
from doubles import ACCEPTED, CountingRecorder, RecordingConsumer
from grpc_health.v1 import health_pb2, health_pb2_grpc
from wire_spans import agent, trace_request

from service.app.app import App
from service.clock import SystemClock
from service.config import config_from_tree
from service.errors import Refused
from service.pipeline import Signal
from service.receiver.otlp_grpc import SERVICES, GrpcReceiverSettings, OtlpGrpcReceiver

PADDING = {"padding": "x" * 300_000}


def a_service_with_little_room(downstream_port: int) -> App:
    tree: Any = {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": "127.0.0.1:0"}}}},
        "processors": {"tool_scoring": {"max_buffer_mib": 1, "decision_delay": "0s"}},
        "exporters": {
            "otlp_grpc": {
                "endpoint": f"127.0.0.1:{downstream_port}",
                "tls": {"insecure": True},
                "retry_on_failure": {"initial_interval": "50ms", "max_interval": "50ms"},
                "sending_queue": {"queue_size": 1, "num_consumers": 1},
            }
        },
        "extensions": {"health_check": {"endpoint": "127.0.0.1:0"}},
        "service": {
            "extensions": ["health_check"],
            "pipelines": {"traces": {"exporters": ["otlp_grpc"]}},
            "telemetry": {"metrics": {"level": "none"}},
            "shutdown_timeout": "1s",
        },
    }
    return App(config_from_tree(tree, environ={}), SystemClock())


async def becomes(channel: grpc.aio.Channel, status: health_pb2.HealthCheckResponse.ServingStatus.ValueType) -> None:
    """
    Wait until health checks are answered with *status*.
    """
    watched = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=20)
    async for answer in watched:
        if answer.status == status:
            watched.cancel()
            return


async def keep_sending(channel: grpc.aio.Channel) -> None:
    """
    One large trace after the other, whether they are taken or not.
    """
    export = channel.unary_unary(
        f"/{SERVICES[Signal.TRACES]}/Export", request_serializer=None, response_deserializer=None
    )
    for number in itertools.count(1):
        with suppress(grpc.aio.AioRpcError):
            await export(trace_request([agent(trace=number.to_bytes(16, "big"), attributes=PADDING)]))
        await asyncio.sleep(0.05)


@asynccontextmanager
async def running(*parts: App | OtlpGrpcReceiver) -> AsyncIterator[None]:
    for part in parts:
        await part.start()
    try:
        yield
    finally:
        for part in reversed(parts):
            await (part.stop() if isinstance(part, App) else part.stop(0))


async def test_a_service_that_can_take_nothing_is_not_ready_until_it_can() -> None:
    consumer = RecordingConsumer(answer=Refused("queue_full", retry_after_s=0.05))
    downstream = OtlpGrpcReceiver(GrpcReceiverSettings(endpoint="127.0.0.1:0"), consumer, CountingRecorder())
    async with running(downstream):
        service = a_service_with_little_room(downstream.port)
        async with running(service), channel_to(service) as channel:
            sending = asyncio.create_task(keep_sending(channel))
            await becomes(channel, health_pb2.HealthCheckResponse.NOT_SERVING)
            assert not service.health.is_ready(SystemClock().monotonic_ns())

            consumer.answer = ACCEPTED
            await becomes(channel, health_pb2.HealthCheckResponse.SERVING)
            assert service.health.is_ready(SystemClock().monotonic_ns())
            sending.cancel()


def channel_to(service: App) -> grpc.aio.Channel:
    return grpc.aio.insecure_channel(f"127.0.0.1:{service.receivers.grpc_ports[0]}")
