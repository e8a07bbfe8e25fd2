"""
TLS, mutual TLS and bearer tokens, each way, with our own receivers and clients facing each other and a plain one.

Certificates stand in `tests/data/tls` (`make.sh` makes them anew).
"""

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol

import aiohttp
import grpc
import grpc.aio
import pytest
from doubles import CountingRecorder, ManualClock, RecordingConsumer
from grpc_health.v1 import health_pb2, health_pb2_grpc
from otlp_requests import trace_request

from service.durations import SECOND
from service.errors import ConfigError
from service.exporter.attempt import Attempt, AttemptOutcome, Client
from service.exporter.otlp_grpc import GrpcExporterSettings, OtlpGrpcClient
from service.exporter.otlp_http import HttpExporterSettings, OtlpHttpClient
from service.pipeline import Signal
from service.receiver.otlp_grpc import GrpcReceiverSettings, OtlpGrpcReceiver
from service.receiver.otlp_http import HttpReceiverSettings, OtlpHttpReceiver
from service.telemetry.recorder import NullRecorder
from service.transport_security.bearer_token import BearerTokenAuth
from service.transport_security.tls import ClientTls, ClientTlsSettings, ServerTls, ServerTlsSettings, TlsVersion

DATA = Path(__file__).parents[1] / "data" / "tls"
REQUEST = trace_request("a")
TRANSPORTS = ["grpc", "http"]
DELIVERED, RETRYABLE, PERMANENT = AttemptOutcome.DELIVERED, AttemptOutcome.RETRYABLE, AttemptOutcome.PERMANENT


class Receiver(Protocol):
    port: int

    async def start(self) -> None: ...
    async def stop(self, grace_ns: int) -> None: ...


def server_tls(
    name: str = "server",
    *,
    client_ca: str | None = None,
    directory: Path = DATA,
    clock: ManualClock | None = None,
    min_version: TlsVersion = "1.2",
) -> ServerTls:
    settings = ServerTlsSettings(
        cert_file=directory / f"{name}.pem",
        key_file=directory / f"{name}.key",
        client_ca_file=directory / f"{client_ca}.pem" if client_ca else None,
        min_version=min_version,
    )
    return ServerTls(settings, NullRecorder(), clock=clock)


def client_tls(
    *,
    ca: str = "ca",
    name: str | None = None,
    override: str | None = None,
    directory: Path = DATA,
    clock: ManualClock | None = None,
    min_version: TlsVersion = "1.2",
) -> ClientTls:
    settings = ClientTlsSettings(
        ca_file=directory / f"{ca}.pem",
        cert_file=directory / f"{name}.pem" if name else None,
        key_file=directory / f"{name}.key" if name else None,
        server_name_override=override,
        min_version=min_version,
    )
    return ClientTls(settings, NullRecorder(), clock=clock)


class Link:
    """
    Receivers and clients of one transport, closed at the end of the test.
    """

    def __init__(self, transport: str, stack: AsyncExitStack) -> None:
        self.transport = transport
        self.consumer = RecordingConsumer()
        self.recorder = CountingRecorder()
        self._stack = stack

    async def listen(self, tls: ServerTls | None = None, auth: BearerTokenAuth | None = None) -> int:
        receiver: Receiver
        if self.transport == "grpc":
            grpc_settings = GrpcReceiverSettings(endpoint="localhost:0")
            receiver = OtlpGrpcReceiver(grpc_settings, self.consumer, self.recorder, tls=tls, auth=auth)
        else:
            http_settings = HttpReceiverSettings(endpoint="localhost:0")
            receiver = OtlpHttpReceiver(http_settings, self.consumer, self.recorder, tls=tls, auth=auth)
        await receiver.start()
        self._stack.push_async_callback(receiver.stop, 0)
        return receiver.port

    def client(self, port: int, tls: ClientTls | None = None, auth: BearerTokenAuth | None = None) -> Client:
        client: Client
        if self.transport == "grpc":
            client = OtlpGrpcClient(GrpcExporterSettings(endpoint=f"localhost:{port}"), tls=tls, auth=auth)
        else:
            endpoint = f"http{'s' if tls else ''}://localhost:{port}"
            client = OtlpHttpClient(HttpExporterSettings(endpoint=endpoint), tls=tls, auth=auth)
        self._stack.push_async_callback(client.close)
        return client

    async def send(self, port: int, tls: ClientTls | None = None, auth: BearerTokenAuth | None = None) -> Attempt:
        return await self.client(port, tls, auth).send(Signal.TRACES, REQUEST)


@pytest.fixture(params=TRANSPORTS)
async def link(request: pytest.FixtureRequest) -> AsyncIterator[Link]:
    async with AsyncExitStack() as stack:
        yield Link(request.param, stack)


