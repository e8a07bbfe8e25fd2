"""
Certificates and secrets that change while the service runs.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from doubles import CountingRecorder, ManualClock

from service.durations import SECOND
from service.transport_security.reloading import Reloading

INTERVAL = 10 * SECOND


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def recorder() -> CountingRecorder:
    return CountingRecorder()


@pytest.fixture
def number(tmp_path: Path) -> Path:
    path = tmp_path / "number"
    path.write_text("1")
    return path


def reloading(
    path: Path, clock: ManualClock, recorder: CountingRecorder, interval_ns: int = INTERVAL
) -> Reloading[int]:
    return Reloading([path], lambda: int(path.read_text()), recorder, interval_ns=interval_ns, clock=clock)


def test_a_changed_file_is_read_again(number: Path, clock: ManualClock, recorder: CountingRecorder) -> None:
    value = reloading(number, clock, recorder)
    number.write_text("22")
    clock.advance(INTERVAL)

    assert 22 == value.current()
    clock.advance(INTERVAL)
    assert 22 == value.current()
    assert {("reloaded", "True"): 1} == recorder.counts


def test_between_two_looks_nothing_is_read(number: Path, clock: ManualClock, recorder: CountingRecorder) -> None:
    value = reloading(number, clock, recorder)
    number.write_text("22")
    clock.advance(INTERVAL - 1)

    assert 1 == value.current()


def test_an_unchanged_file_keeps_its_value(number: Path, clock: ManualClock, recorder: CountingRecorder) -> None:
    value = reloading(number, clock, recorder)
    clock.advance(INTERVAL)

    assert value.current() is value.current()
    assert not recorder.counts


def test_without_an_interval_a_file_is_read_once(number: Path, clock: ManualClock, recorder: CountingRecorder) -> None:
    value = reloading(number, clock, recorder, interval_ns=0)
    number.write_text("22")
    clock.advance(1000 * INTERVAL)

    assert 1 == value.current()


@pytest.mark.parametrize("break_it", [lambda path: path.write_text("broken"), os.unlink], ids=["broken", "absent"])
def test_a_file_that_cannot_be_used_keeps_the_old_value_until_it_can(
    break_it: Callable[[Path], object], number: Path, clock: ManualClock, recorder: CountingRecorder
) -> None:
    value = reloading(number, clock, recorder)
    break_it(number)
    clock.advance(INTERVAL)
    assert 1 == value.current()

    number.write_text("333")
    clock.advance(INTERVAL)

    assert 333 == value.current()
    assert {("reloaded", "False"): 1, ("reloaded", "True"): 1} == recorder.counts


def test_a_broken_first_file_is_an_error(number: Path, clock: ManualClock, recorder: CountingRecorder) -> None:
    number.write_text("broken")

    with pytest.raises(ValueError, match="broken"):
        reloading(number, clock, recorder)


def test_a_symbolic_link_that_is_swapped_is_a_change(
    number: Path, clock: ManualClock, recorder: CountingRecorder, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(number)
    value = reloading(link, clock, recorder)
    (tmp_path / "other").write_text("2")
    (tmp_path / "new").symlink_to(tmp_path / "other")
    (tmp_path / "new").replace(link)
    clock.advance(INTERVAL)

    assert 2 == value.current()


def test_the_log_names_the_file_and_not_what_is_in_it(
    number: Path, clock: ManualClock, recorder: CountingRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    value = reloading(number, clock, recorder)
    number.write_text("77777")
    clock.advance(INTERVAL)

    with caplog.at_level(logging.INFO, logger="service.transport_security"):
        value.current()

    assert str(number) in caplog.text
    assert "77777" not in caplog.text
