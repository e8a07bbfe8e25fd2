"""
What the processor is told by the configuration.
"""

from enum import StrEnum

from msgspec import Struct

from proto_adapters.decoding import DecodeOptions
from service.buffer.completion import CompletionSettings
from service.pipeline import Signal
from service.processor.outbox import REQUEST_LIMIT_BYTES
from service.root_condition import PARENT_EMPTY, RootCondition
from service.telemetry.recorder import LateAction

MEBIBYTE = 1024 * 1024
SOFT_LIMIT_SHARE = 0.8
"""The soft limit as a share of `max_buffer_mib` (design §5)."""


class Annotate(StrEnum):
    """
    Which spans of a released trace carry score attributes.
    """

    ROOT = "root"
    ALL = "all"
    NONE = "none"


class ProcessorSettings(Struct, frozen=True, kw_only=True):
    """
    The processor's part of `processors::tool_scoring`; sizes in bytes, times in nanoseconds.
    """

    hold: bool = True
    annotate: Annotate = Annotate.ROOT
    completion: CompletionSettings = CompletionSettings()
    root_condition: RootCondition = PARENT_EMPTY
    decoding: DecodeOptions = DecodeOptions()
    max_buffer_bytes: int = 256 * MEBIBYTE
    max_span_bytes: int = REQUEST_LIMIT_BYTES
    """A larger span would not fit in any request to the next hop; it is refused at receipt."""
    decision_cache_size: int = 100_000
    late_spans: LateAction = LateAction.RESCORE
    score_on_eviction: bool = True
    drop_pending_on_shutdown: bool = False
    evaluation_span: bool = False
    drop_untrusted: bool = True
    kept_attributes: frozenset[str] = frozenset()
    """Attributes under our prefix that senders may set: the configured `expected_tools_attribute`."""
    dimensions: tuple[str, ...] = ()
    wait_for_result: frozenset[Signal] = frozenset()
    """Signals whose requests are acknowledged when the next hop took them; pass_through only."""
    block_on_overflow: frozenset[Signal] = frozenset()
    """Signals whose senders wait for room in a full queue; pass_through only."""
    process_start_ns: int = 0
    """Wall time of the start of the process; 0 if a journal bridges restarts."""

    @property
    def soft_limit_bytes(self) -> int:
        return int(self.max_buffer_bytes * SOFT_LIMIT_SHARE)
