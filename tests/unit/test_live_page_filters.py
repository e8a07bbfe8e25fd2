"""
Filters of the list of runs.
"""

import pytest
from live_pages import at_once, in_order, missing_tool, page_of, shop, without_root, wrong_order

from service.live_page.filters import Filter, choices_of, filter_of
from service.live_page.record import Summary


async def summaries() -> list[Summary]:
    processing = shop()
    await in_order(processing, 1, service="kiosk")
    await wrong_order(processing, 2)
    await at_once(processing, 3)
    await missing_tool(processing, 4)
    await without_root(processing, 5)
    return [entry.summary for entry in page_of(processing).recent.newest_first()]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({}, [5, 4, 3, 2, 1]),
        ({"service": "kiosk"}, [1]),
        ({"agent": "planner"}, [4, 3, 2, 1]),
        ({"expectation": "trip"}, [5, 4, 3, 2, 1]),
        ({"expectation": "other"}, []),
        ({"verdict": "true"}, [4, 2, 1]),
        ({"verdict": "false"}, [4, 3, 2]),
        ({"verdict": "undetermined"}, [5, 3]),
        ({"verdict": "below_one"}, [5, 4, 3, 2]),
        ({"coverage": "partial"}, [5]),
        ({"missing": "book"}, [5, 4]),
        ({"missing": "book", "coverage": "complete"}, [4]),
        ({"unknown": "x"}, [5, 4, 3, 2, 1]),
    ],
    ids=str,
)
async def test_a_filter_lets_through_what_has_all_its_values(query: dict[str, str], numbers: list[int]) -> None:
    chosen = filter_of(query)

    found = [int(summary.token[:2], 16) for summary in await summaries() if chosen.lets_through(summary)]

    assert numbers == found


async def test_what_is_held_can_be_chosen_and_what_is_chosen_stays_a_choice() -> None:
    choices = choices_of(await summaries(), Filter(service="gone"))

    assert ["gone", "kiosk", "shop"] == choices.service
    assert ["planner"] == choices.agent
    assert ["book"] == choices.missing
