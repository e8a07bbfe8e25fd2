"""
Globs: `*` stands for any text, everything else for itself.

Pure. Matching is linear in the value for each `*`, whatever the pattern: values come from whoever sends spans.
"""

from collections.abc import Sequence


def glob_matches(pattern: str, value: str) -> bool:
    """
    Whether *value*, as a whole, fits *pattern*.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return value == pattern
    *inner, last = rest
    if len(value) < len(first) + len(last) or not (value.startswith(first) and value.endswith(last)):
        return False
    return _holds_in_turn(inner, value[len(first) : len(value) - len(last)])


def _holds_in_turn(parts: Sequence[str], text: str) -> bool:
    position = 0
    for part in parts:
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True
