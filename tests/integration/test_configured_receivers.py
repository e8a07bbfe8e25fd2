"""
The listeners that a configuration asks for: where their mistakes are, and what their keys set.
"""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from doubles import ManualClock, RecordingConsumer

from service.app.receivers import Receivers
from service.app.security import Security
from service.config import Config, config_from_tree
from service.errors import ConfigError
from service.telemetry.recorder import NullRecorder


def receivers(config: Config) -> Receivers:
    recorder = NullRecorder()
    return Receivers(config, RecordingConsumer(), recorder, Security(config, recorder, ManualClock()))


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_an_address_that_is_taken_is_told_with_its_path(taken: str, protocol: str) -> None:
    block: dict[str, object] = {"protocols": {protocol: {"endpoint": taken}}}
    config = config_from_tree({"receivers": {"otlp/second": block}}, {})  # type: ignore[dict-item] # plain values
    configured = receivers(config)

    with pytest.raises(ConfigError) as refused:
        await configured.start()
    await configured.stop()

    assert [f"receivers::otlp/second::protocols::{protocol}::endpoint"] == [path for path, _ in refused.value.problems]


def test_a_token_file_without_token_is_told_with_its_extension(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch()
    config = config_from_tree(
        {
            "receivers": {"otlp": {"protocols": {"grpc": {"auth": {"authenticator": "bearertokenauth/in"}}}}},
            "extensions": {"bearertokenauth/in": {"filename": str(token)}},
            "service": {"extensions": ["bearertokenauth/in"]},
        },
        {},
    )

    with pytest.raises(ConfigError) as refused:
        receivers(config)

    assert ["extensions::bearertokenauth/in::filename"] == [path for path, _ in refused.value.problems]
