"""
Durations as Go writes them: `200ms`, `10s`, `1m30s`. Integers of nanoseconds inside, text only in configuration.

Pure. A number without a unit is refused unless it is 0: the Collector reads it as nanoseconds, people mean seconds
(reference collector.md §1.5).
"""

import re

MILLISECOND = 1_000_000
SECOND = 1_000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

MAX_DURATION_NS = 2**63 - 1
"""Go's limit, about 292 years."""

_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": MILLISECOND, "s": SECOND, "m": MINUTE, "h": HOUR}
_PART = re.compile(r"(?P<whole>[0-9]{1,19})(?:\.(?P<fraction>[0-9]{0,18}))?(?P<unit>ns|us|µs|μs|ms|s|m|h)")
_MAX_TEXT = 100


def parse_duration(value: object) -> int:
    """
    Nanoseconds of a Go duration string, or of the number 0.

    Raises `ValueError` with a message for the person who wrote the value.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return _bare_number(value)
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise ValueError("should be a duration such as 200ms, 10s or 1m30s")
    return 0 if value == "0" else _parse_text(value)


def _bare_number(value: int) -> int:
    if value != 0:
        raise ValueError("a duration needs a unit: write 10s, 200ms or 1m30s")
    return 0


def _parse_text(text: str) -> int:
    if text.startswith("-"):
        raise ValueError("a duration cannot be negative")
    total, position = 0, 0
    while part := _PART.match(text, position):
        total += _part_ns(part)
        position = part.end()
    if position != len(text) or not text:
        raise ValueError("should be a duration such as 200ms, 10s or 1m30s")
    if total > MAX_DURATION_NS:
        raise ValueError("the duration is too long")
    return total


def _part_ns(part: re.Match[str]) -> int:
    unit = _UNITS[part["unit"]]
    fraction = part["fraction"] or "0"
    tenths: int = 10 ** len(fraction)
    return int(part["whole"]) * unit + int(fraction) * unit // tenths


def format_duration(duration_ns: int) -> str:
    """
    The shortest text that `parse_duration` reads as *duration_ns*.
    """
    if duration_ns == 0:
        return "0s"
    text = ""
    for unit, size in (("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MILLISECOND), ("us", 1_000), ("ns", 1)):
        count, duration_ns = divmod(duration_ns, size)
        text += f"{count}{unit}" if count else ""
    return text


def ceil_milliseconds(duration_ns: int) -> int:
    """
    Whole milliseconds, rounded up so that a short duration does not become none, at most what 32 bits hold.
    """
    return min(-(-duration_ns // MILLISECOND), 2**31 - 1)
