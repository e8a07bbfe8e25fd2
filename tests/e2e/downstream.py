"""
A next hop for tests that speaks OTLP/gRPC and answers as the spans themselves ask for.

A request with a span named `refuse me` is refused for good, one with `part of me` is taken but for one span, one with
`not yet` is put off once. Everything else is taken.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from service.receiver.otlp_grpc import SERVICES

Context = grpc.ServicerContext
REFUSED, PARTLY, PUT_OFF = "refuse me", "part of me", "not yet"


class _Answers:
    """
    The answers, by what a request holds.
    """

    def __init__(self) -> None:
        self._has_put_off = False

    def export(self, request: bytes, context: Context) -> bytes:
        if REFUSED.encode() in request:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "such a span is not wanted")
        if PUT_OFF.encode() in request and not self._has_put_off:
            self._has_put_off = True
            context.abort(grpc.StatusCode.UNAVAILABLE, "later")
        rejected = 1 if PARTLY.encode() in request else 0
        partial = ExportTracePartialSuccess(rejected_spans=rejected)
        return ExportTraceServiceResponse(partial_success=partial).SerializeToString()


def _services(export: Callable[[bytes, Context], bytes]) -> "Iterator[grpc.GenericRpcHandler[bytes, bytes]]":
    for name in SERVICES.values():
        method = grpc.unary_unary_rpc_method_handler(export)
        yield grpc.method_handlers_generic_handler(name, {"Export": method})


@contextmanager
def downstream() -> Iterator[str]:
    """
    Such a next hop on a free loopback port; its address.
    """
    server = grpc.server(ThreadPoolExecutor(4), handlers=list(_services(_Answers().export)))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()
