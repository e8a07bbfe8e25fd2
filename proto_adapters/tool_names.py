"""
Tool names: when two spellings name one tool.

Pure. Layer 1, taking off what an instrumentation glued to a name, is done where the name is read. Here are layer 2,
the comparison key of the selection metric, and layer 3, the opt-in aliases (`tool_name_aliases`); dialects reference
§6. The order condition compares names exactly unless it says otherwise (decision D2).
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache

NAME_RULE_VERSION = 1
"""Part of the identity of every score that compares names by `comparison_key` or `alias_match`."""

_SEPARATORS = re.compile(r"[\s_\-./:]+")
_NAMESPACE_BORDER = re.compile(r"[_\-./:]+")
_MAX_LENGTH, _MAX_BORDERS = 512, 32  # keep the tails of one name few and short; no real name has so many namespaces


def comparison_key(name: str) -> str:
    """
    The form in which two names are compared: compatibility-normalised, case-folded, without separators.

    `findTrain`, `find_train`, `Find train` and `find-train` agree. A name made only of separators is its own key.
    """
    return _short_key(name) if len(name) <= _MAX_LENGTH else _key(name)


def _key(name: str) -> str:
    folded = _compatible(_compatible(name).casefold())
    return _compatible(_SEPARATORS.sub("", folded)) or folded


_short_key = lru_cache(maxsize=4096)(_key)
"""Names of tools recur; without this memo a quarter of the cost of scoring a trace is normalisation."""


def _compatible(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def tails(name: str) -> Iterator[tuple[str, str]]:
    """
    Every proper tail of *name* that begins after a namespace border, longest first, with the border's characters.
    """
    borders = _NAMESPACE_BORDER.finditer(name) if len(name) <= _MAX_LENGTH else iter(())
    for _, border in zip(range(_MAX_BORDERS), borders, strict=False):
        if border.start() > 0 and border.end() < len(name):
            yield name[border.end() :], border.group()


def is_tail(name: str, other: str, *, single_underscore: bool = True) -> bool:
    """
    Whether one name is a namespace, a separator and the other name: `mcp__trips__find_train` and `find_train`.

    Without *single_underscore* a lone `_` is no namespace separator, so `search_flights` is not `flights`.
    """
    longer, shorter = (name, other) if len(name) >= len(other) else (other, name)
    return any(tail == shorter and (single_underscore or border != "_") for tail, border in tails(longer))


def alias_match(observed: str, expected: Collection[str]) -> str | None:
    """
    The one expected tool that *observed* names, by its full name or by the tail after a namespace.

    The full name is tried first; a tail counts only if exactly one expected tool fits. `None` if none or several do.
    """
    by_key = {comparison_key(name): name for name in sorted(expected, reverse=True)}
    if full := by_key.get(comparison_key(observed)):
        return full
    keys = {comparison_key(tail) for tail, _ in tails(observed)}
    matches = keys & by_key.keys()
    return by_key[matches.pop()] if len(matches) == 1 else None
