"""
Evidence lines and annotations come from outside: whatever they hold, only the named errors are raised.
"""

import asyncio
import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from processing import Processing
from replaying import replayed, stored
from wire_spans import agent, tool

from service.annotations import UnreadableAnnotations, read_annotation, read_annotations
from service.evidence_store.contents import evidence_of, facts_of
from service.evidence_store.documents import (
    SCHEMA,
    VERSION,
    EvidenceDocument,
    EvidenceRefused,
    decode_document,
)
from service.replay.files import Record, UnreadableFile, parse_record
from service.scoring.annotations import read_tool_names

names = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | names,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
texts = values.map(lambda value: json.dumps(value).encode()) | st.binary()
near = st.dictionaries(
    st.sampled_from(["schema", "version", "sha256", "calls", "facts", "coverage"]),
    st.just(SCHEMA) | st.just(VERSION) | values,
).map(lambda value: json.dumps(value).encode())
columns = st.dictionaries(st.sampled_from(["expected_tools", "other"]), values, max_size=2)


async def _a_line() -> bytes:
    processing = Processing()
    await processing.send(tool("a"), tool("b"), agent())
    await processing.after(5)
    return stored(processing, processing.last)


LINE = asyncio.run(_a_line())
METRICS = ["multiset_f1", "in_order_match", "redundancy"]
BLOCK = Processing(additional_metrics=METRICS).block
MEMBERS = sorted(msgspec.json.decode(LINE).keys() - {"schema", "sha256"})


def with_digest(members: dict[str, Any]) -> bytes:
    """
    A line as whoever can compute a digest would write it.
    """
    text = msgspec.json.Encoder(order="sorted").encode(members)
    return b'{"schema":"toolscore.evidence","sha256":"%s",' % sha256(text).hexdigest().encode() + text[1:]


@given(texts | near)
@example(b"[" * 100_000)
@example(b'{"schema":"toolscore.evidence","version":1e400}')
@example(b'{"schema":"toolscore.evidence","version":' + b"9" * 5_000 + b"}")
@example(b'{"schema":"toolscore.evidence","version":1,"x":"\\ud800"}')
def test_any_line_is_a_document_or_refused(line: bytes) -> None:
    try:
        decode_document(line)
    except EvidenceRefused:
        return
    raise AssertionError(line)


@given(texts | near)
def test_any_line_of_a_file_is_read_or_unreadable(line: bytes) -> None:
    with suppress(UnreadableFile):
        parse_record(Record("file:1", is_json=True, data=line))


@given(st.integers(0, len(LINE) - 2), st.integers(0, 255))
def test_a_changed_byte_is_refused_or_changes_nothing(position: int, byte: int) -> None:
    changed = LINE[:position] + bytes([byte]) + LINE[position + 1 :]
    try:
        document = decode_document(changed)
    except EvidenceRefused:
        return
    assert decode_document(LINE) == document


@given(st.sampled_from(MEMBERS), values)
@example("nameless_calls", 2**64)
@example("revision", -1)
def test_whatever_fits_its_digest_is_refused_or_scored(member: str, value: Any) -> None:  # noqa: ANN401 # any JSON
    """
    A document that somebody else made, with a right digest.
    """
    members = {key: each for key, each in msgspec.json.decode(LINE).items() if key not in {"schema", "sha256"}}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "evidence.jsonl"
        path.write_bytes(with_digest(members | {member: value}))
        try:
            results = replayed(BLOCK, path)
        except UnreadableFile:
            return
        assert {result.line.evaluation for result in results} <= {"tool_selection_accuracy", *METRICS}


@given(st.binary() | texts | columns.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_an_annotation_or_unreadable(body: bytes) -> None:
    try:
        annotation = read_annotation(body)
    except UnreadableAnnotations:
        return
    assert read_tool_names(annotation["expected_tools"])


@given(st.binary() | texts | st.dictionaries(st.text(), columns | values).map(lambda value: json.dumps(value).encode()))
def test_any_file_is_annotations_or_unreadable(content: bytes) -> None:
    try:
        annotations, problems = read_annotations(content)
    except UnreadableAnnotations:
        return
    for row in annotations.values():
        assert all(isinstance(text, str) for text in row.values())
    assert len(problems) <= len(annotations)


def test_the_line_that_others_are_made_of_is_a_document() -> None:
    document = decode_document(LINE)

    assert 2 == len(evidence_of(document).calls)
    assert "shop" == facts_of(document).service_name
    assert isinstance(document, EvidenceDocument)
