"""
What comes from files and from evaluation harnesses, as functions of bytes: evidence lines, annotation files and bodies.

A target returns whether the bytes were taken. Whatever else than a refusal by name it raises is a defect.
"""

from hashlib import sha256
from typing import Any

import msgspec
from processing import Processing

from service.annotations import UnreadableAnnotations, read_annotation, read_annotations
from service.app.processing import build_assessor
from service.evidence_store.documents import SCHEMA, EvidenceRefused, decode_document, encode_document
from service.replay.results import results_of_document
from service.scoring.annotations import EXPECTED_TOOLS_COLUMN, read_tool_names

SETTINGS: dict[str, Any] = {
    "additional_metrics": ["multiset_f1", "in_order_match", "redundancy", "tool_success_rate"],
    "expectations": [
        {
            "name": "plan",
            "match": {"service_name": "sh*", "attributes": {"kind": "*"}},
            "partition": "both",
            "expected_tools": [{"name": "a", "arguments": {"x": 1}}],
            "conditions": [
                {"condition_type": "tools_called_in_order", "tools": ["a", "b"]},
                {"condition_type": "tool_call_count", "tools": [{"name": "a", "max": 2}]},
            ],
        }
    ],
}
ASSESSOR = build_assessor(Processing(**SETTINGS).block)


def evidence_line(data: bytes) -> bool:
    """
    A line of an evidence file, as it is and with a digest that fits: refused, or scored.
    """
    taken = _scores(data)
    try:
        members = msgspec.json.decode(data)
        members.pop("sha256", None)
        members.pop("schema", None)
        text = msgspec.json.Encoder(order="sorted").encode(members)
    except (ValueError, RecursionError, AttributeError, TypeError, OverflowError):
        return taken
    digest = sha256(text).hexdigest()
    head = f'{{"schema":"{SCHEMA}","sha256":"{digest}",'.encode()
    return _scores(head + text[1:]) or taken


def _scores(line: bytes) -> bool:
    try:
        document = decode_document(line)
    except EvidenceRefused:
        return False
    for result in results_of_document(document, ASSESSOR, is_superseded=False):
        assert result.line.to_json()
    assert decode_document(encode_document(document)) == document
    return True


def annotation_body(data: bytes) -> bool:
    """
    The body of `PUT /v1/annotations/{id}`: what is taken names at least one tool.
    """
    try:
        annotation = read_annotation(data)
    except UnreadableAnnotations:
        return False
    assert read_tool_names(annotation[EXPECTED_TOOLS_COLUMN])
    return True


def annotations_file(data: bytes) -> bool:
    """
    An `annotations_file`: text columns, and problems of its occurrences only.
    """
    try:
        annotations, problems = read_annotations(data)
    except UnreadableAnnotations:
        return False
    assert len(problems) <= len(annotations)
    assert all(isinstance(text, str) for row in annotations.values() for text in row.values())
    return True
