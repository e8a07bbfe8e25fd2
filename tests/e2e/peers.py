"""
Real programs that stand beside the service in a test: started as processes of their own on free loopback ports, waited
for through their health endpoints, ended through their process ids.
"""

import os
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

READY_WITHIN_S = 60.0
STOP_WITHIN_S = 60.0
POLL_EVERY_S = 0.05
PORTS = range(20_000, 32_000)  # below the range from which the kernel takes ports for outgoing connections


@dataclass(frozen=True)
class Peer:
    """
    A running program. `log` holds all that it wrote.
    """

    process: subprocess.Popen[bytes]
    log: Path

    def stop(self, signum: int = signal.SIGTERM) -> int:
        """
        End the program and return its exit status; one that does not end in time is killed, and that is an error.
        """
        if self.process.poll() is None:
            self.process.send_signal(signum)
        try:
            return self.process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]


class PeerFailed(Exception):
    """
    A program did not start, or did not end well. The message holds the end of its log.
    """

    def __init__(self, peer: Peer, what: str) -> None:
        super().__init__(f"{peer.process.args!r} {what}:\n{peer.end_of_log()}")


@contextmanager
def running(
    command: Sequence[str], log: Path, *, ready: str, environ: Mapping[str, str] | None = None
) -> Iterator[Peer]:
    """
    Run a program for the length of the block, from when the URL *ready* answers with 200. It must end with status 0.
    """
    peer = start(command, log, ready=ready, environ=environ)
    try:
        yield peer
    except BaseException:
        peer.stop(signal.SIGKILL)
        raise
    status = peer.stop()
    if status != 0:
        raise PeerFailed(peer, f"ended with status {status}")


def start(command: Sequence[str], log: Path, *, ready: str, environ: Mapping[str, str] | None = None) -> Peer:
    """
    Start a program and wait until the URL *ready* answers with 200.

    Raises PeerFailed if that does not happen in time.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environ or {})},
        )
    peer = Peer(process, log)
    wait_until(lambda: process.poll() is not None or answers(ready), within_s=READY_WITHIN_S)
    if process.poll() is not None or not answers(ready):
        peer.stop(signal.SIGKILL)
        raise PeerFailed(peer, "did not become ready")
    return peer


def answers(url: str) -> bool:
    """
    Whether a GET of *url* is answered with 200 now.
    """
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], *, within_s: float) -> bool:
    """
    Poll *condition* until it holds; False if it did not within the time.
    """
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_EVERY_S)
    return True


_given_ports: set[int] = set()
"""Whoever asked for a port may not listen on it yet."""


def free_port() -> int:
    """
    A loopback port that nobody listens on, and that was not given before. Not drawn from `random`, which
    pytest-randomly seeds alike in every process.
    """
    for _ in range(100):
        port = secrets.choice(PORTS)
        with socket.socket() as probe:
            if port not in _given_ports and probe.connect_ex(("127.0.0.1", port)) != 0:
                _given_ports.add(port)
                return port
    raise RuntimeError("no free port on the loopback interface")
