"""
Annotations as people and harnesses write them: a file of many, or the body of a request for one.

Pure. Whatever is written becomes text columns, as in the `annotations` of the configuration. In a file a mistake in one
annotation fails its occurrence only (design §7); a request for one annotation is refused instead.
"""

import json
import re
from collections.abc import Mapping, Sequence

import msgspec

from service.config.yaml_reader import read_yaml
from service.scoring.annotations import (
    EXPECTED_TOOLS_COLUMN,
    AnnotationInvalid,
    find_annotation_problems,
    read_tool_names,
)

Columns = Mapping[str, str]
Problems = Sequence[tuple[str, str]]

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_ID_LENGTH = 1_024
TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")
UNREADABLE = "[null]"
"""A text that is no list of names, in place of what is no text at all."""


class UnreadableAnnotations(ValueError):
    """
    A file or a request body as a whole holds no annotations. The message tells the path and the reason.
    """


def occurrence_id(text: str) -> str:
    """
    A trace id in lower case; any other id is a session's and stays as it is.
    """
    return text.lower() if TRACE_ID.fullmatch(text) else text


def read_annotations(content: bytes) -> tuple[dict[str, Columns], Problems]:
    """
    All annotations of a YAML or JSON file, and (path, message) for each that will fail its occurrence.

    Raises `UnreadableAnnotations` and nothing else.
    """
    tree = _read_tree(content)
    if tree is None:
        return {}, []
    if not isinstance(tree, dict):
        raise UnreadableAnnotations("should be a mapping of trace or session ids")
    annotations = {occurrence_id(str(key)): _columns(row) for key, row in tree.items()}
    return annotations, find_annotation_problems(annotations)


def _read_tree(content: bytes) -> object:
    if len(content) > MAX_FILE_BYTES:
        raise UnreadableAnnotations(f"is larger than {MAX_FILE_BYTES} bytes")
    try:
        return msgspec.json.decode(content)
    except (ValueError, RecursionError):
        pass  # a YAML mapping may begin like a JSON object
    try:
        return read_yaml(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UnreadableAnnotations(f"is neither JSON nor YAML: {error}") from None


def _columns(row: object) -> Columns:
    if not isinstance(row, dict):
        return {EXPECTED_TOOLS_COLUMN: UNREADABLE}
    return {str(column): _text(value) for column, value in row.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, list) else UNREADABLE


def read_annotation(body: bytes) -> Columns:
    """
    The annotation of one occurrence: `{"expected_tools": ["a", "b"]}`, or the names as one text.

    Raises `UnreadableAnnotations` and nothing else.
    """
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableAnnotations(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UnreadableAnnotations("the body should be a JSON object")
    if unknown := sorted(value.keys() - {EXPECTED_TOOLS_COLUMN}):
        raise UnreadableAnnotations(f"{unknown[0]}: unknown key; the body may hold {EXPECTED_TOOLS_COLUMN} only")
    return {EXPECTED_TOOLS_COLUMN: json.dumps(_names(value.get(EXPECTED_TOOLS_COLUMN)))}


def _names(value: object) -> tuple[str, ...]:
    try:
        names = read_tool_names(value)
    except AnnotationInvalid as problem:
        raise UnreadableAnnotations(f"{EXPECTED_TOOLS_COLUMN}: {problem}") from None
    if names is None:
        raise UnreadableAnnotations(f"{EXPECTED_TOOLS_COLUMN}: should name at least one tool")
    return names
