"""
Which tests need the real programs, and what happens where they cannot be had.
"""

from pathlib import Path

import pytest
from e2e.collector_build import why_not

BUILD_AND_RUN_S = 1800


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    Mark everything in this folder `e2e`; the first test may have to build the Collector.
    """
    missing = why_not()
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.timeout(BUILD_AND_RUN_S))
            if missing is not None:
                item.add_marker(pytest.mark.skip(reason=missing))
