"""
Recordings of real agents with the truth that the programs logged themselves (`data/recordings/README.md`).

A recording is what a Collector's file exporter writes; here it becomes serialised requests again, which go through the
real decoder.
"""

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from proto_adapters.canonical import CanonicalSpan, CanonicalTrace, LogCompletion, Origin
from proto_adapters.otlp_decode import view_log, view_span
from proto_adapters.otlp_json import logs_from_json, traces_from_json
from proto_adapters.span_read import ReadOptions, read_log, read_span
from proto_adapters.split import OriginTable, split_logs, split_traces
from proto_adapters.trace_assembly import AssemblyOptions, assemble

FOLDER = Path(__file__).parent / "data" / "recordings"
BUNDLES = tuple(sorted(path.relative_to(FOLDER).as_posix().removesuffix(".tar.xz") for path in FOLDER.glob("*/*.xz")))
"""`python/autogen`, `javascript/mastra`, …: one bundle holds the scenarios of one framework and instrumentation."""


class Run(Struct, frozen=True):
    """
    One real run of a tool function, as that function logged it.
    """

    name: str
    start_ns: int
    end_ns: int | None
    """`None` if the program was killed inside."""
    failed: bool


class Truth(Struct, frozen=True):
    """
    What the program really did.
    """

    runs: tuple[Run, ...]
    requested: tuple[str, ...]
    """Names of the calls that the model's answers asked for, in order."""
    session_ids: frozenset[str]
    """Session ids that the sender put into the recording."""

    @property
    def called(self) -> list[str]:
        return sorted(run.name for run in self.runs)

    @property
    def delegated(self) -> list[str]:
        """
        Names asked for that are no function of ours: agents used as tools and tools of the framework itself.
        """
        return sorted(set(self.requested) - {run.name for run in self.runs})


class Recording(Struct, frozen=True):
    """
    One scenario of one bundle.
    """

    bundle: str
    scenario: str
    requests: tuple[bytes, ...]
    log_requests: tuple[bytes, ...]
    truth: Truth

    @property
    def id(self) -> str:
        return f"{self.bundle}/{self.scenario}"


@cache
def recordings(bundle: str) -> tuple[Recording, ...]:
    """
    The scenarios of *bundle*, by name.
    """
    files = _unpacked(FOLDER / f"{bundle}.tar.xz")
    scenarios = sorted(name.removesuffix(".expected.json") for name in files if name.endswith(".expected.json"))
    return tuple(_recording(bundle, scenario, files) for scenario in scenarios)


def recording(path: str) -> Recording:
    """
    The recording at `group/folder/scenario`.
    """
    bundle, _, scenario = path.rpartition("/")
    return next(found for found in recordings(bundle) if found.scenario == scenario)


def _unpacked(archive: Path) -> Mapping[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes()), mode="r:xz") as bundle:
        return {member.name: _content(bundle, member) for member in bundle.getmembers()}


def _content(bundle: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = bundle.extractfile(member)
    assert file is not None
    return file.read()


def _recording(bundle: str, scenario: str, files: Mapping[str, bytes]) -> Recording:
    traces = files[f"{scenario}.jsonl"].splitlines()
    logs = files.get(f"{scenario}.logs.jsonl", b"").splitlines()
    told = json.loads(files[f"{scenario}.expected.json"])
    return Recording(
        bundle=bundle,
        scenario=scenario,
        requests=tuple(traces_from_json(line) for line in traces if line),
        log_requests=tuple(logs_from_json(line) for line in logs if line),
        truth=_python_truth(told) if bundle.startswith("python/") else _javascript_truth(told),
    )


def _python_truth(told: dict[str, Any]) -> Truth:
    has_session = bool(told["recording"].get("keys_with_the_session_id"))
    return Truth(
        runs=tuple(_python_run(call) for call in told["tool_calls"]),
        requested=_requested(told),
        session_ids=frozenset([told["session_id"]]) if has_session else frozenset(),
    )


def _python_run(call: dict[str, Any]) -> Run:
    end = call["end_unix_nano"]
    return Run(call["name"], int(call["start_unix_nano"]), int(end) if end else None, call["status"] != "ok")


def _javascript_truth(told: dict[str, Any]) -> Truth:
    return Truth(
        runs=tuple(_javascript_run(run) for run in told["executed_tools"]),
        requested=_requested(told),
        session_ids=frozenset(told["session"]["values_in_recording"]),
    )


def _javascript_run(run: dict[str, Any]) -> Run:
    return Run(run["name"], int(run["start_unix_nano"]), int(run["end_unix_nano"]), not run["ok"])


def _requested(told: dict[str, Any]) -> tuple[str, ...]:
    return tuple(call["name"] for response in told["model_responses"] for call in response["tool_calls"])


def raw_spans(recorded: Recording) -> Iterator[tuple[Origin, bytes]]:
    """
    Every span of a recording as it came, with its origin.
    """
    origins = OriginTable()
    for request in recorded.requests:
        for origin, spans in split_traces(request, origins).groups:
            for span in spans:
                yield origin, span


def read_spans(recorded: Recording, options: ReadOptions | None = None) -> Iterator[CanonicalSpan]:
    """
    Every span of a recording, through the real decoder. A span that was sent again is read again.
    """
    for origin, span in raw_spans(recorded):
        view = view_span(span, origin)
        assert view is not None
        yield read_span(view, options or ReadOptions())


def read_logs(recorded: Recording, options: ReadOptions | None = None) -> Iterator[LogCompletion]:
    """
    What the log records of a recording tell of completions.
    """
    origins = OriginTable()
    for request in recorded.log_requests:
        for origin, records in split_logs(request, origins).groups:
            for record in records:
                view = view_log(record, origin)
                completion = view and read_log(view, options or ReadOptions())
                if completion:
                    yield completion


def traces(recorded: Recording, options: AssemblyOptions | None = None) -> tuple[CanonicalTrace, ...]:
    """
    The traces of a recording, assembled, by trace id.
    """
    by_trace: dict[bytes, dict[bytes, CanonicalSpan]] = {}
    for span in read_spans(recorded):
        by_trace.setdefault(span.trace_id, {}).setdefault(span.span_id, span)
    logs = list(read_logs(recorded))
    return tuple(
        assemble(
            list(by_trace[trace_id].values()),
            [log for log in logs if log.trace_id == trace_id],
            options or AssemblyOptions(),
        )
        for trace_id in sorted(by_trace)
    )
