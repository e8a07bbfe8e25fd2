"""
Requests to an OTLP/HTTP receiver, and what it answers.
"""

import io
from collections.abc import AsyncIterator, Mapping

import aiohttp
from google.rpc import status_pb2

from service.receiver.otlp_http import PROTOBUF, OtlpHttpReceiver


class Reply:
    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def error(self) -> status_pb2.Status:
        return status_pb2.Status.FromString(self.body)


async def post(
    receiver: OtlpHttpReceiver,
    body: bytes | AsyncIterator[bytes],
    *,
    path: str = "/v1/traces",
    content_type: str = PROTOBUF,
    encoding: str = "",
    method: str = "POST",
) -> Reply:
    data = io.BytesIO(body) if isinstance(body, bytes) else body
    headers = {"Content-Type": content_type, **({"Content-Encoding": encoding} if encoding else {})}
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
        session.request(method, f"http://localhost:{receiver.port}{path}", data=data, headers=headers) as response,
    ):
        return Reply(response.status, response.headers, await response.read())
