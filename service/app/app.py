"""
The running service: its parts, built from the configuration, started and stopped in order.

Start: exporters, processor, what the journal kept, receivers. Stop: not ready, stop accepting, score and release what
is open (with a journal it stays there), flush, close (design §11).
"""

import asyncio
import logging
from collections.abc import Sequence
from importlib.metadata import version

from service.annotations import LiveAnnotations
from service.app.evidence import build_evidence_file
from service.app.exports import build_queues, outlets_of
from service.app.journal import open_journal
from service.app.membership import Membership
from service.app.pages import Pages
from service.app.processing import build_processor
from service.app.receivers import Receivers
from service.app.security import Security
from service.app.settings import outbox_settings, scoring_settings
from service.clock import Clock
from service.config import Config, LivePageConfig, written_configuration
from service.durations import SECOND
from service.health import Health, HealthState
from service.live_page.page import LivePage
from service.pipeline import Signal
from service.processor.outbox import Outbox
from service.processor.outputs import Observer
from service.receiver.annotations_api import AnnotationsApi
from service.telemetry.otel_recorder import OtelRecorder
from service.telemetry.otlp_metrics import OtlpMetrics
from service.telemetry.recorder import LossReason

_logger = logging.getLogger(__name__)

TICK_SECONDS = 0.02
"""How often deadlines are looked at; half of the time from a trace's end to its verdict (`performance.md` §3)."""


class App:
    """
    One service. `start` and `stop` once each, on one event loop.
    """

    def __init__(self, config: Config, clock: Clock, observers: Sequence[Observer] = ()) -> None:
        self._config = config
        self._clock = clock
        self._version = version("toolscore")
        block = config.tool_scoring
        self.recorder = OtelRecorder(
            clock,
            resource=config.service.telemetry.resource_attributes,
            version=self._version,
            dimensions=block.dimensions,
            max_series=block.aggregation_cardinality_limit,
        )
        security = Security(config, self.recorder, clock)
        self._queues = build_queues(config, self.recorder, clock, security)
        self._outboxes = {
            signal: Outbox(signal, outlets_of(config, signal, self._queues), outbox_settings(config))
            for signal in Signal
        }
        self._journal = open_journal(config, self.recorder, clock)
        self.annotations = LiveAnnotations(block, self.recorder, clock)
        self._evidence = build_evidence_file(block, self.recorder, self.annotations)
        live_page = self._build_live_page(config, clock)
        self.processor = build_processor(
            config,
            self._outboxes,
            recorder=self.recorder,
            clock=clock,
            version=self._version,
            observers=[*observers, *(each for each in (self._evidence, live_page) if each is not None)],
            annotations=self.annotations,
            journal=self._journal,
        )
        self.annotations.changed = self.processor.annotation_changed
        self.health = Health(clock.monotonic_ns())
        api = AnnotationsApi(self.annotations, self.recorder) if block.annotations_api.enabled else None
        self.receivers = Receivers(config, self.processor, self.recorder, security, api.add_routes if api else None)
        self.pages = Pages(config, self.health, clock, self.recorder.collect, security, live_page=live_page)
        self._metrics = OtlpMetrics()
        self._tasks: list[asyncio.Task[None]] = []
        self._ticking: asyncio.Task[None] | None = None
        self._is_taken_up = self._journal is None
        """What an earlier process left in the journal is back: the processor's turns begin."""
        self._is_released = False
        """Set at a stop: nothing more comes in, and the processor's turns end."""

    def _build_live_page(self, config: Config, clock: Clock) -> LivePage | None:
        """
        One for all its listeners; `None` if it is off.
        """
        if any(isinstance(extension, LivePageConfig) for extension in config.active_extensions.values()):
            return LivePage(clock, scoring_settings(config.tool_scoring), self._version)
        return None

    async def start(self) -> None:
        """
        Bind and serve. Raises `ConfigError` if an address cannot be bound or a file cannot be used.
        """
        if self.annotations.file is not None:
            self.annotations.file.load()
        if self._evidence is not None:
            await self._evidence.start()
        for queue in self._queues.values():
            queue.start()
        tasks = (self._send_metrics(), self._watch(), self.annotations.watch())
        self._tasks = [asyncio.create_task(task) for task in tasks]
        self._ticking = asyncio.create_task(self._tick())
        await self.pages.start()
        await self._take_up()
        await self.receivers.start()
        self.health.become(HealthState.READY)
        _logger.info("toolscore %s is ready, configured %s", self._version, written_configuration(self._config))

    async def _take_up(self) -> None:
        if self._journal is not None:
            self._journal.start()
            await self.processor.recover()
            self._is_taken_up = True

    async def _tick(self) -> None:
        """
        Until the stop: a turn that has begun is ended, for it may hold the spans of a trace in its hands.
        """
        while not self._is_released:
            try:
                if self._is_taken_up:
                    await self.processor.tick()
            except Exception:
                # The loop is all that scores and releases: a fault of one trace must not end it.
                _logger.exception("a turn of the processor failed")
            self.health.tick(self._clock.monotonic_ns())
            if self.health.set_over_limit(over_limit=self.processor.is_over_limit):
                await self.receivers.tell_health(serves=self.health.serves)
            await asyncio.sleep(TICK_SECONDS)

    async def _send_metrics(self) -> None:
        interval_s = self._config.tool_scoring.metrics_flush_interval_ns / SECOND
        while self._config.exporters_of(Signal.METRICS):
            await asyncio.sleep(interval_s)
            self._flush_metrics()

    async def _watch(self) -> None:
        block = self._config.tool_scoring.membership
        if block.hostname is not None:
            await Membership(
                block.hostname,
                interval_ns=block.interval_ns,
                changed=self.processor.membership_changed,
                recorder=self.recorder,
            ).watch()

    def _flush_metrics(self) -> None:
        outbox = self._outboxes[Signal.METRICS]
        request = self._metrics.encode(self.recorder.collect()) if outbox.has_room else None
        if request is not None:
            outbox.pass_on(request.payload, request.point_count)

    async def stop(self) -> None:
        """
        Stop in order, within `service::shutdown_timeout`.
        """
        deadline_ns = self._clock.monotonic_ns() + self._config.service.shutdown_timeout_ns
        self.health.become(HealthState.DRAINING)
        await self.receivers.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._is_released = True
        if self._ticking is not None:
            await self._ticking
        await self.processor.shutdown()
        self._flush_metrics()
        await self._drain(deadline_ns)
        if self._journal is not None:
            self._journal.close()
        if self._evidence is not None:
            await self._evidence.close()
        await self.pages.stop()
        self.health.become(HealthState.STOPPED)
        _logger.info("toolscore stopped")

    async def _drain(self, deadline_ns: int) -> None:
        """
        One try each for what is queued, and for what only now finds room in a queue; the rest is lost by name.
        """
        for queue in self._queues.values():
            queue.hurry()
        while not all(outbox.has_room for outbox in self._outboxes.values()) and self._left_ns(deadline_ns):
            await asyncio.sleep(TICK_SECONDS)
            for outbox in self._outboxes.values():
                outbox.flush_due(self._clock.monotonic_ns())
        await asyncio.gather(*(queue.stop(self._left_ns(deadline_ns)) for queue in self._queues.values()))
        for signal, outbox in self._outboxes.items():
            left = outbox.abandon()
            if left and self._journal is None:
                self.recorder.lost(signal, LossReason.SHUTDOWN, left)

    def _left_ns(self, deadline_ns: int) -> int:
        return max(0, deadline_ns - self._clock.monotonic_ns())
