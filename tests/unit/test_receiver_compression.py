"""
Bodies unpacked within a limit, whatever they claim to hold.
"""

import contextlib
import gzip
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from service.errors import MalformedRequest, RequestTooLarge
from service.receiver.compression import PIECE, expand

MIB = 1024 * 1024
Compress = Callable[[bytes], bytes]


def streamed_zstd(data: bytes) -> bytes:
    """Without the content size in the frame, as a streaming encoder writes it."""
    compressor = zstandard.ZstdCompressor().compressobj()
    return compressor.compress(data) + compressor.flush()


ENCODERS: list[tuple[str, Compress]] = [
    ("gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("zstd", zstandard.compress),
    ("zstd", streamed_zstd),
]
each_encoder = pytest.mark.parametrize(("encoding", "compress"), ENCODERS, ids=["gzip", "deflate", "zstd", "streamed"])


def expanded(encoding: str, body: bytes, limit: int = 64 * MIB) -> bytes:
    return b"".join(expand(encoding, body, limit))


@given(data=st.binary(max_size=2000), repeats=st.integers(1, 500))
@each_encoder
def test_what_was_compressed_comes_back(encoding: str, compress: Compress, data: bytes, repeats: int) -> None:
    assert data * repeats == expanded(encoding, compress(data * repeats))


@each_encoder
def test_the_limit_is_exact(encoding: str, compress: Compress) -> None:
    body = compress(bytes(100_000))

    assert 100_000 == len(expanded(encoding, body, 100_000))
    with pytest.raises(RequestTooLarge):
        expanded(encoding, body, 99_999)


@each_encoder
def test_a_bomb_is_stopped_at_the_limit(encoding: str, compress: Compress) -> None:
    bomb = compress(bytes(200 * MIB))
    pieces: list[bytes] = []

    with pytest.raises(RequestTooLarge):
        pieces.extend(expand(encoding, bomb, MIB))

    assert len(bomb) < MIB
    assert sum(map(len, pieces)) <= MIB


@each_encoder
def test_pieces_are_small(encoding: str, compress: Compress) -> None:
    assert max(len(piece) for piece in expand(encoding, compress(bytes(5 * MIB)), 10 * MIB)) <= PIECE + 64


@each_encoder
@pytest.mark.parametrize("cut", [1, 2, 4, 7, 30])
def test_a_body_that_was_cut_off_is_malformed(encoding: str, compress: Compress, cut: int) -> None:
    body = compress(bytes(range(256)) * 10)

    with pytest.raises(MalformedRequest):
        expanded(encoding, body[:-cut])


def test_an_uncompressed_zstd_block_that_was_cut_off_is_malformed() -> None:
    """
    Wherever it is cut: what stands behind must not be taken for its rest.
    """
    body = streamed_zstd(bytes(range(200)))

    for cut in range(1, len(body)):
        with pytest.raises(MalformedRequest):
            expanded("zstd", body[:-cut])


@each_encoder
def test_garbage_is_malformed(encoding: str, compress: Compress) -> None:
    with pytest.raises(MalformedRequest):
        expanded(encoding, b"\x00garbage" * 10)
    with pytest.raises(MalformedRequest):
        expanded(encoding, compress(b"good") + b"garbage")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_an_empty_body_is_no_compressed_body(encoding: str) -> None:
    with pytest.raises(MalformedRequest):
        expanded(encoding, b"")


@pytest.mark.parametrize(("encoding", "compress"), [ENCODERS[0], ENCODERS[2]], ids=["gzip", "zstd"])
def test_several_members_are_one_body(encoding: str, compress: Compress) -> None:
    assert b"one, two" == expanded(encoding, compress(b"one, ") + compress(b"two"))


def test_members_without_end_are_refused() -> None:
    with pytest.raises(MalformedRequest):
        expanded("gzip", gzip.compress(b"") * 100_000)


def test_a_zstd_window_above_the_limit_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    body = compressor.compress(b"small") + compressor.flush()

    with pytest.raises(MalformedRequest):
        expanded("zstd", body)


@given(body=st.binary(max_size=300))
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_whatever_bytes_come_they_expand_or_are_malformed(encoding: str, body: bytes) -> None:
    with contextlib.suppress(MalformedRequest):
        expanded(encoding, body, 1000)


@given(data=st.data())
@each_encoder
def test_a_damaged_body_never_ends_in_another_error(encoding: str, compress: Compress, data: st.DataObject) -> None:
    body = bytearray(compress(bytes(range(256)) * 4))
    position = data.draw(st.integers(0, len(body) - 1))
    body[position] ^= data.draw(st.integers(1, 255))

    with contextlib.suppress(MalformedRequest, RequestTooLarge):
        expanded(encoding, bytes(body), 10_000)