async def test_requests_arrive_over_tls(link: Link) -> None:
    port = await link.listen(server_tls())

    assert DELIVERED is (await link.send(port, client_tls())).outcome
    assert [(Signal.TRACES, REQUEST)] == link.consumer.requests


@pytest.mark.parametrize(
    "tls",
    [
        pytest.param(client_tls(ca="other-ca"), id="wrong authority"),
        pytest.param(client_tls(override="collector.example"), id="wrong name"),
        pytest.param(None, id="plaintext"),
    ],
)
async def test_who_does_not_trust_the_server_keeps_its_spans(tls: ClientTls | None, link: Link) -> None:
    port = await link.listen(server_tls())

    assert RETRYABLE is (await link.send(port, tls)).outcome
    assert [] == link.consumer.requests


async def test_a_server_of_another_name_is_trusted_with_an_override(link: Link) -> None:
    port = await link.listen(server_tls("elsewhere"))

    assert RETRYABLE is (await link.send(port, client_tls())).outcome
    assert DELIVERED is (await link.send(port, client_tls(override="collector.example"))).outcome


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        pytest.param("client", DELIVERED, id="certificate of the right authority"),
        pytest.param("other-client", RETRYABLE, id="certificate of another authority"),
        pytest.param(None, RETRYABLE, id="no certificate"),
    ],
)
async def test_with_mutual_tls_only_known_clients_come_in(
    name: str | None, outcome: AttemptOutcome, link: Link
) -> None:
    port = await link.listen(server_tls(client_ca="ca"))

    assert outcome is (await link.send(port, client_tls(name=name))).outcome
    assert (outcome is DELIVERED) == bool(link.consumer.requests)


def install(directory: Path, source: str, target: str) -> None:
    """Put the certificate *source* where *target* was, as a rotation does."""
    for suffix in (".pem", ".key"):
        if (DATA / f"{source}{suffix}").exists():
            shutil.copy(DATA / f"{source}{suffix}", directory / f"{target}{suffix}")


async def common_name_of(port: int) -> str:
    """Of the certificate that a listener shows to a new connection."""
    context = ssl.create_default_context(cafile=DATA / "ca.pem")
    context.set_alpn_protocols(["h2", "http/1.1"])
    _, writer = await asyncio.open_connection("localhost", port, ssl=context, server_hostname="localhost")
    subject = dict(pair for part in writer.get_extra_info("peercert")["subject"] for pair in part)
    writer.close()
    return str(subject["commonName"])


async def test_a_listener_shows_its_renewed_certificate_to_new_connections(link: Link, tmp_path: Path) -> None:
    clock = ManualClock()
    install(tmp_path, "server", "server")
    port = await link.listen(server_tls(directory=tmp_path, clock=clock))
    assert "localhost" == await common_name_of(port)

    install(tmp_path, "renewed", "server")
    clock.advance(60 * SECOND)

    assert "localhost-renewed" == await common_name_of(port)
    assert DELIVERED is (await link.send(port, client_tls())).outcome


async def test_a_half_done_renewal_keeps_the_old_certificate(link: Link, tmp_path: Path) -> None:
    clock = ManualClock()
    install(tmp_path, "server", "server")
    port = await link.listen(server_tls(directory=tmp_path, clock=clock))

    shutil.copy(DATA / "renewed.pem", tmp_path / "server.pem")
    clock.advance(60 * SECOND)
    assert "localhost" == await common_name_of(port)

    shutil.copy(DATA / "renewed.key", tmp_path / "server.key")
    clock.advance(60 * SECOND)
    assert "localhost-renewed" == await common_name_of(port)


async def test_a_listener_learns_of_a_new_authority_for_its_clients(link: Link, tmp_path: Path) -> None:
    clock = ManualClock()
    install(tmp_path, "server", "server")
    install(tmp_path, "ca", "ca")
    port = await link.listen(server_tls(directory=tmp_path, client_ca="ca", clock=clock))
    assert RETRYABLE is (await link.send(port, client_tls(name="other-client"))).outcome

    install(tmp_path, "other-ca", "ca")
    clock.advance(60 * SECOND)

    assert DELIVERED is (await link.send(port, client_tls(name="other-client"))).outcome
    assert RETRYABLE is (await link.send(port, client_tls(name="client"))).outcome


async def test_a_client_takes_up_its_renewed_certificate(link: Link, tmp_path: Path) -> None:
    clock = ManualClock()
    install(tmp_path, "other-client", "client")
    install(tmp_path, "ca", "ca")
    port = await link.listen(server_tls(client_ca="ca"))
    client = link.client(port, client_tls(directory=tmp_path, name="client", clock=clock))
    assert RETRYABLE is (await client.send(Signal.TRACES, REQUEST)).outcome

    install(tmp_path, "client", "client")
    clock.advance(60 * SECOND)

    assert DELIVERED is (await client.send(Signal.TRACES, REQUEST)).outcome


