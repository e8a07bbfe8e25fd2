"""
The running service: its parts, built from the configuration, started and stopped in order.

Start: exporters, processor, receivers. Stop: not ready, stop accepting, score and release what is open, flush, close
(design §11).
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from proto_adapters.split import OriginTable
from service.app.exports import build_queues, outlets_of
from service.app.pages import Pages
from service.app.receivers import Receivers
from service.app.settings import (
    assembly_options,
    evidence_settings,
    outbox_settings,
    processor_settings,
    scoring_settings,
)
from service.buffer.decision_cache import DecisionCache
from service.buffer.trace_buffer import TraceBuffer
from service.buffer.waiting_logs import WaitingLogs
from service.clock import Clock
from service.config import Config, ToolScoringConfig
from service.durations import SECOND
from service.health import Health, HealthState
from service.limits import MemoryLimiter, Unlimited
from service.pipeline import Signal
from service.processor.closing import Closer
from service.processor.intake import Intake
from service.processor.outbox import Outbox
from service.processor.outputs import Observer, Outputs
from service.processor.pressure import MemoryLevel, Pressure
from service.processor.processor import Processor
from service.scoring.assessment import Assessor
from service.scoring.expectations import Resolver
from service.telemetry.otel_recorder import OtelRecorder
from service.telemetry.otlp_metrics import OtlpMetrics
from service.telemetry.recorder import Gauge

_logger = logging.getLogger(__name__)

TICK_SECONDS = 0.02
"""How often deadlines are looked at; half of the time from a trace's end to its verdict (`performance.md` §3)."""
MAX_WAITING_LOGS = 100_000


def build_assessor(block: ToolScoringConfig, annotations: Mapping[str, Mapping[str, str]] | None = None) -> Assessor:
    """
    What scores an occurrence under *block*; the same for the running service and for replay.
    """
    return Assessor(
        Resolver(block.tool_selection_accuracy, block.expectations, annotations),
        assembly=assembly_options(block),
        evidence=evidence_settings(block),
        scoring=scoring_settings(block),
        expected_tools_attribute=block.expected_tools_attribute,
    )


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
        self._queues = build_queues(config, self.recorder, clock)
        self._outboxes = {
            signal: Outbox(signal, outlets_of(config, signal, self._queues), outbox_settings(config))
            for signal in Signal
        }
        self.processor = self._build_processor(observers)
        self.health = Health(clock.monotonic_ns())
        self.receivers = Receivers(config, self.processor, self.recorder)
        self.pages = Pages(config, self.health, clock, self.recorder.collect)
        self._metrics = OtlpMetrics()
        self._tasks: list[asyncio.Task[None]] = []

    def _build_processor(self, observers: Sequence[Observer]) -> Processor:
        config, recorder, clock = self._config, self.recorder, self._clock
        settings = processor_settings(config, process_start_ns=clock.now_ns())
        origins = OriginTable()
        buffer = TraceBuffer(settings.completion)
        decisions = DecisionCache(settings.decision_cache_size)
        logs = WaitingLogs(limit=MAX_WAITING_LOGS, timeout_ns=settings.completion.trace_timeout_ns)
        spans = self._outboxes[Signal.TRACES]
        events = self._outboxes[Signal.LOGS] if config.exporters_of(Signal.LOGS) else None
        outputs = Outputs(
            settings,
            spans=spans,
            events=events,
            origins=origins,
            recorder=recorder,
            clock=clock,
            version=self._version,
            observers=observers,
        )
        closer = Closer(
            settings,
            buffer=buffer,
            decisions=decisions,
            assessor=build_assessor(config.tool_scoring),
            spans=spans,
            outputs=outputs,
            recorder=recorder,
            clock=clock,
        )
        pressure = Pressure(
            settings,
            buffer=buffer,
            logs=logs,
            closer=closer,
            spans=spans,
            memory=_memory_limiter(config, clock),
            recorder=recorder,
        )
        intake = Intake(settings, buffer=buffer, decisions=decisions, logs=logs, spans=spans, recorder=recorder)
        recorder.observe(Gauge.TRACES_ACTIVE, lambda: buffer.open_count)
        recorder.observe(Gauge.BUFFER_SIZE, lambda: pressure.size)
        recorder.observe(Gauge.BUFFER_LIMIT, lambda: settings.max_buffer_bytes)
        recorder.observe(Gauge.DECISION_CACHE_SIZE, lambda: len(decisions))
        recorder.observe(Gauge.ORIGINS, lambda: len(origins))
        recorder.observe(Gauge.LOGS_WAITING, lambda: len(logs))
        return Processor(
            settings,
            buffer=buffer,
            logs=logs,
            intake=intake,
            closer=closer,
            pressure=pressure,
            origins=origins,
            outboxes=self._outboxes,
            recorder=recorder,
            clock=clock,
        )

    async def start(self) -> None:
        """
        Bind and serve. Raises `ConfigError` if an address cannot be bound.
        """
        for queue in self._queues.values():
            queue.start()
        self._tasks = [asyncio.create_task(self._tick()), asyncio.create_task(self._send_metrics())]
        await self.pages.start()
        await self.receivers.start()
        self.health.become(HealthState.READY)
        _logger.info("toolscore %s is ready", self._version)

    async def _tick(self) -> None:
        while True:
            try:
                await self.processor.tick()
            except Exception:
                # The loop is all that scores and releases: a fault of one trace must not end it.
                _logger.exception("a turn of the processor failed")
            self.health.tick(self._clock.monotonic_ns())
            await asyncio.sleep(TICK_SECONDS)

    async def _send_metrics(self) -> None:
        interval_s = self._config.tool_scoring.metrics_flush_interval_ns / SECOND
        while self._config.exporters_of(Signal.METRICS):
            await asyncio.sleep(interval_s)
            self._flush_metrics()

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
        await self.processor.shutdown()
        self._flush_metrics()
        await self._drain(deadline_ns)
        await self.pages.stop()
        self.health.become(HealthState.STOPPED)
        _logger.info("toolscore stopped")

    async def _drain(self, deadline_ns: int) -> None:
        left_ns = max(0, deadline_ns - self._clock.monotonic_ns())
        await asyncio.gather(*(queue.stop(left_ns) for queue in self._queues.values()))


def _memory_limiter(config: Config, clock: Clock) -> MemoryLevel:
    limiter = config.memory_limiter
    if not limiter.limit_mib:
        return Unlimited()
    mebibyte = 1024 * 1024
    return MemoryLimiter(
        limit_bytes=limiter.limit_mib * mebibyte,
        spike_limit_bytes=(limiter.limit_mib - limiter.soft_limit_mib) * mebibyte,
        check_interval_ns=limiter.check_interval_ns,
        clock=clock,
    )
