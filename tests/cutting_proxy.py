"""
A network that fails: a proxy on loopback that cuts connections in the middle of a message.
"""

import asyncio
import contextlib
from typing import Self


class CuttingProxy:
    """
    Passes bytes on to a port of loopback, but ends its first *cuts* connections after some bytes from the client.
    """

    def __init__(self, target_port: int, *, cuts: int, after: int) -> None:
        self._target_port = target_port
        self._cuts = cuts
        self._after = after
        self.port = 0
        self.connections = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "localhost", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.connections <= self._cuts:
            await self._cut(reader, writer)
            return
        target_reader, target_writer = await asyncio.open_connection("localhost", self._target_port)
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(_pipe(reader, target_writer), _pipe(target_reader, writer))

    async def _cut(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """After as many bytes as the client will send: it may be waiting for an answer before it sends more."""
        target_reader, target_writer = await asyncio.open_connection("localhost", self._target_port)
        back = asyncio.create_task(_pipe(target_reader, writer))
        passed = 0
        while passed < self._after and (data := await reader.read(self._after - passed)):
            passed += len(data)
            target_writer.write(data)
        back.cancel()
        await asyncio.wait([back])
        target_writer.transport.abort()
        writer.transport.abort()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
