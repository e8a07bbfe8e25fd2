"""
TLS for listeners and for clients: from certificate files to what grpcio and `ssl` want.

Keys and meaning as the Collector's `configtls`. gRPC for Python cannot raise its lowest version above TLS 1.2, nor skip
verification; what cannot be had is a `ConfigError`, not a silent lower standard.
"""

import ssl
from pathlib import Path
from typing import Literal

import grpc
from msgspec import Struct

from service.clock import Clock
from service.durations import SECOND
from service.errors import ConfigError
from service.telemetry.recorder import Recorder
from service.transport_security.reloading import Reloading

TlsVersion = Literal["1.2", "1.3"]
RELOAD_INTERVAL_NS = 30 * SECOND

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class ServerTlsSettings(Struct, frozen=True, kw_only=True):
    """
    `tls` of a listener. With *client_ca_file*, clients must show a certificate (mutual TLS).
    """

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None
    min_version: TlsVersion = "1.2"
    reload_interval_ns: int = RELOAD_INTERVAL_NS

    @property
    def paths(self) -> list[Path]:
        return [path for path in (self.cert_file, self.key_file, self.client_ca_file) if path is not None]


class ClientTlsSettings(Struct, frozen=True, kw_only=True):
    """
    `tls` of an exporter. Without *ca_file* the system's authorities count.
    """

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    server_name_override: str | None = None
    min_version: TlsVersion = "1.2"
    reload_interval_ns: int = RELOAD_INTERVAL_NS

    @property
    def paths(self) -> list[Path]:
        return [path for path in (self.cert_file, self.key_file, self.ca_file) if path is not None]


class ServerMaterial(Struct, frozen=True, eq=False):
    """
    What one reading of the files gave, for `ssl` and for grpcio.
    """

    context: ssl.SSLContext
    key: bytes
    chain: bytes
    client_authorities: bytes | None


class ClientMaterial(Struct, frozen=True, eq=False):
    """
    What one reading of the files gave, for `ssl` and for grpcio. A new object means that the files changed.
    """

    context: ssl.SSLContext
    key: bytes | None
    chain: bytes | None
    authorities: bytes | None


class ServerTls:
    """
    Credentials of a listener. *where* is the configuration path for error messages.
    """

    def __init__(
        self, settings: ServerTlsSettings, recorder: Recorder, *, where: str = "tls", clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._where = where
        try:
            self._material = Reloading(
                settings.paths, self._load, recorder, interval_ns=settings.reload_interval_ns, clock=clock
            )
        except (OSError, ValueError) as error:
            raise ConfigError([(where, str(error))]) from error

    def _load(self) -> ServerMaterial:
        settings = self._settings
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = _VERSIONS[settings.min_version]
        context.load_cert_chain(settings.cert_file, settings.key_file)
        if settings.client_ca_file is not None:
            context.load_verify_locations(settings.client_ca_file)
            context.verify_mode = ssl.CERT_REQUIRED
        return ServerMaterial(
            context, settings.key_file.read_bytes(), settings.cert_file.read_bytes(), _read(settings.client_ca_file)
        )

    def ssl_context(self) -> ssl.SSLContext:
        """
        A context for a listener's whole life: each handshake takes the newest certificates.
        """
        context = self._load().context

        def use_newest(connection: ssl.SSLObject, _name: str, _context: ssl.SSLContext) -> None:
            connection.context = self._material.current().context

        context.sni_callback = use_newest
        return context

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """
        Credentials that ask for the newest certificates at each handshake.
        """
        _refuse_min_version(self._settings.min_version, self._where)
        return grpc.dynamic_ssl_server_credentials(
            self._grpc_configuration(),
            self._grpc_configuration,
            require_client_authentication=self._settings.client_ca_file is not None,
        )

    def _grpc_configuration(self) -> grpc.ServerCertificateConfiguration:
        material = self._material.current()
        return grpc.ssl_server_certificate_configuration([(material.key, material.chain)], material.client_authorities)


class ClientTls:
    """
    Credentials of an exporter. *where* is the configuration path for error messages.
    """

    def __init__(
        self, settings: ClientTlsSettings, recorder: Recorder, *, where: str = "tls", clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._where = where
        try:
            self._material = Reloading(
                settings.paths, self._load, recorder, interval_ns=settings.reload_interval_ns, clock=clock
            )
        except (OSError, ValueError) as error:
            raise ConfigError([(where, str(error))]) from error

    @property
    def server_name_override(self) -> str | None:
        return self._settings.server_name_override

    def current(self) -> ClientMaterial:
        """
        The newest material; the same object while the files do not change.
        """
        return self._material.current()

    def _load(self) -> ClientMaterial:
        settings = self._settings
        context = ssl.create_default_context(cafile=settings.ca_file)
        context.minimum_version = _VERSIONS[settings.min_version]
        if settings.cert_file is not None:
            context.load_cert_chain(settings.cert_file, settings.key_file)
        authorities = _read(settings.ca_file) or _authorities_of(context)
        return ClientMaterial(context, _read(settings.key_file), _read(settings.cert_file), authorities)

    def grpc_credentials(self, material: ClientMaterial) -> grpc.ChannelCredentials:
        _refuse_min_version(self._settings.min_version, self._where)
        return grpc.ssl_channel_credentials(material.authorities, material.key, material.chain)


def _read(path: Path | None) -> bytes | None:
    return path.read_bytes() if path is not None else None


def _authorities_of(context: ssl.SSLContext) -> bytes | None:
    """The system's authorities in PEM; None leaves grpcio its own list."""
    certificates = context.get_ca_certs(binary_form=True)
    return "".join(map(ssl.DER_cert_to_PEM_cert, certificates)).encode() or None


def _refuse_min_version(version: TlsVersion, where: str) -> None:
    if version != "1.2":
        raise ConfigError([(f"{where}::min_version", "gRPC takes TLS 1.2 and newer; only HTTP can ask for more")])
