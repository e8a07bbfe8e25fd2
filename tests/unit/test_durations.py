"""
Durations are Go's: text with units in, nanoseconds out.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.durations import MAX_DURATION_NS, MILLISECOND, MINUTE, SECOND, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        pytest.param("200ms", 200 * MILLISECOND, id="milliseconds"),
        pytest.param("10s", 10 * SECOND, id="seconds"),
        pytest.param("1m30s", 90 * SECOND, id="two units"),
        pytest.param("1.5h", 90 * MINUTE, id="fraction"),
        pytest.param("0.1s", 100 * MILLISECOND, id="fraction without rounding"),
        pytest.param("1µs", 1_000, id="micro sign"),
        pytest.param("1μs", 1_000, id="Greek mu"),
        pytest.param("1us", 1_000, id="ASCII micro"),
        pytest.param("5ns", 5, id="nanoseconds"),
        pytest.param("0", 0, id="zero as text"),
        pytest.param(0, 0, id="zero"),
        pytest.param("0s", 0, id="zero seconds"),
    ],
)
def test_go_durations_are_exact_nanoseconds(text: object, expected_ns: int) -> None:
    assert expected_ns == parse_duration(text)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(10, "a duration needs a unit: write 10s, 200ms or 1m30s", id="bare number"),
        pytest.param(True, "should be a duration such as 200ms, 10s or 1m30s", id="switch"),
        pytest.param(1.5, "should be a duration such as 200ms, 10s or 1m30s", id="fraction without unit"),
        pytest.param("10", "should be a duration such as 200ms, 10s or 1m30s", id="number as text"),
        pytest.param("", "should be a duration such as 200ms, 10s or 1m30s", id="empty"),
        pytest.param("10 s", "should be a duration such as 200ms, 10s or 1m30s", id="blank before the unit"),
        pytest.param("5d", "should be a duration such as 200ms, 10s or 1m30s", id="days"),
        pytest.param("1s1", "should be a duration such as 200ms, 10s or 1m30s", id="number at the end"),
        pytest.param("-1s", "a duration cannot be negative", id="negative"),
        pytest.param("9999999999999h", "the duration is too long", id="beyond 64 bits"),
        pytest.param("1" * 1_000 + "s", "should be a duration such as 200ms, 10s or 1m30s", id="endless digits"),
        pytest.param(None, "should be a duration such as 200ms, 10s or 1m30s", id="nothing"),
    ],
)
def test_anything_else_is_refused_with_what_to_write(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        parse_duration(value)


@given(st.integers(min_value=0, max_value=MAX_DURATION_NS))
def test_a_written_duration_reads_back_exactly(duration_ns: int) -> None:
    assert duration_ns == parse_duration(format_duration(duration_ns))
