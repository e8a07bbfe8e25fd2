"""
Where an OTLP/HTTP receiver listens.
"""

import pytest

from service.receiver.otlp_http import HttpReceiverSettings


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("localhost:4318", ("localhost", 4318)),
        ("0.0.0.0:4318", ("0.0.0.0", 4318)),
        (":4318", (None, 4318)),
        ("[::1]:4318", ("::1", 4318)),
    ],
)
def test_endpoints_are_host_and_port(endpoint: str, address: tuple[str | None, int]) -> None:
    assert address == HttpReceiverSettings(endpoint=endpoint).address
