"""
Builds the programs of the end-to-end tests that come as Go modules, once for each state of their sources: the
Collector, and Jaeger, the trace view of docker-compose.yml.

A program stands in a cache outside the checkout, under a name that holds the digest of its sources: a change of a
module or a component builds a new one, and several checkouts share one. As a script it builds what it is told to,
`collector` or `jaeger`, and prints where it is.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parent
BUILD_TIMEOUT_S = 1800
COMPILERS_AT_ONCE = "2"
PACKAGES = {"collector": ".", "jaeger": "github.com/jaegertracing/jaeger/cmd/jaeger"}


def why_not() -> str | None:
    """
    Why no Collector can be had here, or None.
    """
    if shutil.which("go") is None and not _program("collector").exists():
        return "Go is missing: no real Collector can be built"
    return None


def collector_program() -> Path:
    return built("collector")


def built(name: str) -> Path:
    """
    The executable of one of `PACKAGES`, built now if it is not in the cache.
    """
    program = _program(name)
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    with program.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _build(program, SOURCES / name, PACKAGES[name])
    return program


def _build(program: Path, sources: Path, package: str) -> None:
    unfinished = program.with_suffix(".unfinished")
    command = ["go", "build", "-p", COMPILERS_AT_ONCE, "-trimpath", "-buildvcs=false", "-ldflags=-s -w"]
    subprocess.run([*command, "-o", str(unfinished), package], cwd=sources, check=True, timeout=BUILD_TIMEOUT_S)
    unfinished.rename(program)


def _program(name: str) -> Path:
    digest = hashlib.sha256()
    for source in sorted((SOURCES / name).iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return cache_directory() / f"{name}-{digest.hexdigest()[:16]}"


def cache_directory() -> Path:
    """
    Where programs built for the tests are kept between runs.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolscore"


if __name__ == "__main__":
    sys.stdout.writelines(f"{built(name)}\n" for name in sys.argv[1:])
