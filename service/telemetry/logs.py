"""
Logs of the service: to stderr, for a console or as JSON lines.

A message is told at most once a minute, with the number of those suppressed; control characters are escaped and
credentials masked, whatever a sender managed to put into a message. Nothing is logged for single spans or traces.
"""

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

from service.clock import Clock, SystemClock

Encoding = Literal["console", "json"]

INTERVAL_NS = 60 * 1_000_000_000
MAX_DIFFERENT = 10
"""Messages of one template in one interval: a flood of hostile names is one flood."""
MAX_TEMPLATES = 1_000

_CREDENTIALS = re.compile(r"\b(bearer|basic)\s+[^\s\"',;]+", re.IGNORECASE)
_USER_INFO = re.compile(r"(://)[^/\s@]+@")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def configure_logging(
    level: str = "info",
    encoding: Encoding = "console",
    *,
    stream: TextIO | None = None,
    clock: Clock | None = None,
) -> None:
    """
    Send the logs of all parts and libraries to one stream. Replaces what was configured before.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if encoding == "json" else ConsoleFormatter())
    handler.addFilter(RateLimit(clock or SystemClock()))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


class RateLimit(logging.Filter):
    """
    Lets each distinct message pass once per interval, and at most `MAX_DIFFERENT` of one template.
    """

    def __init__(self, clock: Clock, interval_ns: int = INTERVAL_NS) -> None:
        super().__init__()
        self._clock = clock
        self._interval_ns = interval_ns
        self._windows: dict[tuple[str, int, str], _Window] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            return True  # arguments that do not fit: the handler reports them, the caller must not see them
        window = self._window(record)
        if message in window.told or len(window.told) >= MAX_DIFFERENT:
            window.suppressed += 1
            return False
        window.told.add(message)
        if window.suppressed_before:
            record.msg, record.args = f"{message} ({window.suppressed_before} similar suppressed)", None
            window.suppressed_before = 0
        return True

    def _window(self, record: logging.LogRecord) -> "_Window":
        key = (record.name, record.levelno, str(record.msg))
        now_ns = self._clock.monotonic_ns()
        window = self._windows.pop(key, None)
        if window is None or now_ns - window.started_ns >= self._interval_ns:
            window = _Window(now_ns, suppressed_before=window.suppressed if window else 0)
        if len(self._windows) >= MAX_TEMPLATES:
            del self._windows[next(iter(self._windows))]
        self._windows[key] = window
        return window


class _Window:
    def __init__(self, started_ns: int, suppressed_before: int) -> None:
        self.started_ns = started_ns
        self.suppressed_before = suppressed_before
        self.suppressed = 0
        self.told: set[str] = set()


class ConsoleFormatter(logging.Formatter):
    """
    One line for a message; a traceback keeps its lines.
    """

    def format(self, record: logging.LogRecord) -> str:
        head = f"{_time_of(record)} {record.levelname.lower():<8} {record.name}: {safe(record.getMessage())}"
        return "\n".join([head, *(f"    {safe(line)}" for line in _traceback_of(self, record).splitlines())])


class JsonFormatter(logging.Formatter):
    """
    One JSON object on one line, with the keys of the Collector's log.
    """

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "level": record.levelname.lower(),
            "ts": _time_of(record),
            "logger": record.name,
            "msg": safe(record.getMessage()),
        }
        if traceback := _traceback_of(self, record):
            fields["stacktrace"] = "\n".join(safe(line) for line in traceback.splitlines())
        return json.dumps(fields, ensure_ascii=False)


def safe(text: str) -> str:
    """
    *text* without control characters, line breaks, changes of writing direction, or credentials.
    """
    masked = _USER_INFO.sub(r"\1[REDACTED]@", _CREDENTIALS.sub(r"\1 [REDACTED]", text))
    return _CONTROL.sub(_escape, masked)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def _time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _traceback_of(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatException(record.exc_info) if record.exc_info else ""
