"""
Policies: which entry of the routing table an occurrence belongs to.

Pure but for a memo. The first entry that fits decides; an entry that reads the root of an occurrence whose root is not
held yet decides that it is too early (design §7).
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from proto_adapters.canonical import Attributes, AttributeValue
from service.config.expectations import ExpectationConfig, ExpectationMatch
from service.evidence import Partition
from service.scoring.globs import glob_matches

MEMO_SIZE = 4_096
MAX_MEMO_TEXT = 1_024
"""Longer values are matched each time, so that the memo cannot be filled with what senders make up."""

Texts = tuple[tuple[str, str], ...]
"""Attributes that policies name, as text, sorted by key."""


class MatchValues(Struct, frozen=True, kw_only=True):
    """
    The values of one occurrence that policies match: the key of the memo.
    """

    partition: Partition
    has_root: bool
    has_agent: bool
    service_name: str
    root_span_name: str
    agent_name: str | None
    root_attributes: Texts = ()
    resource_attributes: Texts = ()

    @property
    def size(self) -> int:
        """Characters held."""
        texts = (text for _, text in (*self.root_attributes, *self.resource_attributes))
        return sum(map(len, (self.service_name, self.root_span_name, self.agent_name or "", *texts)))


class Fit(StrEnum):
    """
    How an entry stands to an occurrence.
    """

    FITS = "fits"
    DIFFERS = "differs"
    OTHER_PARTITION = "other_partition"
    WAITS_FOR_ROOT = "waits_for_root"


class EntryFit(Struct, frozen=True):
    """
    One entry held against one occurrence. `key` is the first key of `match` that differs.
    """

    name: str
    fit: Fit
    key: str = ""
    patterns: tuple[str, ...] = ()
    value: str | None = None

    @property
    def decides(self) -> bool:
        return self.fit in {Fit.FITS, Fit.WAITS_FOR_ROOT}


class Policies:
    """
    The entries in their order, with a bounded memo of what was decided for equal values.
    """

    def __init__(self, entries: Iterable[ExpectationConfig], *, memo_size: int = MEMO_SIZE) -> None:
        self._entries = tuple(entries)
        self._root_keys = sorted({key for entry in self._entries for key in entry.match.attributes})
        self._resource_keys = sorted({key for entry in self._entries for key in entry.match.resource})
        self._recall = lru_cache(maxsize=memo_size)(self._find)

    def find(self, values: MatchValues) -> tuple[ExpectationConfig | None, Fit]:
        """
        The entry that fits, or none: because none does, or because one has to wait for the root.
        """
        return self._recall(values) if values.size <= MAX_MEMO_TEXT else self._find(values)

    def explain(self, values: MatchValues) -> tuple[EntryFit, ...]:
        """
        How each entry stands to *values*, up to the one that decides.
        """
        fits: list[EntryFit] = []
        for entry in self._entries:
            fits.append(_hold(entry, values))
            if fits[-1].decides:
                break
        return tuple(fits)

    def keys_read(self, values: MatchValues) -> frozenset[str]:
        """
        The keys of `match` that had a part in the decision on *values*.
        """
        told = zip(self._entries, self.explain(values), strict=False)
        matches = (entry.match for entry, fit in told if fit.fit is not Fit.OTHER_PARTITION)
        return frozenset(key for match in matches for key in type(match).model_fields if getattr(match, key))

    @property
    def memo_length(self) -> int:
        """How many decisions are remembered."""
        return self._recall.cache_info().currsize

    def root_texts(self, attributes: Attributes) -> Texts:
        """
        The root attributes that any entry names.
        """
        return _texts(attributes, self._root_keys)

    def resource_texts(self, attributes: Attributes) -> Texts:
        """
        The resource attributes that any entry names.
        """
        return _texts(attributes, self._resource_keys)

    def _find(self, values: MatchValues) -> tuple[ExpectationConfig | None, Fit]:
        for entry in self._entries:
            fit = _hold(entry, values)
            if fit.decides:
                return entry if fit.fit is Fit.FITS else None, fit.fit
        return None, Fit.DIFFERS


def _texts(attributes: Attributes, keys: Sequence[str]) -> Texts:
    texts = ((key, as_text(attributes.get(key))) for key in keys)
    return tuple((key, text) for key, text in texts if text is not None)


def as_text(value: AttributeValue) -> str | None:
    """
    A single value as a pattern sees it; lists, maps and bytes fit no pattern.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _hold(entry: ExpectationConfig, values: MatchValues) -> EntryFit:
    if not entry.partition.covers(values.partition):
        return EntryFit(entry.name, Fit.OTHER_PARTITION)
    if _has_to_wait(entry.match, values):
        return EntryFit(entry.name, Fit.WAITS_FOR_ROOT)
    for key, patterns, value in _questions(entry.match, values):
        if value is None or not any(glob_matches(pattern, value) for pattern in patterns):
            return EntryFit(entry.name, Fit.DIFFERS, key, patterns, value)
    return EntryFit(entry.name, Fit.FITS)


def _has_to_wait(match: ExpectationMatch, values: MatchValues) -> bool:
    """
    The entry reads what only a root, or an AGENT span, can tell. With a root held, no AGENT span means no agent.
    """
    if values.has_root:
        return False
    return bool(match.attributes or match.root_span_name or (match.agent_name and not values.has_agent))


def _questions(match: ExpectationMatch, values: MatchValues) -> Iterator[tuple[str, tuple[str, ...], str | None]]:
    """
    (key, patterns, value) of everything that *match* asks for.
    """
    own = (
        ("service_name", match.service_name, values.service_name),
        ("root_span_name", match.root_span_name, values.root_span_name),
        ("agent_name", match.agent_name, values.agent_name),
    )
    yield from ((key, patterns, value) for key, patterns, value in own if patterns is not None)
    root, resource = dict(values.root_attributes), dict(values.resource_attributes)
    yield from ((f"attributes.{key}", patterns, root.get(key)) for key, patterns in match.attributes.items())
    yield from ((f"resource.{key}", patterns, resource.get(key)) for key, patterns in match.resource.items())
