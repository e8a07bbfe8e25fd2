"""
YAML text to plain values: mappings, lists, strings, numbers, switches and nulls.

Pure. Stricter than a YAML parser: one document, text keys, no key twice, finite numbers, limits on size, depth and
what aliases unfold to. Scalars follow YAML 1.2 (`on`, `yes` and `12:30` are strings, as for the Collector). A message
never quotes the text, which may hold secrets.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Protocol

import yaml

Scalar = str | int | float | bool | None
Value = Scalar | list["Value"] | dict[str, "Value"]

MAX_TEXT_BYTES = 1024 * 1024
"""A configuration with thousands of annotations is below that; more belongs in `annotations_file`."""
MAX_DEPTH = 64
"""Condition trees are the deepest blocks; they stop at far less."""
MAX_VALUES = 200_000
"""Counted after aliases are unfolded, so that a few lines cannot become gigabytes."""
MAX_DIGITS = 25

SURROGATES = re.compile("[\ud800-\udfff]")


class Mark(Protocol):
    """
    A place in the text, counted from 0.
    """

    line: int
    column: int


class UnreadableYaml(ValueError):
    """
    The text is not YAML that a configuration may be made of.
    """

    def __init__(self, mark: Mark | None, problem: str) -> None:
        super().__init__(problem if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: {problem}")


class _Composer(yaml.SafeLoader):
    """
    PyYAML up to the node graph, with a limit on depth and without tags. Scalars stay text.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        peek: Callable[[], yaml.Event] = self.peek_event
        event = peek()
        if self._depth >= MAX_DEPTH:
            raise UnreadableYaml(event.start_mark, f"nested deeper than {MAX_DEPTH} levels")
        if getattr(event, "tag", None) is not None:
            raise UnreadableYaml(event.start_mark, "tags are not supported")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_SWITCH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})


def read_yaml(text: str) -> Value:
    """
    The value of the one document in *text*; nothing at all is null. Raises `UnreadableYaml`.
    """
    if len(text) > MAX_TEXT_BYTES:
        raise UnreadableYaml(None, f"more than {MAX_TEXT_BYTES} bytes")
    try:
        node = _Composer(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        raise UnreadableYaml(error.problem_mark, _without_quotes(error)) from None
    except yaml.YAMLError:
        raise UnreadableYaml(None, "holds a character that YAML does not allow") from None
    return None if node is None else _Unfolding().value_of(node)


def _without_quotes(error: yaml.MarkedYAMLError) -> str:
    """
    What PyYAML says is wrong, less the names that it quotes; single characters and `<token>`s stay.
    """
    return re.sub(r"""(['"])[^'"<\s]{2,}\1""", "…", error.problem or "not YAML")


class _Unfolding:
    """
    Turns the node graph of one document into values. A node under one of its own aliases is refused.
    """

    def __init__(self) -> None:
        self._count = 0
        self._open: set[int] = set()

    def value_of(self, node: yaml.Node) -> Value:
        self._count += 1
        if self._count > MAX_VALUES:
            raise UnreadableYaml(node.start_mark, f"more than {MAX_VALUES} values after aliases are unfolded")
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if id(node) in self._open or len(self._open) >= MAX_DEPTH:
            raise UnreadableYaml(node.start_mark, "an alias contains itself, or aliases nest too deep")
        self._open.add(id(node))
        value = self._collection(node)
        self._open.remove(id(node))
        return value

    def _collection(self, node: yaml.Node) -> Value:
        if isinstance(node, yaml.MappingNode):
            return dict(self._entries(node))
        return [self.value_of(item) for item in node.value]

    def _entries(self, node: yaml.MappingNode) -> Iterator[tuple[str, Value]]:
        seen: set[str] = set()
        for key_node, value_node in node.value:
            key = _key(key_node)
            if key in seen:
                raise UnreadableYaml(key_node.start_mark, f"the key {key} stands twice")
            seen.add(key)
            yield key, self.value_of(value_node)


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise UnreadableYaml(node.start_mark, "a key should be text")
    if node.value == "<<":
        raise UnreadableYaml(node.start_mark, "merge keys are not part of YAML 1.2; give --config twice")
    return _text(node)


def _scalar(node: yaml.ScalarNode) -> Scalar:
    text = _text(node)
    return _plain(text, node) if node.style is None else text


def _text(node: yaml.ScalarNode) -> str:
    text: str = node.value
    if SURROGATES.search(text):
        raise UnreadableYaml(node.start_mark, "a character that is half of a surrogate pair")
    return text


def _plain(text: str, node: yaml.ScalarNode) -> Scalar:
    if text in _NULL:
        return None
    if text in _SWITCH:
        return _SWITCH[text]
    if _INTEGER.fullmatch(text):
        return _integer(text, node)
    return _finite(text, node) if _FLOAT.fullmatch(text) else text


def _integer(text: str, node: yaml.ScalarNode) -> int:
    if len(text) > MAX_DIGITS:
        raise UnreadableYaml(node.start_mark, f"a number of more than {MAX_DIGITS} digits")
    return int(text, 0) if text[1:2] in {"o", "x"} else int(text)


def _finite(text: str, node: yaml.ScalarNode) -> float:
    digits = text.lower().replace(".inf", "inf").replace(".nan", "nan")
    number = float(digits)
    if not math.isfinite(number):
        raise UnreadableYaml(node.start_mark, "a number should be finite")
    return number
