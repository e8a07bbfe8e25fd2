"""
Files that replay reads: their forms, and what is said of a broken one.
"""

import gzip
from pathlib import Path

import pytest
from replaying import framed
from wire_spans import agent, log_request, tool, trace_request

from proto_adapters.otlp_json import logs_to_json, traces_to_json
from service.pipeline import Signal
from service.replay.files import UnreadableFile, read_records, read_requests

REQUEST = trace_request([tool("a"), agent()])
LOGS = log_request("chat", "anything", {"x": "y"})
LINES = f"{traces_to_json(REQUEST)}\n\n{logs_to_json(LOGS)}\n".encode()


@pytest.mark.parametrize(
    ("name", "content", "signals"),
    [
        ("lines.jsonl", LINES, [Signal.TRACES, Signal.LOGS]),
        ("lines.jsonl.gz", gzip.compress(LINES), [Signal.TRACES, Signal.LOGS]),
        ("without_line_break.jsonl", LINES.strip(), [Signal.TRACES, Signal.LOGS]),
        ("byte_order_mark.jsonl", b"\xef\xbb\xbf" + LINES, [Signal.TRACES, Signal.LOGS]),
        ("blank_first.jsonl", b"\n \n" + LINES, [Signal.TRACES, Signal.LOGS]),
        ("requests.pb", framed([REQUEST, REQUEST]), [Signal.TRACES, Signal.TRACES]),
        ("requests.pb.gz", gzip.compress(framed([REQUEST])), [Signal.TRACES]),
        ("empty", b"", []),
        ("empty_request.jsonl", b"{}\n" + LINES, [Signal.TRACES, Signal.TRACES, Signal.LOGS]),
    ],
)
def test_lines_and_frames_are_read_gzipped_or_not(
    name: str, content: bytes, signals: list[Signal], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    assert signals == [request.signal for request in read_requests(path)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LINES + b"{", ":4: "),
        (b'{"resourceSpans": 7}', ":1: "),
        (b'{"anything": []}', ":1: neither resourceSpans nor resourceLogs nor resourceMetrics"),
        (b'{"schema":"toolscore.evidence","version":1}', ":1: was changed after it was written"),
        (framed([REQUEST]) + b"\0\0", "request 2 is cut"),
        (framed([REQUEST])[:-1], "request 1 is cut"),
        (gzip.compress(LINES)[:-9], "recorded: "),
        (gzip.compress(LINES)[:30] + b"\0" * 30, "recorded: "),
    ],
    ids=["cut line", "no list", "other JSON", "edited evidence", "cut length", "cut frame", "cut gzip", "broken gzip"],
)
def test_a_broken_file_is_told_with_its_place(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "recorded"
    path.write_bytes(content)

    with pytest.raises(UnreadableFile, match=message):
        list(read_requests(path))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="No such file"):
        list(read_records(tmp_path / "absent"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_progress_adds_up_to_the_file(pack: type[bytes], tmp_path: Path) -> None:
    path = tmp_path / "recorded"
    path.write_bytes(pack(framed([REQUEST] * 1_000)))
    steps: list[int] = []

    for _ in read_records(path, steps.append):
        pass

    assert path.stat().st_size == sum(steps)
