"""
TLS and bearer tokens, as configured, for listeners and exporters.
"""

from pathlib import Path

from service.clock import Clock
from service.config import Config
from service.config.tls import AuthConfig, ClientTlsConfig, ServerTlsConfig
from service.telemetry.recorder import Recorder
from service.transport_security.bearer_token import BearerTokenAuth
from service.transport_security.tls import ClientTls, ClientTlsSettings, ServerTls, ServerTlsSettings


class Security:
    """
    Makes credentials of configuration blocks. *where* is the path of the block, for error messages.
    """

    def __init__(self, config: Config, recorder: Recorder, clock: Clock) -> None:
        self._config = config
        self._recorder = recorder
        self._clock = clock

    def server_tls(self, block: ServerTlsConfig | None, where: str) -> ServerTls | None:
        """
        Credentials of a listener; `None` is plaintext. Raises `ConfigError`.
        """
        if block is None or block.cert_file is None or block.key_file is None:
            return None
        settings = ServerTlsSettings(
            cert_file=Path(block.cert_file),
            key_file=Path(block.key_file),
            client_ca_file=_path(block.client_ca_file),
            min_version=block.min_version,
            reload_interval_ns=block.reload_interval_ns,
        )
        return ServerTls(settings, self._recorder, where=f"{where}::tls", clock=self._clock)

    def client_tls(self, block: ClientTlsConfig | None, where: str) -> ClientTls | None:
        """
        Credentials towards the next hop; `None` is plaintext. Without a block the system's certificates hold.
        """
        if block is not None and block.insecure:
            return None
        block = block or ClientTlsConfig()
        settings = ClientTlsSettings(
            ca_file=_path(block.ca_file),
            cert_file=_path(block.cert_file),
            key_file=_path(block.key_file),
            server_name_override=block.server_name_override,
            min_version=block.min_version,
            reload_interval_ns=block.reload_interval_ns,
        )
        return ClientTls(settings, self._recorder, where=f"{where}::tls", clock=self._clock)

    def bearer_token(self, auth: AuthConfig | None) -> BearerTokenAuth | None:
        """
        The bearer token that *auth* names; `None` is no authentication. Raises `ConfigError`.
        """
        extension = self._config.authenticator(auth)
        if auth is None or extension is None:
            return None
        return BearerTokenAuth(
            self._recorder,
            token=extension.token.get_secret_value() if extension.token else None,
            filename=_path(extension.filename),
            scheme=extension.scheme,
            clock=self._clock,
            where=f"extensions::{auth.authenticator}",
        )


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)
