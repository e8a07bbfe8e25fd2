"""
The whole service as a process of its own, for faults that need one: signals, and memory.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from e2e.peers import Peer, start
from e2e.service_process import Addresses, configuration_file


@dataclass(frozen=True)
class ProcessUnderTest:
    """
    A running service. The test ends it, by `stop` or by a kill.
    """

    peer: Peer
    grpc: str

    async def stop(self) -> None:
        """
        SIGTERM, and a good end.
        """
        assert 0 == await asyncio.to_thread(self.peer.stop), self.peer.end_of_log()

    @property
    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self.peer.process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024


@asynccontextmanager
async def a_process(
    directory: Path,
    downstream: str,
    settings: Mapping[str, object],
    *,
    exporter: Mapping[str, object] | None = None,
    addresses: Addresses | None = None,
) -> AsyncIterator[ProcessUnderTest]:
    """
    A service with these *settings* of `tool_scoring`; whatever is left of it at the end of the block is killed.
    """
    addresses = addresses or Addresses()
    file = configuration_file(directory, addresses, downstream, dict(settings))
    overlay = directory / "exporter.yaml"
    overlay.write_text(yaml.safe_dump({"exporters": {"otlp_grpc": dict(exporter or {})}}))
    command = [sys.executable, "-m", "service", "serve", "--config", str(file), "--config", str(overlay)]
    peer = await asyncio.to_thread(start, command, directory / "toolscore.log", ready=addresses.ready)
    try:
        yield ProcessUnderTest(peer, addresses.grpc)
    finally:
        if peer.process.poll() is None:
            peer.process.kill()
            peer.process.wait()
