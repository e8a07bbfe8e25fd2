"""
Bearer tokens: asked for by receivers, sent by exporters. Tokens appear in no message and no representation.
"""

import hmac
from pathlib import Path

from service.clock import Clock
from service.durations import SECOND
from service.errors import ConfigError, PermissionDenied, Unauthenticated
from service.telemetry.recorder import Recorder
from service.transport_security.reloading import Reloading

FILE_INTERVAL_NS = SECOND
"""The Collector watches the file; looking once a second is as good and needs no watcher."""


class BearerTokenAuth:
    """
    The tokens of one `bearertokenauth` extension. A file may hold several, one on a line: each of them is let in, and
    the first is sent.
    """

    def __init__(
        self,
        recorder: Recorder,
        *,
        token: str | None = None,
        filename: Path | None = None,
        scheme: str = "Bearer",
        where: str = "extensions::bearertokenauth",
        clock: Clock | None = None,
    ) -> None:
        self._scheme = scheme
        self._paths = [filename] if filename else []

        def load() -> list[str]:
            tokens = filename.read_text(encoding="utf-8").split() if filename else [token or ""]
            if not any(tokens):
                raise ValueError("there is no token in it")
            return tokens

        try:
            self._tokens = Reloading(self._paths, load, recorder, interval_ns=FILE_INTERVAL_NS, clock=clock)
        except (OSError, ValueError) as error:
            raise ConfigError([(f"{where}::filename", str(error))]) from error

    @property
    def scheme(self) -> str:
        return self._scheme

    def authorization(self) -> str:
        """
        The value of the authorization header that an exporter sends.
        """
        return f"{self._scheme} {self._tokens.current()[0]}"

    def check(self, authorization: str | None) -> None:
        """
        Let the sender of this authorization header in, or raise `Unauthenticated` or `PermissionDenied`.
        """
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != self._scheme.lower() or not token.strip():
            message = f"{self._scheme} credentials are required"
            raise Unauthenticated(message)
        if not self._knows(token.strip()):
            raise PermissionDenied("the credentials are not valid")

    def _knows(self, token: str) -> bool:
        """In the same time for every token of a length: all are compared, each as a whole."""
        given = token.encode("utf-8", "surrogateescape")
        return sum(hmac.compare_digest(given, known.encode()) for known in self._tokens.current()) > 0
