"""
The ring of recent occurrences: what it holds, and that it cannot grow.
"""

import msgspec
from live_pages import at_once, in_order, late, page_of, run, shop, trace_id, wrong_order
from processing import Processing
from wire_spans import agent, tool

from service.live_page.recent import RecentOccurrences
from service.live_page.record import MAX_TEXT, shown
from service.scoring.settings import ScoringSettings

SECRET = "the customer's address"


def ring(processing: Processing, **limits: int) -> RecentOccurrences:
    recent = RecentOccurrences(processing.clock, ScoringSettings(), **limits)
    for closing in processing.closings:
        recent.scored(closing)
    return recent


def tokens(recent: RecentOccurrences) -> list[str]:
    return [entry.summary.token for entry in recent.newest_first()]


async def test_the_oldest_leaves_when_there_are_too_many() -> None:
    processing = shop()
    await in_order(processing, 1)
    kept = [await wrong_order(processing, 2), await at_once(processing, 3)]

    recent = ring(processing, max_occurrences=2)

    assert kept[::-1] == tokens(recent)
    assert 3 == recent.seen_count


async def test_the_oldest_leaves_when_there_are_too_many_bytes() -> None:
    processing = shop()
    for number in range(1, 9):
        await in_order(processing, number)
    size = ring(processing).size

    recent = ring(processing, max_bytes=size // 2)

    assert 0 < recent.size <= size // 2
    assert [trace_id(8).hex(), trace_id(7).hex()] == tokens(recent)[:2]
    assert sum(entry.size for entry in recent.newest_first()) == recent.size


async def test_an_occurrence_that_is_larger_than_the_ring_is_not_held() -> None:
    processing = shop()
    await in_order(processing)

    recent = ring(processing, max_bytes=100)

    assert (0, 0) == (len(recent), recent.size)
    assert recent.find(trace_id(1).hex()) is None


async def test_a_revision_takes_the_place_of_what_it_revises_and_comes_first() -> None:
    processing = shop()
    revised = await late(processing)
    first = processing.closings.pop(0)
    await in_order(processing)
    processing.closings = [first, processing.closings[1], processing.closings[0]]

    recent = ring(processing)

    assert [revised, trace_id(1).hex()] == tokens(recent)
    entry = recent.get(revised)
    assert entry is not None
    assert ["root_span", "late_span"] == [closing.trigger for closing in entry.detail.closings]
    assert {"agent": 0, "search": 0, "book": 1} == {span.name: span.closing for span in entry.detail.spans}
    assert (1, ["late_span"]) == (entry.summary.revision, entry.summary.reasons)


async def test_every_delivered_result_is_found_by_its_idempotency_id() -> None:
    processing = shop()
    token = await late(processing)

    recent = ring(processing)

    delivered = [delivery.idempotency_id for delivery in processing.last.deliveries]
    assert [token] * 3 == [recent.find(result_id) for result_id in delivered]
    superseded = [delivery.idempotency_id for delivery in processing.closings[0].deliveries]
    assert [None] * 3 == [recent.find(result_id) for result_id in superseded]


async def test_a_trace_is_found_by_the_beginning_of_its_id_and_nothing_by_a_blank() -> None:
    processing = shop()
    token = await in_order(processing)

    recent = ring(processing)

    assert token == recent.find(f" {token[:6].upper()} ")
    assert recent.find(" ") is None


async def test_arguments_and_message_text_are_never_held() -> None:
    processing = Processing(
        expectations=[
            {
                "name": "e",
                "conditions": [
                    {
                        "condition_type": "tools_called",
                        "tools": [{"name": "search", "arguments": {"address": SECRET}}],
                    }
                ],
            }
        ]
    )
    arguments = {"gen_ai.tool.call.arguments": msgspec.json.encode({"address": SECRET}).decode()}
    text = {"gen_ai.input.messages": f'[{{"role":"user","parts":[{{"type":"text","content":"{SECRET}"}}]}}]'}
    spans = agent(trace=trace_id(1), attributes=text), tool("search", trace=trace_id(1), attributes=arguments)
    await run(processing, 1, *spans)
    assert "true" == processing.evaluation("tools_called").label

    (entry,) = page_of(processing).recent.newest_first()

    assert SECRET.encode() not in entry.encoded_summary + entry.encoded_detail


def test_text_of_senders_is_clipped_and_shows_what_cannot_be_seen() -> None:
    assert "a\\x00b\\u202ec\\u200bd" == shown("a\x00b\u202ec\u200bd")
    assert MAX_TEXT + 1 == len(shown("x" * 10_000))
    assert "\\udc80" == shown("\udc80")
