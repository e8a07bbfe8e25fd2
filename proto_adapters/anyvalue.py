"""
OTLP's AnyValue as Python values, both ways, and a mapping that decodes values when they are read.

Pure. Python values are `canonical.AttributeValue`: an array is a list, a key-value list a dict (of equal keys the last
counts), an unset value `None`. A value that does not decode never raises out of `LazyAttributes`.

Depth: protobuf reads 100 nested messages; an array level is two of them, a key-value level three. Decoding therefore
ends at about 50 and 33 levels, encoding at `MAX_NESTING`, which protobuf still reads inside a request.
"""

from collections.abc import Iterator, Mapping
from struct import pack
from typing import Final, TypeVar, overload

from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from proto_adapters.canonical import AttributeValue
from proto_adapters.lean_schema import DecodeError, ValueMap
from proto_adapters.wire import encode_signed, frame

MAX_NESTING: Final = 30

_STRING, _BOOL, _INT, _DOUBLE, _ARRAY, _KVLIST, _BYTES = 0x0A, 0x10, 0x18, 0x21, 0x2A, 0x32, 0x3A
_TWO_BYTE_LENGTH = 0x80 + 2
"""Values of at least this size have two bytes of length."""
_ITEM = _KEY = 0x0A
_VALUE = 0x12

_T = TypeVar("_T")


class UndecodableValue(ValueError):
    """
    The bytes are not an AnyValue, or hold text that is not UTF-8. `best_reading` is what can still be told of it.
    """

    def __init__(self, best_reading: AttributeValue = None) -> None:
        super().__init__("undecodable attribute value")
        self.best_reading = best_reading


class UnencodableValue(ValueError):
    """
    The value has no AnyValue: an integer over 64 bits, nested over `MAX_NESTING`, or of no such type.
    """


def decode_value(raw: bytes) -> AttributeValue:
    """
    The Python value of a serialised AnyValue.

    Raises `UndecodableValue`. Its best reading of text that is not UTF-8 has U+FFFD in place of what is wrong; only
    text that is the whole value is read so, an array or key-value list with such text in it is `None`.
    """
    if _is_only_text(raw):
        return _decode_text(raw[2:] if len(raw) < _TWO_BYTE_LENGTH else raw[3:])
    try:
        return from_message(AnyValue.FromString(raw))
    except DecodeError as error:
        raise UndecodableValue from error


def _is_only_text(raw: bytes) -> bool:
    """
    Whether the value is one string shorter than 16 KiB and nothing else. Most are, and reading it without a message
    takes a third of the time.
    """
    size = len(raw) - 2
    if size < 0 or raw[0] != _STRING:
        return False
    if size < 0x80:
        return raw[1] == size
    return raw[2] < 0x80 <= raw[1] and size - 1 == raw[1] & 0x7F | raw[2] << 7


def _decode_text(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise UndecodableValue(text.decode("utf-8", "replace")) from error


def from_message(value: AnyValue) -> AttributeValue:
    """
    The Python value of a parsed AnyValue. Recursion is bounded by what protobuf's parser lets through.
    """
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return value.string_value
    if kind == "array_value":
        return [from_message(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: from_message(pair.value) for pair in value.kvlist_value.values}
    return _scalar(value, kind)


def _scalar(value: AnyValue, kind: str | None) -> bool | int | float | bytes | None:
    if kind == "int_value":
        return value.int_value
    if kind == "bool_value":
        return value.bool_value
    if kind == "double_value":
        return value.double_value
    # `string_value_strindex` points into a dictionary that only profiles carry: unset.
    return value.bytes_value if kind == "bytes_value" else None


def encode_value(value: AttributeValue, *, nesting: int = MAX_NESTING) -> bytes:
    """
    A serialised AnyValue; `b""` for `None`. Lone surrogates, which UTF-8 cannot hold, become `?`.

    Raises `UnencodableValue`.
    """
    if isinstance(value, str):
        return frame(_STRING, value.encode("utf-8", "replace"))
    if isinstance(value, list | dict):
        return _encode_container(value, nesting)
    return _encode_scalar(value)


def _encode_scalar(value: object) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bool):
        return bytes((_BOOL, value))
    if isinstance(value, int):
        return _encode_int(value)
    if isinstance(value, float):
        return pack("<Bd", _DOUBLE, value)
    if isinstance(value, bytes):
        return frame(_BYTES, value)
    message = f"no attribute value: {type(value).__name__}"
    raise UnencodableValue(message)


def _encode_int(value: int) -> bytes:
    if not -(1 << 63) <= value < 1 << 63:
        message = "an integer attribute has 64 bits"
        raise UnencodableValue(message)
    return bytes((_INT,)) + encode_signed(value)


def _encode_container(value: list[AttributeValue] | dict[str, AttributeValue], nesting: int) -> bytes:
    if nesting == 0:
        message = f"nested deeper than {MAX_NESTING} levels"
        raise UnencodableValue(message)
    if isinstance(value, dict):
        pairs = [frame(_ITEM, _encode_pair(key, item, nesting - 1)) for key, item in value.items()]
        return frame(_KVLIST, b"".join(pairs))
    return frame(_ARRAY, b"".join(frame(_ITEM, encode_value(item, nesting=nesting - 1)) for item in value))


def _encode_pair(key: str, value: AttributeValue, nesting: int) -> bytes:
    return frame(_KEY, key.encode("utf-8", "replace")) + frame(_VALUE, encode_value(value, nesting=nesting))


class LazyAttributes(Mapping[str, AttributeValue]):
    """
    Attributes as they stand in a message, each value decoded when it is first read.

    Of equal keys the last counts, as in a protobuf map. Iteration is in key order, so that what is built from it does
    not depend on the sender's. Values that do not decode are read as well as they can be (`UndecodableValue`), and
    their keys are in `undecodable` from then on.
    """

    __slots__ = ("_decoded", "_raw", "undecodable")

    def __init__(self, raw: ValueMap) -> None:
        self._raw = raw
        self._decoded: dict[str, AttributeValue] = {}
        self.undecodable: frozenset[str] = frozenset()

    def __getitem__(self, key: str) -> AttributeValue:
        if key in self._decoded:
            return self._decoded[key]
        if key not in self._raw:  # indexing would insert it
            raise KeyError(key)
        return self._decode(key)

    def __contains__(self, key: object) -> bool:
        return key in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._raw))

    def __len__(self) -> int:
        return len(self._raw)

    def key_set(self) -> frozenset[str]:
        """
        All keys, which iteration would put in order first.
        """
        return frozenset(self._raw)

    @overload
    def get(self, key: str, /) -> AttributeValue: ...
    @overload
    def get(self, key: str, /, default: AttributeValue | _T) -> AttributeValue | _T: ...
    def get(self, key: str, /, default: AttributeValue | _T | None = None) -> AttributeValue | _T | None:
        if key in self._decoded:
            return self._decoded[key]
        return self._decode(key) if key in self._raw else default

    def _decode(self, key: str) -> AttributeValue:
        try:
            value = decode_value(self._raw[key])
        except UndecodableValue as error:
            self.undecodable |= {key}
            value = error.best_reading
        self._decoded[key] = value
        return value
