"""
What both transports do with a request: admission, hand-over to the consumer, counting.

Knows neither gRPC nor HTTP. Everything runs on the event loop, so nothing here is locked.
"""

import asyncio
import logging
from typing import Self

from service.durations import SECOND
from service.errors import MalformedRequest, PermissionDenied, Refused, RequestError, RequestTooLarge, Unauthenticated
from service.pipeline import Accepted, Consumer, Signal
from service.receiver.status import InternalFault, RequestTimeout, Unsupported
from service.telemetry.recorder import FailureReason, Recorder, RefusalReason, Transport

_logger = logging.getLogger(__name__)

_FAILURES: dict[type[RequestError], FailureReason] = {
    MalformedRequest: FailureReason.MALFORMED,
    RequestTooLarge: FailureReason.TOO_LARGE,
    Unauthenticated: FailureReason.UNAUTHENTICATED,
    PermissionDenied: FailureReason.UNAUTHENTICATED,
    Unsupported: FailureReason.UNSUPPORTED,
    RequestTimeout: FailureReason.TIMEOUT,
}


class Intake:
    """
    The door of the pipeline for one transport: each request is counted here exactly once.
    """

    def __init__(self, consumer: Consumer, recorder: Recorder, transport: Transport) -> None:
        self._consumer = consumer
        self._recorder = recorder
        self._transport = transport
        self._is_closed = False
        self._reserved = 0
        self._taking: set[asyncio.Task[Accepted]] = set()

    def close(self) -> None:
        """
        Refuse everything from now on; the sender tries another instance, or this one after its restart.
        """
        self._is_closed = True

    def admit(self, size: int) -> None:
        """
        Refuse a request of *size* bytes before anything is parsed, if it could not be taken.
        """
        if self._is_closed:
            raise Refused(RefusalReason.SHUTTING_DOWN)
        if not self._consumer.may_take(self._reserved + size):
            raise Refused(RefusalReason.MEMORY_LIMIT)

    def reservation(self) -> "Reservation":
        """
        Room for a body that is still being read.
        """
        return Reservation(self)

    def reserve(self, size: int) -> None:
        """
        Like `admit`, and what is reserved counts for all that come later.
        """
        self.admit(size)
        self._reserved += size

    def release(self, size: int) -> None:
        self._reserved -= size

    async def take(self, signal: Signal, request: bytes) -> Accepted:
        """
        Hand *request* to the consumer. An empty one is a success that never reaches it (OTLP: "empty" is valid).

        What was begun is ended even if the sender hangs up: a request must not be on disk and not in memory.
        """
        taking = asyncio.create_task(self._take(signal, request))
        self._taking.add(taking)
        taking.add_done_callback(self._taken)
        return await asyncio.shield(taking)

    def _taken(self, taking: asyncio.Task[Accepted]) -> None:
        self._taking.discard(taking)
        if not taking.cancelled():
            taking.exception()  # told to the sender, if there still is one

    async def settle(self, within_ns: int) -> None:
        """
        Wait for what was begun, at most *within_ns*.
        """
        if self._taking:
            await asyncio.wait(self._taking, timeout=within_ns / SECOND)

    async def _take(self, signal: Signal, request: bytes) -> Accepted:
        accepted = await self._consume(signal, request) if request else Accepted()
        self._recorder.accepted(signal, self._transport, accepted.item_count, rejected=accepted.rejected_items)
        return accepted

    async def _consume(self, signal: Signal, request: bytes) -> Accepted:
        try:
            return await self._consumer.consume(signal, request)
        except RequestError:
            raise
        except Exception as defect:
            _logger.exception("the consumer failed on a %s request of %d bytes", signal, len(request))
            raise InternalFault("internal fault") from defect

    def count(self, signal: Signal, error: RequestError) -> None:
        """
        Count a request that was not taken.
        """
        if isinstance(error, Refused):
            self._recorder.refused(signal, self._transport, _refusal_reason(error))
        else:
            self._recorder.failed(signal, self._transport, _FAILURES.get(type(error), FailureReason.INTERNAL))


class Reservation:
    """
    The memory of one body at the door, given back when the block ends: many slow senders must not add up unseen.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._size = 0

    def grow(self, size: int) -> None:
        """
        Reserve *size* bytes more. Raises `Refused`.
        """
        self._intake.reserve(size)
        self._size += size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._intake.release(self._size)


def _refusal_reason(error: Refused) -> RefusalReason:
    """The closed set's member; a reason outside of it is some limit of the buffer."""
    try:
        return RefusalReason(error.reason)
    except ValueError:
        return RefusalReason.BUFFER_FULL
