"""
The budget of the hot path: what each stage may cost, in protobuf parses of the same bytes (`limits.yaml`).

Instructions are counted, not seconds: the figures are the same on a busy machine. A change that makes a stage dearer by
more than 15 % shows here.
"""

import pytest
from bench.instructions import InstructionCounts, count_instructions, limits, small_corpora, why_not

pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
    pytest.mark.timeout(600),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def counted() -> dict[str, InstructionCounts]:
    return {counts.corpus: counts for counts in count_instructions(small_corpora())}


@pytest.mark.parametrize(
    ("corpus", "stage", "limit"),
    [
        pytest.param(corpus, stage, limit, id=f"{corpus} {stage}")
        for corpus, stages in limits().items()
        for stage, limit in stages.items()
    ],
)
def test_a_stage_costs_no_more_instructions_than_its_limit(
    counted: dict[str, InstructionCounts], corpus: str, stage: str, limit: float
) -> None:
    assert counted[corpus].ratio(stage) <= limit
