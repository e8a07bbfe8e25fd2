"""
The live page over HTTP on loopback: who is let in, what a browser is told, and the stream of new runs.
"""

import asyncio
import json
import re
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest
from doubles import ManualClock, eventually
from live_pages import at_once, in_order, late, page_of, served, shop, trace_id, wrong_order
from processing import Processing
from yarl import URL

from service.app.app import App
from service.clock import SystemClock
from service.config import config_from_tree
from service.durations import SECOND
from service.live_page.event_stream import StreamLimits
from service.live_page.feed import Feed
from service.live_page.page import STATIC
from service.live_page.sign_in import COOKIE
from service.telemetry.recorder import NullRecorder
from service.transport_security.bearer_token import BearerTokenAuth

TOKEN = "correct-horse"
HTML = {"Accept": "text/html,application/xhtml+xml"}
QUICK = StreamLimits(batch_s=0.01, heartbeat_s=0.03, write_timeout_s=0.2)
TLS = Path(__file__).parents[1] / "data" / "tls"


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


@pytest.fixture
async def processing() -> Processing:
    processing = shop()
    await in_order(processing, 1)
    await wrong_order(processing, 2)
    return processing


def bearer(token: str = TOKEN) -> BearerTokenAuth:
    return BearerTokenAuth(NullRecorder(), token=token)


async def status(client: aiohttp.ClientSession, url: str, headers: dict[str, str] | None = None) -> int:
    async with client.get(url, headers=headers, allow_redirects=False) as response:
        await response.read()
        return response.status


@pytest.mark.parametrize(
    "path",
    ["/", "/?verdict=false", f"/occurrences/{'01' * 16}", "/occurrences/gone", "/nowhere", "/api/occurrences", *STATIC],
)
async def test_every_answer_forbids_what_the_page_does_not_need(
    client: aiohttp.ClientSession, processing: Processing, path: str
) -> None:
    async with served(page_of(processing)) as url, client.get(url + path, headers=HTML) as response:
        policy = response.headers["Content-Security-Policy"]

    directives = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    assert "'none'" == directives["default-src"]
    assert {"'self'"} == {directives[name] for name in ("script-src", "style-src", "img-src", "connect-src")}
    assert {"'none'"} == {directives[name] for name in ("base-uri", "frame-ancestors")}
    assert "unsafe" not in policy
    assert "nosniff" == response.headers["X-Content-Type-Options"]


async def test_pages_need_nothing_that_the_policy_forbids(
    client: aiohttp.ClientSession, processing: Processing
) -> None:
    async with served(page_of(processing)) as url:
        for path in ("/", f"/occurrences/{'01' * 16}"):
            async with client.get(url + path) as response:
                html = await response.text()
            assert [] == re.findall(r"<style|\sstyle=|<script(?! src=\"/static/)|javascript:", html)


@pytest.mark.parametrize("path", ["/", "/events", f"/occurrences/{'01' * 16}", "/api/occurrences", "/find?q=01"])
async def test_without_a_token_nothing_is_told(
    client: aiohttp.ClientSession, processing: Processing, path: str
) -> None:
    async with served(page_of(processing), bearer()) as url:
        async with client.get(url + path) as response:
            assert HTTPStatus.UNAUTHORIZED == response.status
            assert "Bearer" == response.headers["WWW-Authenticate"]
        async with client.get(url + path, headers=HTML) as response:
            assert HTTPStatus.UNAUTHORIZED == response.status
            text = await response.text()
        assert "Sign in" in text
        assert trace_id(1).hex() not in text.replace(path, "")
        wrong = {"Authorization": "Bearer wrong"}
        assert HTTPStatus.FORBIDDEN == await status(client, url + path, headers=wrong)


async def test_a_token_in_the_header_lets_in(client: aiohttp.ClientSession, processing: Processing) -> None:
    async with served(page_of(processing), bearer()) as url:
        header = {"Authorization": f"Bearer {TOKEN}"}
        assert HTTPStatus.OK == await status(client, f"{url}/api/occurrences", headers=header)


async def test_a_browser_signs_in_once(client: aiohttp.ClientSession, processing: Processing) -> None:
    async with served(page_of(processing), bearer()) as url:
        wanted = f"/occurrences/{trace_id(1).hex()}"
        form = {"token": TOKEN, "target": wanted}
        async with client.post(f"{url}/sign-in", data=form, allow_redirects=False) as response:
            assert (HTTPStatus.SEE_OTHER, wanted) == (response.status, response.headers["Location"])
            cookie = response.headers["Set-Cookie"]
        assert HTTPStatus.OK == await status(client, url + wanted)

    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie


