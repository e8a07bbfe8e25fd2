"""
The processor, built from the configuration.
"""

from collections.abc import Callable, Mapping, Sequence

from proto_adapters.split import OriginTable
from service.app.settings import (
    assembly_options,
    evidence_settings,
    processor_settings,
    scoring_settings,
    session_limits,
)
from service.buffer.decision_cache import DecisionCache
from service.buffer.sessions import SessionStore
from service.buffer.trace_buffer import TraceBuffer
from service.buffer.waiting_logs import WaitingLogs
from service.clock import Clock
from service.config import Config, ToolScoringConfig
from service.limits import MemoryLimiter, Unlimited
from service.pipeline import Signal
from service.processor.acknowledging import Acknowledgements
from service.processor.closing import Closer
from service.processor.durability import NO_JOURNAL, Durability
from service.processor.early import EarlyVerdicts
from service.processor.intake import Intake
from service.processor.journalled import Journalled
from service.processor.outbox import Outbox
from service.processor.outputs import Observer, Outputs
from service.processor.pressure import MemoryLevel, Pressure
from service.processor.processor import Processor
from service.processor.reading import Reader
from service.processor.recovery import Recovery
from service.processor.sessions import NO_SESSIONS, Sessions, SessionTracker
from service.processor.settings import MEBIBYTE, ProcessorSettings
from service.scoring.assessment import Assessor
from service.scoring.expectations import Resolver
from service.telemetry.recorder import Gauge, Recorder

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


def build_processor(
    config: Config,
    outboxes: dict[Signal, Outbox],
    *,
    recorder: Recorder,
    clock: Clock,
    version: str,
    observers: Sequence[Observer] = (),
    annotations: Mapping[str, Mapping[str, str]] | None = None,
    journal: Journalled | None = None,
) -> Processor:
    """
    The processor with its buffer, scorers and outputs.
    """
    settings = processor_settings(config, process_start_ns=journal.since_ns if journal else clock.now_ns())
    durability: Durability = journal or NO_JOURNAL
    origins = OriginTable()
    buffer = TraceBuffer(settings.completion)
    decisions = DecisionCache(settings.decision_cache_size)
    timeout_ns = settings.completion.trace_timeout_ns
    logs = WaitingLogs(limit=MAX_WAITING_LOGS, timeout_ns=timeout_ns, dropped=durability.logs_dropped)
    spans = outboxes[Signal.TRACES]
    events = outboxes[Signal.LOGS] if config.exporters_of(Signal.LOGS) else None
    outputs = Outputs(
        settings,
        spans=spans,
        events=events,
        origins=origins,
        recorder=recorder,
        clock=clock,
        version=version,
        observers=observers,
    )
    assessor = build_assessor(config.tool_scoring, annotations)
    sessions = _sessions(config, settings, assessor=assessor, outputs=outputs, recorder=recorder, clock=clock)
    closer = Closer(
        settings,
        buffer=buffer,
        decisions=decisions,
        assessor=assessor,
        spans=spans,
        outputs=outputs,
        recorder=recorder,
        clock=clock,
        sessions=sessions,
        journal=durability,
    )
    acknowledgements = Acknowledgements(settings, outboxes)
    pressure = Pressure(
        settings,
        buffer=buffer,
        logs=logs,
        closer=closer,
        spans=spans,
        memory=_memory_limiter(config, clock),
        recorder=recorder,
        sessions=sessions,
        acknowledgements=acknowledgements,
    )
    early = None
    if config.tool_scoring.early_verdicts and not settings.root_condition.attributes:
        reader = Reader(settings.decoding, recorder)
        early = EarlyVerdicts(reader, buffer=buffer, assessor=assessor, outputs=outputs, clock=clock)
    intake = Intake(settings, buffer=buffer, decisions=decisions, logs=logs, spans=spans, recorder=recorder)
    recovery = None
    if journal is not None:
        recovery = Recovery(
            journal,
            settings,
            buffer=buffer,
            decisions=decisions,
            intake=intake,
            outboxes=outboxes,
            origins=origins,
            recorder=recorder,
            clock=clock,
        )
    _observe(
        recorder,
        {
            Gauge.TRACES_ACTIVE: lambda: buffer.open_count,
            Gauge.BUFFER_SIZE: lambda: pressure.size,
            Gauge.BUFFER_LIMIT: lambda: settings.max_buffer_bytes,
            Gauge.EVIDENCE_SIZE: lambda: buffer.evidence_size + sessions.size,
            Gauge.DECISION_CACHE_SIZE: lambda: len(decisions),
            Gauge.ORIGINS: lambda: len(origins),
            Gauge.LOGS_WAITING: lambda: len(logs),
        },
    )
    return Processor(
        settings,
        buffer=buffer,
        logs=logs,
        intake=intake,
        closer=closer,
        pressure=pressure,
        origins=origins,
        outboxes=outboxes,
        acknowledgements=acknowledgements,
        recorder=recorder,
        clock=clock,
        sessions=sessions,
        early=early,
        journal=durability,
        recovery=recovery,
    )


def _sessions(
    config: Config,
    settings: ProcessorSettings,
    *,
    assessor: Assessor,
    outputs: Outputs,
    recorder: Recorder,
    clock: Clock,
) -> SessionTracker:
    """
    What follows sessions, if they are switched on.
    """
    if not config.tool_scoring.session.enabled:
        return NO_SESSIONS
    started_ns = clock.monotonic_ns() if settings.process_start_ns else None
    store = SessionStore(session_limits(config.tool_scoring), started_ns=started_ns)
    recorder.observe(Gauge.SESSIONS_ACTIVE, lambda: store.open_count)
    return Sessions(store, assessor=assessor, outputs=outputs, recorder=recorder, clock=clock)


def _observe(recorder: Recorder, levels: Mapping[Gauge, Callable[[], int]]) -> None:
    for gauge, read in levels.items():
        recorder.observe(gauge, read)


def _memory_limiter(config: Config, clock: Clock) -> MemoryLevel:
    limiter = config.memory_limiter
    if not limiter.limit_mib:
        return Unlimited()
    return MemoryLimiter(
        limit_bytes=limiter.limit_mib * MEBIBYTE,
        spike_limit_bytes=(limiter.limit_mib - limiter.soft_limit_mib) * MEBIBYTE,
        check_interval_ns=limiter.check_interval_ns,
        clock=clock,
    )
