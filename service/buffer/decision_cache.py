"""
What is remembered of traces whose evidence is gone: their decision, then only that they were seen.

Pure: no clock, no I/O. Both structures are bounded; the second costs 10 bytes a trace.
"""

from array import array
from collections import OrderedDict

import xxhash
from msgspec import Struct

from proto_adapters.canonical import Attributes
from service.evidence import Trigger

MAX_TIMES = 0xFFFF


class Decision(Struct, frozen=True):
    """
    The last verdict of a trace. `attributes` are those that a late span is stamped with.
    """

    trigger: Trigger
    attributes: Attributes


class ForgottenTraces:
    """
    A direct-mapped table of trace fingerprints: remembers the last trace that fell on each of its slots, and how often
    it was forgotten.

    A trace that is found was seen before (up to 64-bit collisions); one that is not found may have been pushed out.
    """

    def __init__(self, slots: int) -> None:
        self._table = array("Q", bytes(8 * max(1, slots)))
        self._times = array("H", bytes(2 * max(1, slots)))

    def add(self, trace_id: bytes) -> None:
        times = self.times(trace_id)
        fingerprint = xxhash.xxh3_64_intdigest(trace_id)
        slot = fingerprint % len(self._table)
        self._table[slot] = fingerprint
        self._times[slot] = min(times + 1, MAX_TIMES)

    def times(self, trace_id: bytes) -> int:
        fingerprint = xxhash.xxh3_64_intdigest(trace_id)
        slot = fingerprint % len(self._table)
        return self._times[slot] if self._table[slot] == fingerprint else 0

    def __contains__(self, trace_id: bytes) -> bool:
        fingerprint = xxhash.xxh3_64_intdigest(trace_id)
        return self._table[fingerprint % len(self._table)] == fingerprint


class DecisionCache:
    """
    Trace id -> decision, least recently used first out; ids that fall out are kept as `ForgottenTraces`.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._decisions: OrderedDict[bytes, Decision] = OrderedDict()
        self._forgotten = ForgottenTraces(4 * size)

    def __len__(self) -> int:
        return len(self._decisions)

    def put(self, trace_id: bytes, decision: Decision) -> None:
        """
        Remember *decision*; over the size, the least recently used one is forgotten.
        """
        self._decisions[trace_id] = decision
        self._decisions.move_to_end(trace_id)
        if len(self._decisions) > self._size:
            forgotten, _ = self._decisions.popitem(last=False)
            self._forgotten.add(forgotten)

    def get(self, trace_id: bytes) -> Decision | None:
        decision = self._decisions.get(trace_id)
        if decision is not None:
            self._decisions.move_to_end(trace_id)
        return decision

    def was_forgotten(self, trace_id: bytes) -> bool:
        """
        The trace was decided once, and its decision is gone: a span of it re-opens it (`reopened`).
        """
        return trace_id in self._forgotten

    def items(self) -> list[tuple[bytes, Decision]]:
        """
        All decisions, least recently used first.
        """
        return list(self._decisions.items())
