"""
The types of configuration values: what a key may hold, how it is read, how it is written back.

Whole numbers, switches and fractions are strict: `"5"` is not 5 and `yes` is not `true`, so that a mistake is told and
never guessed.
"""

import re
from ipaddress import ip_address
from typing import Annotated, Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    SecretStr,
    Strict,
    StringConstraints,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from service.durations import format_duration, parse_duration

DURATION_PATTERN = r"^(0|([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+)$"
MAX_PORT = 65_535


def _describe(schema: dict[str, Any], block: type[BaseModel]) -> None:
    """
    JSON Schema as a person reads it: defaults of durations as they are written, no titles.
    """
    schema.pop("title", None)
    for name, field in block.model_fields.items():
        described = schema["properties"][field.alias or name]
        described.pop("title", None)
        if name.endswith("_ns") and isinstance(described.get("default"), int):
            described["default"] = format_duration(described["default"])


class Block(BaseModel):
    """
    A block of the configuration: immutable, and an unknown key in it is a mistake.

    A field that holds nanoseconds is named `…_ns`; its key in YAML has no suffix.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=lambda name: name.removesuffix("_ns"),
        hide_input_in_errors=True,
        json_schema_extra=_describe,
    )


class EmptyMeansDefaults:
    """
    Marks a block whose key may stand alone (`grpc:`), which YAML reads as null and people mean as "with defaults".
    """

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            lambda value: {} if value is None else value, handler(source)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        block = handler(schema)
        return block if {"type": "null"} in block.get("anyOf", ()) else {"anyOf": [block, {"type": "null"}]}


Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": DURATION_PATTERN}, {"const": 0}]}),
]
"""Nanoseconds."""


def _above_zero(duration_ns: int) -> int:
    if duration_ns == 0:
        raise ValueError("should be longer than 0s")
    return duration_ns


PositiveDuration = Annotated[Duration, AfterValidator(_above_zero)]

Switch = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=0, le=2**53)]
PositiveCount = Annotated[int, Strict(), Field(ge=1, le=2**53)]
Mebibytes = Annotated[int, Strict(), Field(ge=1, le=2**24)]
Fraction = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
Multiplier = Annotated[float, Strict(), Field(ge=1, le=1_000, allow_inf_nan=False)]
Port = Annotated[int, Strict(), Field(ge=0, le=MAX_PORT)]

Name = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^\S(.*\S)?$")]
AttributeKey = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^\S+$")]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]


class HostPort(NamedTuple):
    """
    A network address; an empty host means every interface, port 0 a free one.
    """

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def split_endpoint(endpoint: str) -> HostPort:
    """
    Host and port of `host:port`, `[ipv6]:port` or `:port`. Raises `ValueError`.
    """
    host, colon, port = endpoint.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port[:6]) > MAX_PORT:
        raise ValueError("should be host:port, for example localhost:4317")
    return HostPort(_bare_host(host), int(port))


def _bare_host(host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        return _ip_address(host[1:-1])
    if not host.isascii() or any(character in host for character in ":/@[] \t\r\n\0"):
        raise ValueError("should be host:port without a scheme; an IPv6 address stands in brackets: [::1]:4317")
    return host


def _ip_address(text: str) -> str:
    try:
        return str(ip_address(text.partition("%")[0]))
    except ValueError:
        raise ValueError("should be an IPv6 address in brackets and a port, for example [::1]:4317") from None


def _check_endpoint(endpoint: str) -> str:
    split_endpoint(endpoint)
    return endpoint


def _check_target(endpoint: str) -> str:
    host, port = split_endpoint(re.sub("^https?://", "", endpoint).removesuffix("/"))
    if not host or not port:
        raise ValueError("should name a host and a port to send to, for example collector:4317")
    return endpoint


def _check_host(host: str) -> str:
    split_endpoint(join_endpoint(host, 0))
    return host


def join_endpoint(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


Host = Annotated[str, StringConstraints(min_length=1, max_length=256), AfterValidator(_check_host)]
"""A name, an IPv4 address or a bare IPv6 address."""
Endpoint = Annotated[str, StringConstraints(max_length=512), AfterValidator(_check_endpoint)]
"""An address to listen on."""
TargetEndpoint = Annotated[str, StringConstraints(max_length=512), AfterValidator(_check_target)]
"""An address to send to. The Collector puts up with a scheme before it, and so do we."""


def _split_url(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.port == 0:
        raise ValueError("port 0")
    return parts


def _check_url(url: str) -> str:
    try:
        parts = _split_url(url)
    except ValueError:
        raise ValueError("should be a URL such as http://collector:4318") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or any(map(str.isspace, url)):
        raise ValueError("should be a URL such as http://collector:4318")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("should hold no user, query or fragment; credentials go into auth or headers")
    return url


Url = Annotated[str, StringConstraints(max_length=2048), AfterValidator(_check_url)]


def _check_header_value(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text.isascii() or not text.isprintable():
        raise ValueError("should hold printable ASCII characters only")
    return value


HeaderName = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", max_length=256)]
HeaderValue = Annotated[SecretStr, AfterValidator(_check_header_value)]
"""Masked wherever it is printed."""


def _check_distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) < len(values):
        raise ValueError("should name nothing twice")
    return values


Distinct = AfterValidator(_check_distinct)
"""Marks a list that may name nothing twice."""
