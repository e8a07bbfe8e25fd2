"""
Every input of the corpora, and what Hypothesis makes of them: taken, or refused by name.
"""

import pytest
from faults.fault_report import REPORT
from fuzz.fuzz_targets import TARGETS, seeds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLES = 150
SEEDS = [(name, seed) for name in TARGETS for seed in seeds(name)]


@st.composite
def damaged(draw: st.DrawFn, whole: list[bytes]) -> bytes:
    """
    One of *whole*, or two spliced, with a few bytes changed, cut out or put in.
    """
    data = bytearray(draw(st.sampled_from(whole)))
    if draw(st.booleans()):
        other = draw(st.sampled_from(whole))
        data[draw(st.integers(0, len(data))) :] = other[draw(st.integers(0, len(other))) :]
    for _ in range(draw(st.integers(0, 6))):
        place = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 4))
        data[place : place + length] = draw(st.binary(max_size=4))
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_a_corpus_holds_inputs_that_are_taken_and_such_that_are_not(name: str) -> None:
    outcomes = [TARGETS[name](seed) for seed in seeds(name)]

    REPORT.malformed[name] += outcomes.count(False)
    assert {True, False} == set(outcomes)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_any_damage_to_an_input_is_taken_or_refused_by_name(name: str, data: st.DataObject) -> None:
    hostile = data.draw(damaged(seeds(name)) | st.binary(max_size=64))

    TARGETS[name](hostile)
    REPORT.malformed[name] += 1
