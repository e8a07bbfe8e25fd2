"""
Services to compare with: what Python and gRPC cost before a service does anything.

`null` acknowledges raw bytes, `parse` also parses each request with protobuf, `forward` sends the same bytes on and
then acknowledges. Each runs as a process of its own: `python -m bench.yardsticks null --port 4317`.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Annotated, Any

import grpc
import grpc.aio
import typer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACES, LOGS, METRICS = (
    f"opentelemetry.proto.collector.{name}.v1.{name.capitalize()}Service" for name in ("trace", "logs", "metrics")
)
EXPORT_TRACES = f"/{TRACES}/Export"
UNLIMITED = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
    ("grpc.use_local_subchannel_pool", 1),
)
Export = Callable[[bytes, Any], Awaitable[bytes]]


class Yardstick(StrEnum):
    """
    What a service does with a request.
    """

    NULL = "null"
    PARSE = "parse"
    FORWARD = "forward"


async def acknowledge(request: bytes, context: object) -> bytes:
    """
    Take anything and look at nothing.
    """
    del request, context
    return b""


def export_of(yardstick: Yardstick, target: str) -> Export:
    """
    What *yardstick* does with the bytes of a request.
    """
    parse = ExportTraceServiceRequest.FromString
    forward = grpc.aio.insecure_channel(target, options=UNLIMITED).unary_unary(EXPORT_TRACES, bytes, bytes)

    async def parse_export(request: bytes, context: object) -> bytes:
        del context
        parse(request)
        return b""

    async def forward_export(request: bytes, context: object) -> bytes:
        del context
        await forward(request, timeout=30)
        return b""

    return {Yardstick.NULL: acknowledge, Yardstick.PARSE: parse_export, Yardstick.FORWARD: forward_export}[yardstick]


async def serve(export: Export, port: int) -> grpc.aio.Server:
    """
    Serve *export* on a loopback port; what comes for other signals than traces is acknowledged.
    """
    server = grpc.aio.server(options=UNLIMITED)
    methods = {TRACES: export, LOGS: acknowledge, METRICS: acknowledge}
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler(service, {"Export": grpc.unary_unary_rpc_method_handler(method)})
            for service, method in methods.items()
        ]
    )
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    return server


async def _run(yardstick: Yardstick, port: int, target: str) -> None:
    server = await serve(export_of(yardstick, target), port)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()
    await server.stop(1)


def main(
    yardstick: Yardstick,
    port: Annotated[int, typer.Option()],
    target: Annotated[str, typer.Option(help="Where `forward` sends to.")] = "127.0.0.1:1",
) -> None:
    asyncio.run(_run(yardstick, port, target))


if __name__ == "__main__":
    typer.run(main)
