"""
What the journal holds, and its form in bytes.

Pure. Times are nanoseconds of service time: a clock that is carried on from process to process and stands still while
none runs (`service/docs/decisions`). Every record carries a checksum, so that a damaged one is told from a whole one.
"""

from typing import Any, TypeVar

import msgspec
import xxhash
from msgspec import Struct

from service.evaluation import DeliveryHistory
from service.evidence import CoverageReason, Trigger
from service.pipeline import Signal

DIGEST_SIZE = 16
_CHECKSUM_BITS = (1 << 63) - 1
"""SQLite's integers are signed."""

_Body = TypeVar("_Body")


class StoredRequest(Struct, frozen=True):
    """
    A request as it was received.
    """

    seq: int
    signal: Signal
    at_ns: int
    item_count: int
    payload: bytes


class SpanPart(Struct, frozen=True, array_like=True):
    """
    Spans that leave together: which, and what is written on them.
    """

    digests: bytes
    """Of the spans as they were received, one after the other."""
    root_id: bytes | None = None
    attributes: dict[str, Any] = {}
    """What the root carries."""
    others: dict[str, Any] = {}
    """What every other span carries."""


class OwnItems(Struct, frozen=True, array_like=True):
    """
    Log records or spans that we made, as they leave.
    """

    signal: Signal
    resource_header: bytes
    scope_header: bytes
    items: list[bytes]


class Release(Struct, frozen=True, kw_only=True):
    """
    What one closing, or one early release, lets go of one trace.
    """

    trace: int
    """Key of the trace that it belongs to."""
    through: int
    """The last request that had been taken when the trace was read."""
    spans: list[SpanPart] = []
    own: list[OwnItems] = []


class TraceState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    A trace as it stood after its last closing or release; what came later follows from the later requests.
    """

    trace_id: bytes
    through: int
    first_ns: int
    last_ns: int
    opened_ns: int
    span_count: int
    byte_count: int
    has_root: bool = False
    closed_ns: int | None = None
    closed_by: Trigger | None = None
    late_since_ns: int | None = None
    late_roots: list[bytes] = []
    facts: list[CoverageReason] = []
    stamp: dict[str, Any] = {}
    histories: dict[bytes, DeliveryHistory] = {}
    replicas_since_ns: int = 0
    has_news: bool = False
    released_early: bool = False
    is_forgotten: bool = False
    """Its evidence is gone; some of its spans may not have arrived downstream."""


class StoredDecision(Struct, frozen=True, array_like=True):
    """
    What is remembered of a trace whose evidence is gone.
    """

    trace_id: bytes
    trigger: Trigger
    attributes: dict[str, Any]


def encode(body: Struct) -> bytes:
    return msgspec.msgpack.encode(body)


def decode(data: bytes, form: type[_Body]) -> _Body | None:
    """
    The record in *data*, or `None` if it is not one of this form.
    """
    try:
        return msgspec.msgpack.decode(data, type=form)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def checksum(data: bytes, key: int) -> int:
    """
    Of a record that stands under *key*: a record that strayed is damaged too.
    """
    return xxhash.xxh3_64_intdigest(data, seed=key) & _CHECKSUM_BITS
