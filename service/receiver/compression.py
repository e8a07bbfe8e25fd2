"""
Bodies under a Content-Encoding, expanded piece by piece under a limit.

Pure. No more than the limit and one piece is ever in memory, however small the body is: the answer to decompression
bombs (`reference/collector.md` §8).
"""

import zlib
from collections.abc import Iterator

import zstandard

from service.errors import MalformedRequest, RequestTooLarge

PIECE = 256 * 1024
MAX_ZSTD_WINDOW = 8 * 1024 * 1024
"""What RFC 8878 asks every decoder for; larger windows would be memory that a sender may choose."""
MAX_MEMBERS = 100
"""Of one gzip body. Each costs time without adding a byte of output."""

_ZLIB_FORMATS = {"gzip": 31, "deflate": 15}
"""`wbits` of zlib. In HTTP "deflate" is the zlib format (RFC 9110 §8.4.1.2)."""

ENCODINGS = ("", "gzip", "deflate", "zstd")

_SENTINEL = b"toolscore: end of body"
_SENTINEL_FRAME = zstandard.ZstdCompressor(write_checksum=True).compress(_SENTINEL)


def expand(encoding: str, body: bytes, limit: int) -> Iterator[bytes]:
    """
    The pieces of *body* without its *encoding*, at most *limit* bytes together.

    Raises `RequestTooLarge` as soon as the limit is passed, `MalformedRequest` if the body is damaged or cut off.
    """
    size = 0
    for piece in _pieces(encoding, body):
        size += len(piece)
        if size > limit:
            message = f"the body expands to more than {limit} bytes"
            raise RequestTooLarge(message)
        yield piece


def _pieces(encoding: str, body: bytes) -> Iterator[bytes]:
    if not encoding:
        return iter((body,))
    if encoding == "zstd":
        return _zstd_pieces(body)
    return _zlib_pieces(body, _ZLIB_FORMATS[encoding])


def _zlib_pieces(body: bytes, wbits: int) -> Iterator[bytes]:
    decoder, members = zlib.decompressobj(wbits), 1
    for start in range(0, len(body), PIECE):
        rest = body[start : start + PIECE]
        while rest:
            if decoder.eof:
                decoder, members = zlib.decompressobj(wbits), members + 1
            if members > MAX_MEMBERS:
                raise MalformedRequest("the body has too many compressed members")
            yield _zlib_piece(decoder, rest)
            rest = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
    while not decoder.eof and (piece := _zlib_piece(decoder, b"")):
        yield piece
    if not decoder.eof:
        raise MalformedRequest("the compressed body is cut off")


def _zlib_piece(decoder: "zlib._Decompress", data: bytes) -> bytes:
    try:
        return decoder.decompress(data, PIECE)
    except zlib.error as error:
        raise MalformedRequest("the compressed body is damaged") from error


def _zstd_pieces(body: bytes) -> Iterator[bytes]:
    """
    The library does not tell whether the last frame was whole, so a frame that we know is put behind it: what was cut
    off would swallow it, or end in an error.
    """
    decoder = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW)
    reader = decoder.stream_reader(body + _SENTINEL_FRAME, read_size=PIECE, read_across_frames=True)
    held = b""
    try:
        while piece := reader.read(PIECE):
            held += piece
            yield held[: -len(_SENTINEL)]
            held = held[-len(_SENTINEL) :]
    except zstandard.ZstdError as error:
        raise MalformedRequest("the compressed body is damaged") from error
    if held != _SENTINEL:
        raise MalformedRequest("the compressed body is cut off")
