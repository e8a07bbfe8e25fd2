"""
No curve is steeper than linear: four times as much of anything costs four times as much, not more.
"""

import pytest
from bench.growth import CURVES, Curve, Work, lines_per_unit

TOLERANCE = 1.15
"""For what grows with the logarithm: heaps and sorted lists."""


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_work_per_unit_does_not_grow(curve: Curve) -> None:
    small, large = curve.small_sizes

    assert lines_per_unit(curve, large) <= TOLERANCE * lines_per_unit(curve, small)


def test_quadratic_work_is_found_out() -> None:
    def pairs(count: int) -> Work:
        def run() -> None:
            for first in range(count):
                for _ in range(first):
                    pass

        return Work(run, count)

    curve = Curve("pairs", "things", "thing", (1,), (50, 200), pairs)

    assert lines_per_unit(curve, 200) > TOLERANCE * lines_per_unit(curve, 50)
