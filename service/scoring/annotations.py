"""
Lists of tool names as annotations and attributes write them.

Pure. Decisions D3 and D4: a text that starts with `[` is a JSON array, other text is split at commas and newlines; a
blank text is no value, an empty list is a mistake.
"""

import json
from collections.abc import Mapping, Sequence

EXPECTED_TOOLS_COLUMN = "expected_tools"
MAX_EXPECTED_TOOLS = 1_000
MAX_NAME_LENGTH = 1_024


class AnnotationInvalid(ValueError):
    """
    A list of tool names that cannot be read. The message is for the person who wrote it.
    """


def read_tool_names(value: object) -> tuple[str, ...] | None:
    """
    The names in *value*, a text or a list of texts; `None` if there is no value. Raises `AnnotationInvalid`.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return _check_names(_split(value) if isinstance(value, str) else value)


def _split(text: str) -> object:
    text = text.strip()
    if not text.startswith("["):
        return [name.strip() for name in text.replace("\n", ",").split(",") if name.strip()]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise AnnotationInvalid("should be a JSON array of tool names") from None


def _check_names(names: object) -> tuple[str, ...]:
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name.strip() for name in names):
        raise AnnotationInvalid("should be a list of tool names")
    if not names:
        raise AnnotationInvalid("should name at least one tool")
    if len(names) > MAX_EXPECTED_TOOLS or max(map(len, names)) > MAX_NAME_LENGTH:
        raise AnnotationInvalid("holds too many or too long names")
    return tuple(name.strip() for name in names)


def find_annotation_problems(annotations: Mapping[str, Mapping[str, str]]) -> Sequence[tuple[str, str]]:
    """
    (path, message) for every annotation that will fail its occurrence.
    """
    problems = []
    for occurrence, columns in annotations.items():
        try:
            read_tool_names(columns.get(EXPECTED_TOOLS_COLUMN))
        except AnnotationInvalid as problem:
            problems.append((f"annotations.{occurrence}.{EXPECTED_TOOLS_COLUMN}", str(problem)))
    return problems
