"""
What a log line may hold, and how often it is written.
"""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from doubles import ManualClock

from service.telemetry.logs import (
    INTERVAL_NS,
    MAX_DIFFERENT,
    MAX_TEMPLATES,
    Encoding,
    RateLimit,
    configure_logging,
    safe,
)

LOGGER = logging.getLogger("service.test")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture(autouse=True)
def _root_logger_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []  # the handlers of the test runner are not ours to close
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers = handlers
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def fail(message: str) -> None:
    raise ValueError(message)


def test_json_is_one_object_for_each_message(stream: io.StringIO, clock: ManualClock) -> None:
    configure_logging("info", "json", stream=stream, clock=clock)

    LOGGER.warning("certificate %s is unreadable", "a.pem")

    (line,) = lines(stream)
    written = json.loads(line)
    assert written.pop("ts").endswith("Z")
    assert {"level": "warning", "logger": "service.test", "msg": "certificate a.pem is unreadable"} == written


def test_the_console_shows_level_part_and_message(stream: io.StringIO, clock: ManualClock) -> None:
    configure_logging("info", "console", stream=stream, clock=clock)

    LOGGER.error("journal is full")

    (line,) = lines(stream)
    assert line.endswith(" error    service.test: journal is full")


@pytest.mark.parametrize("encoding", ["json", "console"])
def test_messages_below_the_level_are_not_written(stream: io.StringIO, clock: ManualClock, encoding: Encoding) -> None:
    configure_logging("warn", encoding, stream=stream, clock=clock)

    LOGGER.info("one")
    LOGGER.warning("two")

    assert 1 == len(lines(stream))


@pytest.mark.parametrize("encoding", ["json", "console"])
def test_a_sender_cannot_forge_a_line(stream: io.StringIO, clock: ManualClock, encoding: Encoding) -> None:
    configure_logging("info", encoding, stream=stream, clock=clock)

    LOGGER.warning("unknown path %s", "/x\n2026-01-01 error forged\r\x1b[31m\u2028forged\u202eevil")

    (line,) = stream.getvalue().split("\n")[:-1]
    assert all(character.isprintable() for character in line)


@pytest.mark.parametrize("encoding", ["json", "console"])
def test_a_traceback_is_written_below_its_message(stream: io.StringIO, clock: ManualClock, encoding: Encoding) -> None:
    configure_logging("info", encoding, stream=stream, clock=clock)
    try:
        fail("no such\x1bfile")
    except ValueError:
        LOGGER.exception("reload failed")

    text = stream.getvalue()
    written = json.loads(text)["stacktrace"] if encoding == "json" else text
    assert r"ValueError: no such\x1bfile" in written
    assert encoding == "json" or all(line.startswith("    ") for line in lines(stream)[1:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("authorization: Bearer abc.def-123==", "authorization: Bearer [REDACTED]"),
        ("{'authorization': 'basic dXNlcjpwYXNz'}", "{'authorization': 'basic [REDACTED]'}"),
        ("sending to grpc://user:pass@collector:4317 failed", "sending to grpc://[REDACTED]@collector:4317 failed"),
        ("grpc://collector:4317", "grpc://collector:4317"),
        ("tab\tand nul\x00", r"tab\tand nul\x00"),
        ("plain text, größe 5", "plain text, größe 5"),
    ],
)
def test_credentials_and_control_characters_are_made_harmless(text: str, expected: str) -> None:
    assert expected == safe(text)


def a_record(message: str, *arguments: object, level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("service.test", level, __file__, 1, message, arguments, None)


def passes(limit: RateLimit, record: logging.LogRecord) -> str | None:
    return record.getMessage() if limit.filter(record) else None


def test_a_message_is_written_once_a_minute_with_the_number_suppressed(clock: ManualClock) -> None:
    limit = RateLimit(clock)

    first = [passes(limit, a_record("queue is full")) for _ in range(5)]
    clock.advance(INTERVAL_NS - 1)
    just_before = passes(limit, a_record("queue is full"))
    clock.advance(1)
    after = [passes(limit, a_record("queue is full")) for _ in range(2)]

    assert ["queue is full", None, None, None, None] == first
    assert just_before is None
    assert ["queue is full (5 similar suppressed)", None] == after


def test_nothing_is_said_of_suppression_where_none_was(clock: ManualClock) -> None:
    limit = RateLimit(clock)
    passes(limit, a_record("queue is full"))
    clock.advance(INTERVAL_NS)

    assert "queue is full" == passes(limit, a_record("queue is full"))


def test_distinct_messages_do_not_hide_each_other(clock: ManualClock) -> None:
    limit = RateLimit(clock)

    assert "cannot read a" == passes(limit, a_record("cannot read %s", "a"))
    assert "cannot read b" == passes(limit, a_record("cannot read %s", "b"))
    assert "cannot read a" == passes(limit, a_record("cannot read %s", "a", level=logging.ERROR))
    assert passes(limit, a_record("cannot read %s", "a")) is None


def test_a_flood_of_different_arguments_is_one_flood(clock: ManualClock) -> None:
    limit = RateLimit(clock)

    written = [passes(limit, a_record("unknown scope %s", number)) for number in range(1_000)]

    assert MAX_DIFFERENT == sum(message is not None for message in written)


def test_messages_without_a_template_take_bounded_memory(clock: ManualClock) -> None:
    limit = RateLimit(clock)

    for number in range(3 * MAX_TEMPLATES):
        limit.filter(a_record(f"formatted before {number}"))

    assert MAX_TEMPLATES == len(limit._windows)


def test_arguments_that_do_not_fit_do_not_fail_the_caller(clock: ManualClock) -> None:
    assert RateLimit(clock).filter(a_record("%d spans", "many"))
