"""
Which tests need the real programs, and what happens where they cannot be had.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.collector_build import why_not
from e2e.containers import Engine, engine
from e2e.stand_ins import make_stand_ins

BUILD_AND_RUN_S = 1800
IMAGE = "toolscore:latest"


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


@pytest.fixture(scope="session")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """
    An engine with the service's image, built once for all that run it.
    """
    with engine(tmp_path_factory.mktemp("containers")) as running:
        running.import_base()
        running.build(IMAGE)
        yield running


@pytest.fixture(scope="session")
def compose_images(containers: Engine, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """
    The engine with everything that docker-compose.yml names but Grafana.
    """
    make_stand_ins(containers, tmp_path_factory.mktemp("images"))
    return containers
