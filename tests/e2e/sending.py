"""
Sends serialised OTLP requests as they are, over gRPC or HTTP.
"""

import urllib.request
from collections.abc import Iterable

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

EXPORT_TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
ANSWER_WITHIN_S = 30


def send_over_grpc(target: str, requests: Iterable[bytes]) -> None:
    """
    Send trace requests one after the other. Each must be taken whole.
    """
    with grpc.insecure_channel(target) as channel:
        export = channel.unary_unary(
            EXPORT_TRACES, request_serializer=None, response_deserializer=ExportTraceServiceResponse.FromString
        )
        for request in requests:
            answer = export(request, timeout=ANSWER_WITHIN_S, wait_for_ready=True)
            assert 0 == answer.partial_success.rejected_spans


def send_over_http(target: str, requests: Iterable[bytes]) -> None:
    """
    Send trace requests one after the other, as binary protobuf. Each must be taken whole.
    """
    for body in requests:
        request = urllib.request.Request(
            f"http://{target}/v1/traces", data=body, headers={"Content-Type": "application/x-protobuf"}
        )
        with urllib.request.urlopen(request, timeout=ANSWER_WITHIN_S) as response:
            answer = ExportTraceServiceResponse.FromString(response.read())
        assert 0 == answer.partial_success.rejected_spans
