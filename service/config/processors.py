"""
`processors`: the memory limiter, the scoring processor and the batches that leave it.
"""

from typing import Annotated

from pydantic import Field, model_validator

from service.config.tool_scoring import ToolScoringConfig
from service.config.values import Block, Count, Duration, EmptyMeansDefaults, PositiveCount, PositiveDuration
from service.durations import MILLISECOND, SECOND

LIMIT_MIB = 1_024
SPIKE_SHARE = 5
"""The spike limit is a fifth of the limit, as in the Collector."""
SEND_BATCH_SIZE = 512
"""Larger batches gain little and make a retry dearer (reference performance.md §5)."""
MAX_REQUEST_SIZE_BYTES = 4 * 1024 * 1024 - 64 * 1024
"""The next hop's gRPC default is 4 MiB, less what headers may add; a larger request is refused there for good."""


class MemoryLimiterConfig(Block):
    """
    Bounds the resident memory of the process.
    """

    check_interval_ns: PositiveDuration = Field(SECOND, description="How often memory is measured.")
    limit_mib: Count = Field(LIMIT_MIB, le=2**24, description="Above it requests are refused (retryable). 0: no limit.")
    spike_limit_mib: Count = Field(
        0, le=2**24, description="Pressure begins so far below limit_mib. 0: a fifth of limit_mib."
    )

    @model_validator(mode="after")
    def _spike_below_limit(self) -> "MemoryLimiterConfig":
        if self.limit_mib and self.spike_limit_mib >= self.limit_mib:
            raise ValueError("spike_limit_mib should be smaller than limit_mib")
        return self

    @property
    def soft_limit_mib(self) -> int:
        return self.limit_mib - (self.spike_limit_mib or self.limit_mib // SPIKE_SHARE)


class BatchConfig(Block):
    """
    How spans, events and metrics are packed into requests to the next hop.
    """

    timeout_ns: Duration = Field(200 * MILLISECOND, description="Longest wait for a batch to fill.")
    send_batch_size: PositiveCount = Field(SEND_BATCH_SIZE, description="Items that make a batch leave.")
    max_request_size_bytes: PositiveCount = Field(
        MAX_REQUEST_SIZE_BYTES, description="Largest request to the next hop; a larger span is refused at receipt."
    )


class ProcessorsConfig(Block):
    """
    All three always run; a block changes their settings.
    """

    memory_limiter: Annotated[MemoryLimiterConfig, EmptyMeansDefaults()] = Field(
        default_factory=MemoryLimiterConfig, description="Limit on the memory of the process."
    )
    tool_scoring: Annotated[ToolScoringConfig, EmptyMeansDefaults()] = Field(
        default_factory=ToolScoringConfig, description="The scoring processor."
    )
    batch: Annotated[BatchConfig, EmptyMeansDefaults()] = Field(
        default_factory=BatchConfig, description="Batches that leave."
    )

    @model_validator(mode="after")
    def _buffer_below_memory(self) -> "ProcessorsConfig":
        limiter = self.memory_limiter
        if limiter.limit_mib and self.tool_scoring.max_buffer_mib >= limiter.soft_limit_mib:
            raise ValueError(
                "tool_scoring::max_buffer_mib should be smaller than memory_limiter::limit_mib less its spike_limit_mib"
            )
        return self


PROCESSORS = frozenset(ProcessorsConfig.model_fields)
"""What a pipeline may list under `processors`."""