@pytest.mark.parametrize("name", ["absent", "mismatched"])
async def test_a_certificate_that_cannot_be_used_is_a_configuration_error(name: str, tmp_path: Path) -> None:
    if name == "mismatched":
        shutil.copy(DATA / "server.pem", tmp_path / "mismatched.pem")
        shutil.copy(DATA / "renewed.key", tmp_path / "mismatched.key")

    with pytest.raises(ConfigError, match="tls"):
        server_tls(name, directory=tmp_path)
    shutil.copy(DATA / "ca.pem", tmp_path / "ca.pem")
    with pytest.raises(ConfigError, match="tls"):
        client_tls(name=name, directory=tmp_path)


async def test_http_can_ask_for_a_newer_tls_and_grpc_says_that_it_cannot() -> None:
    tls = server_tls(min_version="1.3")

    assert ssl.TLSVersion.TLSv1_3 == tls.ssl_context().minimum_version
    with pytest.raises(ConfigError, match="min_version"):
        tls.grpc_credentials()
    with pytest.raises(ConfigError, match="min_version"):
        OtlpGrpcClient(GrpcExporterSettings(endpoint="localhost:1"), tls=client_tls(min_version="1.3"))


async def test_older_clients_than_the_lowest_version_are_refused() -> None:
    async with AsyncExitStack() as stack:
        port = await Link("http", stack).listen(server_tls(min_version="1.3"))
        context = ssl.create_default_context(cafile=DATA / "ca.pem")
        context.maximum_version = ssl.TLSVersion.TLSv1_2

        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("localhost", port, ssl=context)


def token(value: str) -> BearerTokenAuth:
    return BearerTokenAuth(NullRecorder(), token=value)


@pytest.mark.parametrize(
    ("sent", "outcome", "error_types"),
    [
        pytest.param(token("s3cret"), DELIVERED, {""}, id="right token"),
        pytest.param(token("guess"), PERMANENT, {"PERMISSION_DENIED", "403"}, id="wrong token"),
        pytest.param(None, PERMANENT, {"UNAUTHENTICATED", "401"}, id="no token"),
    ],
)
async def test_only_senders_with_the_token_come_in(
    sent: BearerTokenAuth | None, outcome: AttemptOutcome, error_types: set[str], link: Link
) -> None:
    port = await link.listen(auth=token("s3cret"))

    attempt = await link.send(port, auth=sent)

    assert outcome is attempt.outcome
    assert attempt.error_type in error_types
    assert (outcome is DELIVERED) == bool(link.consumer.requests)
    assert (0 if outcome is DELIVERED else 1) == link.recorder.counts["failed", "unauthenticated"]


async def test_a_rotated_token_is_asked_for_and_sent_without_a_restart(link: Link, tmp_path: Path) -> None:
    clock, file = ManualClock(), tmp_path / "token"
    file.write_text("old")
    auth = BearerTokenAuth(NullRecorder(), filename=file, clock=clock)
    port = await link.listen(auth=auth)
    client = link.client(port, auth=auth)
    assert DELIVERED is (await client.send(Signal.TRACES, REQUEST)).outcome

    file.write_text("newer")
    clock.advance(SECOND)

    assert DELIVERED is (await client.send(Signal.TRACES, REQUEST)).outcome
    assert PERMANENT is (await link.send(port, auth=token("old"))).outcome


async def test_credentials_are_asked_for_before_anything_else() -> None:
    async with AsyncExitStack() as stack:
        link = Link("http", stack)
        port = await link.listen(auth=token("s3cret"))

        async with aiohttp.ClientSession() as session, session.post(f"http://localhost:{port}/v1/unknown") as response:
            assert 401 == response.status
            assert "Bearer" == response.headers["WWW-Authenticate"]


async def test_health_checks_need_no_token() -> None:
    async with AsyncExitStack() as stack:
        port = await Link("grpc", stack).listen(auth=token("s3cret"))

        async with grpc.aio.insecure_channel(f"localhost:{port}") as channel:
            answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)

        assert health_pb2.HealthCheckResponse.SERVING == answer.status


async def test_a_client_that_does_not_finish_its_handshake_is_disconnected() -> None:
    settings = HttpReceiverSettings(endpoint="localhost:0", read_header_timeout_ns=SECOND // 20)
    receiver = OtlpHttpReceiver(settings, RecordingConsumer(), CountingRecorder(), tls=server_tls())
    await receiver.start()
    reader, writer = await asyncio.open_connection("localhost", receiver.port)
    writer.write(b"\x16\x03\x01")

    async with asyncio.timeout(10):
        assert b"" == await reader.read()

    writer.close()
    await receiver.stop(0)
