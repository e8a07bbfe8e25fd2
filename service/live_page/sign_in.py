"""
Signing in with a browser, which cannot send an authorization header by itself.

A person pastes the bearer token once; a random session id in a cookie then stands for the header. Each request is
checked again with that header, so that a token that is taken back ends its sessions. What lets in is still the bearer
token alone.
"""

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from service.errors import PermissionDenied, Unauthenticated
from service.transport_security.bearer_token import BearerTokenAuth

COOKIE = "toolscore_session"
MAX_SESSIONS = 200
MAX_AGE_S = 12 * 3600

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Sessions:
    """
    Session ids and the authorization headers they stand for. The oldest is forgotten when there are too many.
    """

    def __init__(self, auth: BearerTokenAuth) -> None:
        self._auth = auth
        self._headers: OrderedDict[str, str] = OrderedDict()

    def open(self, token: str) -> str | None:
        """
        The id of a new session, if *token* is valid.
        """
        header = f"{self._auth.scheme} {token}"
        try:
            self._auth.check(header)
        except (Unauthenticated, PermissionDenied):
            return None
        session_id = secrets.token_urlsafe(32)
        self._headers[session_id] = header
        while len(self._headers) > MAX_SESSIONS:
            self._headers.popitem(last=False)
        return session_id

    def header_of(self, session_id: str) -> str | None:
        return self._headers.get(session_id)

    def close(self, session_id: str) -> None:
        self._headers.pop(session_id, None)


def with_session(sessions: Sessions) -> Middleware:
    """
    A middleware that puts the header of the session into the request, before anything checks it.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        header = sessions.header_of(request.cookies.get(COOKIE, ""))
        if header is None or hdrs.AUTHORIZATION in request.headers:
            return await handler(request)
        headers = request.headers.copy()
        headers[hdrs.AUTHORIZATION] = header
        return await handler(request.clone(headers=headers))

    return middleware


def set_cookie(response: web.StreamResponse, session_id: str, *, is_secure: bool) -> None:
    """
    A cookie that no script reads and no other site sends.
    """
    response.set_cookie(
        COOKIE, session_id, max_age=MAX_AGE_S, path="/", httponly=True, samesite="Strict", secure=is_secure
    )