@pytest.mark.parametrize("token", ["", "wrong", f"{TOKEN}x"])
async def test_a_wrong_token_opens_no_session(
    client: aiohttp.ClientSession, processing: Processing, token: str
) -> None:
    async with served(page_of(processing), bearer()) as url:
        async with client.post(f"{url}/sign-in", data={"token": token, "target": "/"}) as response:
            assert HTTPStatus.UNAUTHORIZED == response.status
            assert "That token is not valid." in await response.text()
        assert HTTPStatus.UNAUTHORIZED == await status(client, f"{url}/")


async def test_an_invented_session_opens_nothing(client: aiohttp.ClientSession, processing: Processing) -> None:
    async with served(page_of(processing), bearer()) as url:
        client.cookie_jar.update_cookies({COOKIE: "invented"}, URL(url))
        assert HTTPStatus.UNAUTHORIZED == await status(client, f"{url}/")


@pytest.mark.parametrize(
    "target",
    ["//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere.example", "/a\r\nX: y", "", "/sign-in"],
)
async def test_signing_in_never_leads_elsewhere(
    client: aiohttp.ClientSession, processing: Processing, target: str
) -> None:
    async with served(page_of(processing), bearer()) as url:
        form = {"token": TOKEN, "target": target}
        async with client.post(f"{url}/sign-in", data=form, allow_redirects=False) as response:
            assert "/" == response.headers["Location"]


async def test_a_token_that_is_replaced_ends_its_sessions(
    client: aiohttp.ClientSession, processing: Processing, tmp_path: Path
) -> None:
    clock, file = ManualClock(), tmp_path / "token"
    file.write_text(TOKEN)
    auth = BearerTokenAuth(NullRecorder(), filename=file, clock=clock)
    async with served(page_of(processing), auth) as url:
        await client.post(f"{url}/sign-in", data={"token": TOKEN, "target": "/"})
        assert HTTPStatus.OK == await status(client, f"{url}/")

        file.write_text("another-one")
        clock.advance(2 * SECOND)

        assert HTTPStatus.FORBIDDEN == await status(client, f"{url}/")


async def test_results_and_traces_are_found(client: aiohttp.ClientSession, processing: Processing) -> None:
    result_id = processing.closings[0].deliveries[1].idempotency_id
    page = f"/occurrences/{trace_id(1).hex()}"
    async with served(page_of(processing)) as url:
        async with client.get(f"{url}/results/{result_id}", allow_redirects=False) as response:
            assert f"{page}#result-{result_id}" == response.headers["Location"]
        async with client.get(f"{url}/find?q={result_id}", allow_redirects=False) as response:
            assert page == response.headers["Location"]
        assert HTTPStatus.NOT_FOUND == await status(client, f"{url}/find?q=none")
        async with client.get(url + page) as response:
            assert f'id="result-{result_id}"' in await response.text()


async def test_the_same_is_there_as_json(client: aiohttp.ClientSession, processing: Processing) -> None:
    async with served(page_of(processing)) as url:
        async with client.get(f"{url}/api/occurrences?verdict=false") as response:
            (listed,) = (await response.json())["occurrences"]
        async with client.get(f"{url}/api/occurrences/{listed['token']}") as response:
            occurrence = await response.json()

    assert trace_id(2).hex() == listed["token"]
    assert listed == occurrence["summary"]
    assert ["book", "search"] == [call["name"] for call in occurrence["detail"]["calls"]]


@pytest.mark.parametrize("offset", ["-1", "x", "9" * 400, "٣"])
async def test_an_offset_that_is_none_shows_the_newest(
    client: aiohttp.ClientSession, processing: Processing, offset: str
) -> None:
    async with served(page_of(processing)) as url, client.get(f"{url}/", params={"offset": offset}) as response:
        assert HTTPStatus.OK == response.status


async def events(response: aiohttp.ClientResponse) -> AsyncIterator[list[dict[str, str]]]:
    """
    The batches of runs that a stream brings.
    """
    async for line in response.content:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


async def test_a_new_run_reaches_who_watches_and_a_filter_holds_back_the_rest(
    client: aiohttp.ClientSession, processing: Processing
) -> None:
    page = page_of(processing, limits=QUICK)
    async with served(page) as url, client.get(f"{url}/events?verdict=undetermined") as response:
        assert "text/event-stream" == response.content_type
        for scenario in (wrong_order, at_once):
            await scenario(processing)
            page.scored(processing.last)

        async with asyncio.timeout(10):
            batch = await anext(events(response))

    assert [trace_id(3).hex()] == [each["token"] for each in batch]
    assert batch[0]["html"].startswith("<tr ")


async def test_a_quiet_stream_shows_that_it_is_alive(client: aiohttp.ClientSession, processing: Processing) -> None:
    async with served(page_of(processing, limits=QUICK)) as url, client.get(f"{url}/events") as response:
        async with asyncio.timeout(10):
            assert [b"retry: 2000\n", b"\n", b":\n", b"\n", b":\n"] == [
                await response.content.readline() for _ in range(5)
            ]


