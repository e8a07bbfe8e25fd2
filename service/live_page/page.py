"""
The live page as an HTTP application: its routes, and the headers that keep a browser from doing anything else.

Reads only: no request changes what the service holds. Pages are rendered in a thread, since the event loop has spans to
take.
"""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.resources import files

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware
from msgspec import Struct

from service.clock import Clock
from service.live_page.event_stream import StreamLimits, stream_runs
from service.live_page.feed import Feed
from service.live_page.filters import filter_of
from service.live_page.recent import Entry, RecentOccurrences
from service.live_page.rendering import ListCounts, Renderer
from service.live_page.sign_in import COOKIE, Sessions, set_cookie, with_session
from service.processor.outputs import Scored
from service.scoring.settings import ScoringSettings
from service.transport_security.bearer_token import BearerTokenAuth

SIGN_IN = "/sign-in"
CONTENT_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
STATIC = {
    f"/static/{file.name}": (file.read_bytes(), CONTENT_TYPES[file.name[file.name.rindex(".") :]])
    for file in files("service.live_page").joinpath("static").iterdir()
}
OPEN_PATHS = frozenset({SIGN_IN, *STATIC})
"""What a browser needs before somebody has signed in; none of it holds anything of a trace."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
MAX_OFFSET = 100_000
MAX_FORM_BYTES = 16 * 1024

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HeldOccurrence(Struct, frozen=True):
    """
    One occurrence as JSON.
    """

    summary: msgspec.Raw
    detail: msgspec.Raw


class LivePage:
    """
    What was scored lately, for people. Implements `service.processor.outputs.Observer`.
    """

    def __init__(
        self,
        clock: Clock,
        settings: ScoringSettings,
        version: str,
        *,
        feed: Feed | None = None,
        limits: StreamLimits | None = None,
    ) -> None:
        self.recent = RecentOccurrences(clock, settings)
        self._feed = Feed() if feed is None else feed
        self._limits = StreamLimits() if limits is None else limits
        self._renderer = Renderer(version)
        self.recent.listen(self._feed.publish)

    def scored(self, scored: Scored) -> None:
        """
        Take one closing.
        """
        self.recent.scored(scored)

    def add_routes(self, app: web.Application, auth: BearerTokenAuth | None) -> None:
        """
        Serve the page from *app*, which lets nobody in without a token if *auth* asks for one.
        """
        app.on_response_prepare.append(_add_headers)
        app.on_shutdown.append(self._end_streams)
        app.middlewares.insert(0, self._as_page)
        if auth is not None:
            sessions = Sessions(auth)
            app.middlewares.insert(1, with_session(sessions))
            app.router.add_post(SIGN_IN, self._sign_in_with(sessions))
        app.router.add_get("/", self._list)
        app.router.add_get("/events", self._events)
        app.router.add_get("/find", self._find)
        app.router.add_get("/occurrences/{token}", self._occurrence)
        app.router.add_get("/results/{id}", self._result)
        app.router.add_get("/api/occurrences", self._list_as_json)
        app.router.add_get("/api/occurrences/{token}", self._occurrence_as_json)
        for path in STATIC:
            app.router.add_get(path, _static)

    async def _end_streams(self, _app: web.Application) -> None:
        self._feed.end()

    async def _list(self, request: web.Request) -> web.Response:
        recent = self.recent
        counts = ListCounts(held=len(recent), seen=recent.seen_count)
        chosen, offset = filter_of(request.query), _offset(request.query.get("offset", ""))
        return _html(await asyncio.to_thread(self._renderer.list_page, recent.newest_first(), chosen, offset, counts))

    async def _occurrence(self, request: web.Request) -> web.Response:
        entry = self.recent.get(request.match_info["token"])
        if entry is None:
            raise web.HTTPNotFound
        return _html(await asyncio.to_thread(self._renderer.occurrence_page, entry))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        return await stream_runs(request, self._feed, filter_of(request.query), self._renderer.row, self._limits)

    async def _find(self, request: web.Request) -> web.Response:
        token = self.recent.find(request.query.get("q", ""))
        if token is None:
            raise web.HTTPNotFound
        raise web.HTTPSeeOther(f"/occurrences/{token}")

    async def _result(self, request: web.Request) -> web.Response:
        result_id = request.match_info["id"]
        token = self.recent.find(result_id)
        if token is None:
            raise web.HTTPNotFound
        raise web.HTTPSeeOther(f"/occurrences/{token}#result-{result_id}")

    async def _list_as_json(self, request: web.Request) -> web.Response:
        body = await asyncio.to_thread(_summaries_as_json, self.recent.newest_first(), request)
        return web.Response(body=body, content_type="application/json")

    async def _occurrence_as_json(self, request: web.Request) -> web.Response:
        entry = self.recent.get(request.match_info["token"])
        if entry is None:
            raise web.HTTPNotFound
        held = HeldOccurrence(*(msgspec.Raw(msgspec.json.encode(part)) for part in (entry.summary, entry.detail)))
        return web.Response(body=msgspec.json.encode(held), content_type="application/json")

    def _sign_in_with(self, sessions: Sessions) -> Handler:
        async def sign_in(request: web.Request) -> web.Response:
            if (request.content_length or MAX_FORM_BYTES + 1) > MAX_FORM_BYTES:
                raise web.HTTPRequestEntityTooLarge(MAX_FORM_BYTES, request.content_length or 0)
            form = await request.post()
            target = _local(str(form.get("target", "")))
            session_id = sessions.open(str(form.get("token", "")).strip())
            if session_id is None:
                page = self._renderer.sign_in_page(target, was_refused=True)
                return _html(page, status=web.HTTPUnauthorized.status_code)
            sessions.close(request.cookies.get(COOKIE, ""))
            response = web.Response(status=web.HTTPSeeOther.status_code, headers={hdrs.LOCATION: target})
            set_cookie(response, session_id, is_secure=request.secure)
            return response

        return sign_in

    @property
    def _as_page(self) -> Middleware:
        """
        A middleware that answers people with a page where a program gets a bare status.
        """

        @web.middleware
        async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                return await handler(request)
            except web.HTTPException as answer:
                page = self._page_of(answer, request) if "text/html" in request.headers.get(hdrs.ACCEPT, "") else None
                if page is None:
                    raise
                return _html(page, status=answer.status_code)

        return middleware

    def _page_of(self, answer: web.HTTPException, request: web.Request) -> str | None:
        if answer.status_code in {web.HTTPUnauthorized.status_code, web.HTTPForbidden.status_code}:
            return self._renderer.sign_in_page(_local(request.path_qs), was_refused=False)
        if answer.status_code == web.HTTPNotFound.status_code:
            return self._renderer.message_page("Not here", "It is not held, or not any more: only recent runs are.")
        return None


def _summaries_as_json(entries: list[Entry], request: web.Request) -> bytes:
    chosen = filter_of(request.query)
    summaries = [summary for entry in entries if chosen.lets_through(summary := entry.summary)]
    return msgspec.json.encode({"occurrences": summaries})


def _html(text: str, *, status: int = 200) -> web.Response:
    return web.Response(text=text, content_type="text/html", status=status)


def _offset(text: str) -> int:
    return min(int(text), MAX_OFFSET) if text.isascii() and text.isdecimal() and len(text) < 8 else 0


def _local(target: str) -> str:
    """
    *target* if it leads to a page of ours: a form that is sent to us must not lead elsewhere.
    """
    is_ours = target.startswith("/") and not target.startswith(("//", "/\\", SIGN_IN)) and target.isprintable()
    return target if is_ours else "/"


async def _add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
    response.headers.setdefault(hdrs.CACHE_CONTROL, "no-store")


async def _static(request: web.Request) -> web.Response:
    body, content_type = STATIC[request.path]
    return web.Response(body=body, content_type=content_type, headers={hdrs.CACHE_CONTROL: "max-age=300"})
