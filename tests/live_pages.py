"""
Live pages for tests: runs go through a real processor, and what it closed is shown.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from processing import Processing
from wire_spans import agent, chat, error_status, tool

from service.app.pages import guarded
from service.live_page.event_stream import StreamLimits
from service.live_page.feed import Feed
from service.live_page.page import OPEN_PATHS, LivePage
from service.scoring.settings import ScoringSettings
from service.transport_security.bearer_token import BearerTokenAuth

SCRIPT = "<script>document.title='owned'</script>"
HOSTILE = f"{SCRIPT}\"'><svg onload=alert(1)>&amp;\x07\x1b[31m\u202e\u200b"

EXPECTATIONS = [
    {
        "name": "trip",
        "expected_tools": ["search", "book"],
        "conditions": [
            {"condition_type": "tools_called_in_order", "name": "book_last", "tools": ["search", "book"]},
            {"condition_type": "tools_not_called", "name": "no_refund", "tools": ["refund"]},
        ],
    }
]


def trace_id(number: int) -> bytes:
    return bytes([number]) * 16


def shop() -> Processing:
    return Processing(expectations=EXPECTATIONS, idle_timeout="20s")


async def run(processing: Processing, number: int, *spans: bytes, service: str = "shop") -> str:
    """
    Send one run and close it; gives its trace id in hex.
    """
    await processing.send(*spans, service=service)
    await processing.after(40)
    return trace_id(number).hex()


async def in_order(processing: Processing, number: int = 1, *, service: str = "shop") -> str:
    trace = trace_id(number)
    spans = (
        agent(trace=trace),
        tool("search", trace=trace, start=2, end=20),
        tool("book", trace=trace, start=30, end=50),
    )
    return await run(processing, number, *spans, service=service)


async def wrong_order(processing: Processing, number: int = 2) -> str:
    trace = trace_id(number)
    spans = (
        agent(trace=trace),
        tool("book", trace=trace, start=2, end=20),
        tool("search", trace=trace, start=30, end=50),
    )
    return await run(processing, number, *spans)


async def at_once(processing: Processing, number: int = 3) -> str:
    trace = trace_id(number)
    spans = (
        agent(trace=trace),
        chat(trace=trace, start=1, end=2, messages="[]"),
        tool("search", trace=trace, start=5, end=30, status=error_status()),
        tool("search", "again", trace=trace, start=35, end=70),
        tool("book", trace=trace, start=20, end=50),
        tool("refund", trace=trace, start=80, end=85),
    )
    return await run(processing, number, *spans)


async def missing_tool(processing: Processing, number: int = 4) -> str:
    trace = trace_id(number)
    return await run(processing, number, agent(trace=trace), tool("search", trace=trace, start=2, end=20))


async def without_root(processing: Processing, number: int = 5) -> str:
    trace = trace_id(number)
    return await run(processing, number, tool("search", trace=trace, start=2, end=None))


async def hostile(processing: Processing, number: int = 6) -> str:
    trace = trace_id(number)
    spans = (
        agent(trace=trace, name=HOSTILE, attributes={"gen_ai.agent.name": HOSTILE}),
        tool(HOSTILE, "h", trace=trace, start=2, end=20),
        tool("search", "s", trace=trace, start=30, end=None),
    )
    return await run(processing, number, *spans, service=HOSTILE)


async def late(processing: Processing, number: int = 7) -> str:
    trace = trace_id(number)
    token = await run(processing, number, agent(trace=trace), tool("search", trace=trace, start=2, end=20))
    await processing.send(tool("book", trace=trace, start=30, end=50))
    await processing.after(40)
    return token


def page_of(processing: Processing, *, feed: Feed | None = None, limits: StreamLimits | None = None) -> LivePage:
    """
    A live page that saw every closing so far.
    """
    page = LivePage(processing.clock, ScoringSettings(), "0", feed=feed, limits=limits)
    for closing in processing.closings:
        page.scored(closing)
    return page


@asynccontextmanager
async def served(page: LivePage, auth: BearerTokenAuth | None = None) -> AsyncIterator[str]:
    """
    The address under which *page* is served, as the service does it.
    """
    app = guarded(auth, open_paths=OPEN_PATHS)
    page.add_routes(app, auth)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
