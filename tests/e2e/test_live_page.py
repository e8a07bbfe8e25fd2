"""
The live page in a real browser: light and dark, by keyboard, without JavaScript. Screenshots are kept in tests/output.
"""

import asyncio
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from live_pages import (
    at_once,
    hostile,
    in_order,
    late,
    missing_tool,
    page_of,
    served,
    shop,
    trace_id,
    without_root,
    wrong_order,
)
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright

from service.live_page.event_stream import StreamLimits

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OUTPUT = Path(__file__).parents[1] / "output"
SCENARIOS = (in_order, wrong_order, at_once, missing_tool, without_root, hostile, late)
WRONG_ORDER = f"/occurrences/{trace_id(2).hex()}"
Scheme = Literal["light", "dark"]

pytestmark = pytest.mark.skipif(
    not Path(CHROMIUM).exists() and not os.environ.get("CI"), reason="Chromium is not installed"
)


class Site(NamedTuple):
    """
    A live page on a thread of its own, since the browser's driver holds this one.
    """

    url: str
    tell: Callable[[int], None]
    """Has the page take the closing of this position once more."""


class _Thread(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ready = threading.Event()
        self.url = ""
        self._processing = shop()
        self._page = page_of(self._processing, limits=StreamLimits(batch_s=0.05))
        self.loop = asyncio.new_event_loop()
        self.stop = asyncio.Event()

    def run(self) -> None:
        self.loop.run_until_complete(self._serve())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    async def _serve(self) -> None:
        for scenario in SCENARIOS:
            await scenario(self._processing)
        for closing in self._processing.closings:
            self._page.scored(closing)
        async with served(self._page) as self.url:
            self.ready.set()
            await self.stop.wait()

    def tell(self, position: int) -> None:
        self.loop.call_soon_threadsafe(self._page.scored, self._processing.closings[position])


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    thread = _Thread()
    thread.start()
    assert thread.ready.wait(60)
    yield Site(thread.url, thread.tell)
    thread.loop.call_soon_threadsafe(thread.stop.set)
    thread.join(30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        yield browser
        browser.close()


class Watched:
    """
    A browser window that keeps what the page complained of, and where it went.
    """

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", self._dismiss)
        self._url = url

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def go(self, path: str) -> Page:
        self.page.goto(self._url + path)
        return self.page

    def keep(self, name: str) -> bytes:
        """
        A screenshot of the whole page, kept under *name*.
        """
        OUTPUT.mkdir(exist_ok=True)
        return self.page.screenshot(path=OUTPUT / f"live-page-{name}.png", full_page=True)


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> Scheme:
    value: Scheme = request.param
    return value


def window(
    browser: Browser, site: Site, scheme: Scheme = "light", *, script: bool = True, width: int = 1280
) -> Iterator[Watched]:
    context = browser.new_context(
        color_scheme=scheme,
        java_script_enabled=script,
        viewport={"width": width, "height": 860},
        reduced_motion="reduce",
    )
    yield Watched(context, site.url)
    context.close()


@pytest.fixture
def coloured(browser: Browser, site: Site, scheme: Scheme) -> Iterator[Watched]:
    yield from window(browser, site, scheme)


@pytest.fixture
def watched(browser: Browser, site: Site) -> Iterator[Watched]:
    yield from window(browser, site)


@pytest.fixture
def without_script(browser: Browser, site: Site) -> Iterator[Watched]:
    yield from window(browser, site, script=False)


@pytest.fixture
def narrow(browser: Browser, site: Site) -> Iterator[Watched]:
    yield from window(browser, site, width=390)


def contrast(page: Page, selector: str) -> float:
    """
    The contrast of a text with what lies behind it, as WCAG 2 measures it.
    """
    ratio: float = page.locator(selector).first.evaluate(
        """(element) => {
            const parts = (color) => color.match(/[\\d.]+/g).map(Number);
            const light = (color) => {
                const [r, g, b] = parts(color).slice(0, 3).map((part) => {
                    const share = part / 255;
                    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
                });
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            let behind = element;
            const clear = (color) => parts(color).length === 4 && parts(color)[3] === 0;
            while (behind.parentElement && clear(getComputedStyle(behind).backgroundColor)) {
                behind = behind.parentElement;
            }
            const [a, b] = [light(getComputedStyle(element).color), light(getComputedStyle(behind).backgroundColor)];
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        }"""
    )
    return ratio


def test_the_list_shows_every_run_in_light_and_dark(coloured: Watched, scheme: Scheme) -> None:
    page = coloured.go("/")

    assert len(SCENARIOS) == page.locator("#rows tr").count()
    page.get_by_text("live", exact=True).wait_for()
    for selector in ("h1", ".chip.good b", ".chip.bad b", ".chip.open b", ".sub", "td a", "thead th"):
        assert contrast(page, selector) >= 4.5, selector
    assert coloured.keep(f"list-{scheme}")
    assert [] == coloured.complaints


@pytest.mark.parametrize("number", range(1, len(SCENARIOS) + 1), ids=[each.__name__ for each in SCENARIOS])
def test_a_run_shows_its_timeline_in_light_and_dark(coloured: Watched, scheme: Scheme, number: int) -> None:
    page = coloured.go(f"/occurrences/{trace_id(number).hex()}")

    name = SCENARIOS[number - 1].__name__.replace("_", "-")
    assert 1 == page.locator("svg.timeline").count()
    inside = page.locator("svg.timeline").bounding_box()
    assert inside is not None
    for bar in page.locator("svg.timeline .bar").all():
        box = bar.bounding_box()
        assert box is not None
        assert inside["x"] <= box["x"] + 1
        assert box["x"] + box["width"] <= inside["x"] + inside["width"] + 1
    assert coloured.keep(f"{name}-{scheme}")
    assert [] == coloured.complaints


def test_names_of_senders_run_nothing(watched: Watched) -> None:
    for path in ("/", f"/occurrences/{trace_id(6).hex()}"):
        page = watched.go(path)
        page.wait_for_timeout(200)
        assert "owned" != page.title()
        assert 0 == page.locator("[onload]").count()
    assert [] == watched.complaints


def test_nothing_is_asked_of_another_host(watched: Watched, site: Site) -> None:
    watched.go("/")
    watched.go(WRONG_ORDER)

    assert [] == [url for url in watched.requests if not url.startswith(site.url)]


def test_a_run_is_reached_and_left_by_keyboard_alone(watched: Watched) -> None:
    page = watched.go("/")
    page.keyboard.press("Tab")
    assert "Skip to content" == page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    assert "content" == page.evaluate("document.activeElement.id")

    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#rows a')"):
            break
    assert "none" != page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    page.keyboard.press("Enter")

    page.wait_for_url(re.compile("/occurrences/"))
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('svg .call')"):
            break
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("search: ")
    page.keyboard.press("Enter")
    assert 1 == page.locator("tr:target").count()


def test_filters_work_by_keyboard_and_stay_in_the_address(watched: Watched) -> None:
    page = watched.go("/")
    page.get_by_label("Result").focus()
    page.keyboard.press("f")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Filter").press("Enter")

    page.wait_for_url(re.compile("verdict=false"))
    assert {"false"} <= set(page.locator(".chip.bad b").all_text_contents())
    assert "false" == page.get_by_label("Result").input_value()
    page.get_by_role("link", name="Clear").click()
    assert len(SCENARIOS) == page.locator("#rows tr").count()


def test_everything_can_be_read_without_javascript(without_script: Watched) -> None:
    page = without_script.go("/?verdict=false")
    assert not page.locator("#live").is_visible()
    page.locator(f"a[href='{WRONG_ORDER}']").click()

    assert page.get_by_text("book ended 10 ms before search began.").is_visible()
    assert 1 == page.locator("path.arrow.after").count()
    page.get_by_text("What the marks mean").click()
    assert page.get_by_text("required order that is broken").is_visible()
    assert without_script.keep("without-javascript")


def test_a_new_run_comes_on_top_and_waits_while_paused(watched: Watched, site: Site) -> None:
    page = watched.go("/")
    page.get_by_text("live", exact=True).wait_for()

    site.tell(0)
    page.locator(f"#rows tr:first-child[data-token='{trace_id(1).hex()}']").wait_for()
    assert len(SCENARIOS) == page.locator("#rows tr").count()

    page.get_by_role("button", name="Pause").click()
    site.tell(1)
    page.get_by_text("paused, 1 waiting").wait_for()
    assert trace_id(1).hex() == page.locator("#rows tr").first.get_attribute("data-token")
    page.get_by_role("button", name="Resume").click()
    page.locator(f"#rows tr:first-child[data-token='{trace_id(2).hex()}']").wait_for()
    assert [] == watched.complaints


def test_the_page_of_a_run_says_that_it_was_revised(watched: Watched, site: Site) -> None:
    with watched.page.expect_response(lambda response: response.url.endswith("/events")):
        page = watched.go(WRONG_ORDER)
    assert not page.get_by_text("There is a newer revision.").is_visible()

    site.tell(1)

    page.get_by_text("There is a newer revision.").wait_for()


def test_a_narrow_window_scrolls_inside_its_tables_only(narrow: Watched) -> None:
    for path, name in (("/", "list"), (WRONG_ORDER, "run")):
        page = narrow.go(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert narrow.keep(f"narrow-{name}")