async def test_a_stream_ends_in_time_to_be_checked_again(client: aiohttp.ClientSession, processing: Processing) -> None:
    limits = StreamLimits(batch_s=0.01, max_stream_s=0.05)
    async with served(page_of(processing, limits=limits)) as url, client.get(f"{url}/events") as response:
        async with asyncio.timeout(10):
            assert b"retry: 2000\n\n" == await response.read()


async def test_who_falls_behind_is_dropped(client: aiohttp.ClientSession, processing: Processing) -> None:
    feed = Feed(queue_size=3)
    page = page_of(processing, feed=feed, limits=QUICK)
    async with served(page) as url, client.get(f"{url}/events") as response:
        for _ in range(4):
            page.scored(processing.last)

        async with asyncio.timeout(10):
            await response.read()
        await eventually(lambda: len(feed) == 0)


async def test_who_does_not_read_at_all_is_dropped(processing: Processing) -> None:
    feed = Feed()
    page = page_of(processing, feed=feed, limits=StreamLimits(batch_s=0.001, max_rows=200, write_timeout_s=0.05))
    summary = page.recent.newest_first()[0].summary
    async with served(page) as url:
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.settimeout(0)
            await asyncio.get_running_loop().sock_connect(deaf, ("127.0.0.1", URL(url).port or 0))
            await asyncio.get_running_loop().sock_sendall(deaf, b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            await eventually(lambda: len(feed) == 1)

            async with asyncio.timeout(20):
                while len(feed):
                    for _ in range(200):
                        feed.publish(summary)
                    await asyncio.sleep(0.001)


async def test_the_number_of_streams_is_limited(client: aiohttp.ClientSession, processing: Processing) -> None:
    feed = Feed(max_clients=1)
    async with served(page_of(processing, feed=feed, limits=QUICK)) as url:
        async with client.get(f"{url}/events") as response:
            await response.content.readline()
            assert HTTPStatus.SERVICE_UNAVAILABLE == await status(client, f"{url}/events")
        await eventually(lambda: len(feed) == 0)
        async with client.get(f"{url}/events") as response:
            assert HTTPStatus.OK == response.status


async def test_open_streams_do_not_hold_up_the_end(client: aiohttp.ClientSession, processing: Processing) -> None:
    page = page_of(processing)
    async with asyncio.timeout(10):
        async with served(page) as url:
            response = await client.get(f"{url}/events")
            await response.content.readline()
        response.close()


async def test_a_revision_is_told_under_the_same_name(client: aiohttp.ClientSession) -> None:
    processing = shop()
    token = await late(processing)
    page = page_of(processing, limits=QUICK)
    async with served(page) as url, client.get(f"{url}/events") as response:
        page.scored(processing.last)
        async with asyncio.timeout(10):
            (run,) = await anext(events(response))

    assert token == run["token"]
    assert "rev 1" in run["html"]


def service(extensions: Mapping[str, object]) -> App:
    tree = {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": "127.0.0.1:0"}}}},
        "exporters": {"otlp_grpc": {"endpoint": "127.0.0.1:1", "tls": {"insecure": True}}},
        "extensions": extensions,
        "service": {"extensions": list(extensions), "telemetry": {"metrics": {"level": "none"}}},
    }
    return App(config_from_tree(tree, environ={}), SystemClock())  # type: ignore[arg-type]  # plain values of a test


async def test_it_is_off_unless_configured() -> None:
    app = service({})
    await app.start()
    try:
        assert {} == app.pages.ports
    finally:
        await app.stop()


async def test_tls_and_a_token_are_configured_as_everywhere(client: aiohttp.ClientSession) -> None:
    tls = {"cert_file": str(TLS / "server.pem"), "key_file": str(TLS / "server.key")}
    page = {"endpoint": "127.0.0.1:0", "tls": tls, "auth": {"authenticator": "bearertokenauth"}}
    app = service({"live_page": page, "bearertokenauth": {"token": TOKEN}})
    await app.start()
    try:
        url = f"https://localhost:{app.pages.ports['extensions::live_page']}/"
        context = ssl.create_default_context(cafile=TLS / "ca.pem")
        async with client.get(url, ssl=context) as response:
            assert HTTPStatus.UNAUTHORIZED == response.status
        async with client.get(url, ssl=context, headers={"Authorization": f"Bearer {TOKEN}"}) as response:
            assert HTTPStatus.OK == response.status
        form = {"token": TOKEN, "target": "/"}
        async with client.post(f"{url}sign-in", ssl=context, data=form, allow_redirects=False) as response:
            assert "Secure" in response.headers["Set-Cookie"]
    finally:
        await app.stop()
