"""
What flows between receiver, processor and exporter: the seams of the pipeline.

A receiver knows a `Consumer`; the processor and the outputs know an `Outlet`. Both carry serialised OTLP requests as
`bytes`, so that a transport can be replaced without touching anything else (design §11).
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class Signal(StrEnum):
    """
    The OTLP signal of a request.
    """

    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"


class Accepted(Struct, frozen=True):
    """
    A request was taken. Items that can never be taken (bad ids) are rejected one by one: OTLP's partial success.
    """

    rejected_items: int = 0
    message: str = ""
    item_count: int = 0
    """Spans, log records or data points of the request, the rejected ones included."""


class Consumer(Protocol):
    async def consume(self, signal: Signal, request: bytes) -> Accepted:
        """
        Take one serialised Export*ServiceRequest. When it returns, the request is in our care (and on disk if a
        journal is configured).

        Raises `service.errors.RequestError`.
        """
        ...

    def may_take(self, size: int) -> bool:
        """
        Whether a request of *size* bytes would be read at all now: admission before parsing.
        """
        ...


class SendOutcome(StrEnum):
    """
    What became of an export request. Closed set.
    """

    DELIVERED = "delivered"
    REJECTED = "rejected"
    """Permanently refused downstream; counted as `rejected_downstream`."""
    ABANDONED = "abandoned"
    """Retries ended (`max_elapsed_time`), or the service stopped before the request could leave."""


class ExportRequest(Struct, eq=False):
    """
    One serialised request on its way out.

    `done` is called exactly once, on the event loop, with what became of it and how many of its items were rejected.
    """

    signal: Signal
    payload: bytes
    item_count: int
    done: Callable[[SendOutcome, int], None] | None = None


class Outlet(Protocol):
    """
    The way out for one signal: a sending queue in front of an exporter.
    """

    def has_room(self, size: int) -> bool:
        """
        Whether a request of *size* bytes would be taken now.
        """
        ...

    def offer(self, request: ExportRequest) -> bool:
        """
        Enqueue *request*; False if the queue is full (the caller keeps it).
        """
        ...
