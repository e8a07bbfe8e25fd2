"""
TLS and authentication of servers and clients: keys as in the Collector's `configtls` and `configauth`.
"""

from typing import Literal

from pydantic import Field, model_validator

from service.config.values import Block, Duration, FilePath, Name, Switch
from service.durations import SECOND

RELOAD_INTERVAL_NS = 30 * SECOND
"""The Collector's is never; certificates of a mesh are rotated within hours, so looking twice a minute is ample."""

TlsVersion = Literal["1.2", "1.3"]


class TlsConfig(Block):
    """
    What both sides of a TLS connection have.
    """

    cert_file: FilePath | None = Field(None, description="Certificate in PEM form, with its intermediates.")
    key_file: FilePath | None = Field(None, description="Private key of cert_file in PEM form.")
    min_version: TlsVersion = Field("1.2", description="Lowest TLS version that is accepted.")
    reload_interval_ns: Duration = Field(
        RELOAD_INTERVAL_NS, description="How often the files are looked at for a change. 0s: never."
    )

    @model_validator(mode="after")
    def _certificate_has_its_key(self) -> "TlsConfig":
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file should be given together")
        return self


class ServerTlsConfig(TlsConfig):
    """
    TLS of a listener. A listener without this block is plaintext.
    """

    client_ca_file: FilePath | None = Field(
        None, description="Certificates that client certificates are verified against; requires one (mutual TLS)."
    )

    @model_validator(mode="after")
    def _server_has_a_certificate(self) -> "ServerTlsConfig":
        if self.cert_file is None:
            raise ValueError("cert_file and key_file are required for a listener")
        return self


class ClientTlsConfig(TlsConfig):
    """
    TLS towards the next hop. A gRPC exporter without this block uses TLS with the system's certificates.
    """

    insecure: Switch = Field(default=False, description="Plaintext: no TLS at all.")
    ca_file: FilePath | None = Field(
        None, description="Certificates that the server's is verified against; left out: the system's."
    )
    server_name_override: Name | None = Field(
        None, description="Name that the server's certificate is verified for, instead of the endpoint's host."
    )


class AuthConfig(Block):
    """
    Which extension authenticates.
    """

    authenticator: Name = Field(description="Id of an authenticator extension, for example bearertokenauth.")
