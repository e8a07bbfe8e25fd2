"""
`extensions`: health, the live page, and who may come in.
"""

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, model_validator

from service.config.components import Components
from service.config.tls import AuthConfig, ServerTlsConfig
from service.config.values import Block, Endpoint, FilePath, HeaderName, HeaderValue

HEALTH_ENDPOINT = "localhost:13133"
LIVE_PAGE_ENDPOINT = "localhost:13140"


class HealthCheckConfig(Block):
    """
    Serves `/livez` and `/readyz`.
    """

    endpoint: Endpoint = Field(HEALTH_ENDPOINT, description="Address to listen on.")
    path: Annotated[str, StringConstraints(pattern=r"^/[A-Za-z0-9._~/-]*$", max_length=256)] = Field(
        "/", description="Path that answers as /readyz does, for probes written for the Collector."
    )
    tls: ServerTlsConfig | None = Field(None, description="TLS; left out: plaintext.")


class LivePageConfig(Block):
    """
    Shows recent occurrences with their scores, and why.
    """

    endpoint: Endpoint = Field(LIVE_PAGE_ENDPOINT, description="Address to listen on.")
    tls: ServerTlsConfig | None = Field(None, description="TLS; left out: plaintext.")
    auth: AuthConfig | None = Field(None, description="Who may look; left out: everybody.")


def _check_not_blank(token: SecretStr) -> SecretStr:
    if not token.get_secret_value().strip():
        raise ValueError("should not be empty")
    return token


Token = Annotated[HeaderValue, AfterValidator(_check_not_blank)]


class BearerTokenAuthConfig(Block):
    """
    A bearer token: asked for by listeners, sent by exporters.
    """

    scheme: HeaderName = Field("Bearer", description="What stands before the token in the authorization header.")
    token: Token | None = Field(None, description="The token. Masked when printed.")
    filename: FilePath | None = Field(None, description="File that holds the token, re-read when it changes.")

    @model_validator(mode="after")
    def _has_one_source(self) -> "BearerTokenAuthConfig":
        if (self.token is None) == (self.filename is None):
            raise ValueError("should have either token or filename")
        return self


ExtensionConfig = HealthCheckConfig | LivePageConfig | BearerTokenAuthConfig

ExtensionsConfig = Annotated[
    dict[str, ExtensionConfig],
    Components(
        {"health_check": HealthCheckConfig, "live_page": LivePageConfig, "bearertokenauth": BearerTokenAuthConfig}
    ),
]
