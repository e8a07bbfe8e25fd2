"""
Pages as text: what senders chose is shown and does nothing.
"""

from collections.abc import Iterable
from enum import StrEnum
from html.parser import HTMLParser
from unicodedata import category

import pytest
from live_pages import (
    HOSTILE,
    at_once,
    hostile,
    in_order,
    late,
    missing_tool,
    page_of,
    shop,
    without_root,
    wrong_order,
)

from service.evaluation import ExpectedSource, Reason, Status
from service.evidence import CoverageReason, Trigger
from service.live_page.filters import Filter
from service.live_page.record import Outcome, shown
from service.live_page.rendering import ListCounts, Renderer
from service.live_page.words import WORDS, brief_duration, tick_label

RENDERER = Renderer("0")
COUNTS = ListCounts(0, 0)


class Elements(HTMLParser):
    """
    Every start tag of a page with its attributes, and its text.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


async def pages() -> list[str]:
    """
    The list and the page of each of many runs.
    """
    processing = shop()
    for scenario in (in_order, wrong_order, at_once, missing_tool, without_root, hostile, late):
        await scenario(processing)
    entries = page_of(processing).recent.newest_first()
    chosen = Filter(service=shown(HOSTILE), missing='"><b>')
    return [
        RENDERER.list_page(entries, Filter(), 0, COUNTS),
        RENDERER.list_page(entries, chosen, 0, COUNTS),
        *(RENDERER.occurrence_page(entry) for entry in entries),
    ]


async def page_for(name: str) -> Elements:
    scenarios = {each.__name__: each for each in (in_order, wrong_order, at_once, missing_tool, without_root, late)}
    processing = shop()
    await scenarios[name](processing)
    return Elements(RENDERER.occurrence_page(page_of(processing).recent.newest_first()[0]))


async def test_names_of_senders_make_no_element_and_no_attribute() -> None:
    for html in await pages():
        elements = Elements(html)
        scripts = [attributes.get("src") for attributes in elements.of("script")]
        assert scripts in ([], ["/static/live.js"])
        assert "b" not in [tag for tag, attributes in elements.tags if attributes.get("onload")]
        assert [] == [key for _, attributes in elements.tags for key in attributes if key.startswith("on")]
        assert [] == [attributes for _, attributes in elements.tags if "style" in attributes]


async def test_names_of_senders_are_shown_as_they_are_and_what_cannot_be_seen_as_escapes() -> None:
    processing = shop()
    await hostile(processing)
    (entry,) = page_of(processing).recent.newest_first()

    for html in (RENDERER.occurrence_page(entry), RENDERER.row(entry.summary)):
        elements = Elements(html)
        assert "<script>document.title='owned'</script>\"'><svg onload=alert(1)>&amp;\\x07\\x1b[31m" in elements.text
        assert "\\u202e\\u200b" in elements.text


async def test_no_page_holds_a_control_character() -> None:
    for html in await pages():
        assert set() == {character for character in html if category(character) in {"Cc", "Cf"}} - {"\n"}


async def test_pages_load_nothing_from_elsewhere() -> None:
    for html in await pages():
        places = [
            value
            for _, attributes in Elements(html).tags
            for key, value in attributes.items()
            if key in {"src", "href", "action"} and value
        ]
        assert [] == [place for place in places if not place.startswith(("/", "#")) or place.startswith("//")]


async def test_every_id_of_a_page_is_unique_and_every_inner_link_leads_to_one() -> None:
    for html in await pages():
        elements = Elements(html)
        ids = [attributes["id"] for _, attributes in elements.tags if "id" in attributes]
        inner = {link[1:] for attributes in elements.of("a") if (link := attributes.get("href") or "")[:1] == "#"}
        assert len(ids) == len(set(ids))
        assert set() == inner - set(ids)


@pytest.mark.parametrize(
    ("scenario", "sentences"),
    [
        ("in_order", ["search ended 10 ms before book began.", "Nothing is known to be missing."]),
        ("wrong_order", ["book ended 10 ms before search began.", "Out of order: book"]),
        ("at_once", ["search and book ran at the same time for 10 ms.", "so none came first", "failed"]),
        ("missing_tool", ["book was never called.", "never called"]),
        ("without_root", ["book was not seen.", "The root span was not received.", "Not received:", "no end"]),
        ("late", ["came with closing 2", "A span came after it was closed.", "revision 1"]),
    ],
)
async def test_the_page_says_why(scenario: str, sentences: list[str]) -> None:
    text = (await page_for(scenario)).text

    assert [] == [sentence for sentence in sentences if sentence not in text]


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("reason", Reason),
        ("coverage", CoverageReason),
        ("trigger", Trigger),
        ("status", Status),
        ("source", ExpectedSource),
    ],
)
def test_every_member_of_a_closed_set_has_words(kind: str, members: Iterable[StrEnum]) -> None:
    assert set(map(str, members)) == set(WORDS[kind])


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ({"label": "true", "score": 1.0}, "good"),
        ({"label": "false", "score": 0.0}, "bad"),
        ({"label": "undetermined"}, "open"),
        ({"score": 1.0, "lower": 1.0, "upper": 1.0}, "good"),
        ({"score": 0.5, "lower": 0.5, "upper": 0.5}, "bad"),
        ({"score": 0.5, "lower": 0.5, "upper": 1.0}, "open"),
        ({"status": "failed"}, "open"),
        ({"status": "ineligible"}, "none"),
    ],
    ids=str,
)
def test_the_colour_of_an_outcome_tells_what_is_certain(outcome: dict[str, object], kind: str) -> None:
    values = {"name": "n", "type": "t", "status": "scored"} | outcome

    template = RENDERER.environment.from_string("{{ outcome | kind }}")

    assert kind == template.render(outcome=Outcome(**values))  # type: ignore[arg-type]  # plain values of a table


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0"),
        (7, "7 ns"),
        (1_500, "1.5 µs"),
        (12_340_000, "12.3 ms"),
        (999_000_000, "999 ms"),
        (1_240_000_000, "1.24 s"),
        (123_000_000_000, "2 min 3 s"),
        (-2_000_000, "-2 ms"),
    ],
)
def test_durations_are_brief(duration_ns: int, text: str) -> None:
    assert text == brief_duration(duration_ns)


@pytest.mark.parametrize(
    ("time_ns", "step_ns", "text"),
    [
        (0, 1, "0"),
        (20_000_000, 10_000_000, "20 ms"),
        (60_020_000_000, 20_000_000, "60.02 s"),
        (1_500_000, 500_000, "1.5 ms"),
        (3_000_000_000, 1_000_000_000, "3 s"),
    ],
)
def test_a_tick_has_the_digits_that_tell_it_from_the_next(time_ns: int, step_ns: int, text: str) -> None:
    assert text == tick_label(time_ns, step_ns)
