"""
Sends one request until it is settled: tries, retries, splits what is refused for good, counts.

A permanent refusal of a request with several items is followed down by halves to the guilty ones: only they end
rejected (design §11). Splitting is also the answer to "too large". The sender never drops anything by itself.
"""

import logging
import random
from collections.abc import Callable

from msgspec import Struct

from service.clock import Clock, SystemClock
from service.exporter.attempt import Attempt, AttemptOutcome, Client, describe
from service.exporter.retry import Pause, RetrySchedule, RetrySettings
from service.exporter.splitting import Part, halve
from service.pipeline import ExportRequest, SendOutcome, Signal
from service.telemetry.recorder import LossReason, Recorder

_logger = logging.getLogger(__name__)


class Tally(Struct):
    """
    What became of the items of one request so far.
    """

    item_count: int
    sent: int = 0
    rejected: int = 0
    abandoned: int = 0
    outcomes: set[AttemptOutcome] = set()
    """How its parts ended; counts do not tell, since a request may have no items."""
    is_settled: bool = False

    @property
    def unsettled(self) -> int:
        return max(0, self.item_count - self.sent - self.rejected - self.abandoned)

    @property
    def outcome(self) -> SendOutcome:
        if not self.is_settled or AttemptOutcome.RETRYABLE in self.outcomes:
            return SendOutcome.ABANDONED
        if AttemptOutcome.DELIVERED in self.outcomes and (self.sent or not self.rejected):
            return SendOutcome.DELIVERED
        return SendOutcome.REJECTED


class Sender:
    """
    The way of requests to one client. Several requests may be on it at a time.
    """

    def __init__(
        self,
        client: Client,
        settings: RetrySettings,
        recorder: Recorder,
        *,
        exporter: str,
        clock: Clock | None = None,
        uniform: Callable[[], float] = random.random,
        abandoned_is_lost: bool = True,
        outlives_stop: bool = False,
    ) -> None:
        """
        *abandoned_is_lost* is false where the sender still has what is given up; with *outlives_stop* a journal has it.
        """
        self._client = client
        self._settings = settings
        self._recorder = recorder
        self._exporter = exporter
        self._clock = clock or SystemClock()
        self._uniform = uniform
        self._abandoned_is_lost = abandoned_is_lost
        self._outlives_stop = outlives_stop
        self._pause = Pause()

    def hurry(self) -> None:
        """
        From now on each request gets one more try, at once: the service stops.
        """
        self._pause.end()

    async def close(self) -> None:
        await self._client.close()

    async def deliver(self, request: ExportRequest, tally: Tally) -> None:
        """
        Settle *request*, noting in *tally* what became of its items; cancelling it leaves the rest unsettled.
        """
        parts = [Part(request.payload, request.item_count)]
        while parts:
            part = parts.pop()
            attempt = await self._try_repeatedly(request.signal, part)
            if attempt.may_be_content and (halves := halve(part)):
                parts.extend(reversed(halves))
            else:
                self._settle(request.signal, part, attempt, tally)
        tally.is_settled = True

    def _settle(self, signal: Signal, part: Part, attempt: Attempt, tally: Tally) -> None:
        tally.outcomes.add(attempt.outcome)
        match attempt.outcome:
            case AttemptOutcome.DELIVERED:
                self._delivered(signal, part, attempt, tally)
            case AttemptOutcome.RETRYABLE:
                self._given_up(signal, part, attempt, tally)
            case AttemptOutcome.PERMANENT:
                self._refused(signal, part, attempt, tally)

    async def _try_repeatedly(self, signal: Signal, part: Part) -> Attempt:
        """The first attempt that is settled, or the last one before giving up."""
        schedule = RetrySchedule(self._settings, self._uniform)
        began_ns = self._clock.monotonic_ns()
        while True:
            is_last = self._pause.has_ended
            attempt = await self._try(signal, part)
            if attempt.outcome is not AttemptOutcome.RETRYABLE or is_last:
                return attempt
            delay_ns = schedule.next_delay_ns(self._clock.monotonic_ns() - began_ns, attempt.retry_after_ns)
            if delay_ns is None:
                return attempt
            self._recorder.retried(signal, self._exporter, attempt.error_type)
            _logger.warning("sending to %s fails, and is tried again: %s", self._exporter, describe(attempt))
            await self._pause.wait(delay_ns)

    async def _try(self, signal: Signal, part: Part) -> Attempt:
        try:
            return await self._client.send(signal, part.payload)
        except Exception as defect:
            # A defect of ours must not cost spans: it is retried like an outage, and seen in counters and log.
            _logger.exception("sending to %s failed by a defect, the request is tried again", self._exporter)
            return Attempt(outcome=AttemptOutcome.RETRYABLE, error_type=type(defect).__name__)

    def _delivered(self, signal: Signal, part: Part, attempt: Attempt, tally: Tally) -> None:
        rejected = min(max(attempt.rejected, 0), part.item_count)
        tally.sent += part.item_count - rejected
        tally.rejected += rejected
        self._recorder.sent(signal, self._exporter, part.item_count - rejected)
        if rejected:
            self._recorder.partially_rejected(signal, self._exporter, rejected)
            self._recorder.lost(signal, LossReason.REJECTED_DOWNSTREAM, rejected)
        if rejected or attempt.message:
            _logger.warning("%s took a request with reservations: %s", self._exporter, attempt.message)

    def _refused(self, signal: Signal, part: Part, attempt: Attempt, tally: Tally) -> None:
        tally.rejected += part.item_count
        self._recorder.send_failed(signal, self._exporter, part.item_count, attempt.error_type)
        self._recorder.lost(signal, LossReason.REJECTED_DOWNSTREAM, part.item_count)
        _logger.warning("%s refused a request for good: %s", self._exporter, describe(attempt))

    def _given_up(self, signal: Signal, part: Part, attempt: Attempt, tally: Tally) -> None:
        reason = LossReason.SHUTDOWN if self._pause.has_ended else LossReason.RETRIES_EXHAUSTED
        tally.abandoned += part.item_count
        self._abandoned(signal, part.item_count, attempt.error_type, reason)
        _logger.warning("sending to %s was given up: %s", self._exporter, describe(attempt))

    def abandon(self, signal: Signal, items: int) -> None:
        """
        Count *items* that the stop left unsent.
        """
        self._abandoned(signal, items, "shutdown", LossReason.SHUTDOWN)

    def _abandoned(self, signal: Signal, items: int, error_type: str, reason: LossReason) -> None:
        self._recorder.send_failed(signal, self._exporter, items, error_type)
        is_kept = self._outlives_stop and reason is LossReason.SHUTDOWN
        if self._abandoned_is_lost and not is_kept:
            self._recorder.lost(signal, reason, items)
