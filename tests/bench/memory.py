"""
What held spans cost: resident memory beside the bytes on the wire, and the pauses of the garbage collector, in CPU time
of the thread that it stops.
"""

import gc
import time
from pathlib import Path

from bench.agent_traffic import Profile, synthetic_corpus
from bench.stages import Parts
from msgspec import Struct

from proto_adapters.split import split_traces
from service.app.garbage import spare_held_traces

PAGE = 4096
OLDEST = 2
"""The collector's generation of long-lived objects."""


class Held(Struct, frozen=True):
    """
    What one measurement gave. `accounted` is what the buffer believes to hold, on which pressure rests.
    """

    spans: int
    wire_bytes_per_span: float
    resident_bytes_per_span: float
    accounted_bytes_per_span: float
    longest_pause_ms: float
    full_collections: int
    """How often the collector looked at everything while spans were taken."""
    full_collection_ms: float

    @property
    def overhead_bytes(self) -> float:
        """
        Resident bytes a span beyond its own.
        """
        return self.resident_bytes_per_span - self.wire_bytes_per_span


class Pauses:
    """
    The longest pause of the collector between `start` and `stop`.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.full_collections = 0
        self._begun = 0.0

    def start(self) -> None:
        gc.callbacks.append(self._note)

    def stop(self) -> None:
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._begun = time.thread_time()
        else:
            self.longest_s = max(self.longest_s, time.thread_time() - self._begun)
            self.full_collections += info["generation"] == OLDEST


def hold(profile: Profile, spans: int) -> Held:
    """
    Take *spans* spans into a buffer that lets none go.
    """
    corpus = synthetic_corpus(profile, batch=128)
    parts = Parts()
    intake, buffer = parts.intake()
    spare_held_traces()
    pauses, before = Pauses(), _resident_bytes()
    pauses.start()
    taken = wire = number = 0
    while taken < spans:
        number += 1
        for request in corpus.requests(number):
            split = split_traces(request, parts.origins)
            intake.take_spans(split, number)
            taken += split.item_count
            wire += sum(len(span) for _, items in split.groups for span in items)
    pauses.stop()
    resident = _resident_bytes() - before
    begun = time.thread_time()
    gc.collect()
    full = time.thread_time() - begun
    gc.unfreeze()
    return Held(
        spans=taken,
        wire_bytes_per_span=wire / taken,
        resident_bytes_per_span=resident / taken,
        accounted_bytes_per_span=buffer.size / taken,
        longest_pause_ms=pauses.longest_s * 1e3,
        full_collections=pauses.full_collections,
        full_collection_ms=full * 1e3,
    )


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
