"""
The processor, built from the configuration.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

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
from service.journal.statements import drop_sessions
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
from service.processor.session_journal import NO_SESSION_JOURNAL, JournalledSessions, SessionDurability
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


class _Bench(NamedTuple):
    """
    What most parts of the processor share.
    """

    config: Config
    settings: ProcessorSettings
    outboxes: dict[Signal, Outbox]
    origins: OriginTable
    buffer: TraceBuffer
    decisions: DecisionCache
    logs: WaitingLogs
    assessor: Assessor
    recorder: Recorder
    clock: Clock

    @property
    def spans(self) -> Outbox:
        return self.outboxes[Signal.TRACES]


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
    bench = _Bench(
        config,
        settings,
        outboxes,
        origins=OriginTable(),
        buffer=TraceBuffer(settings.completion),
        decisions=DecisionCache(settings.decision_cache_size),
        logs=_waiting_logs(settings, durability),
        assessor=build_assessor(config.tool_scoring, annotations),
        recorder=recorder,
        clock=clock,
    )
    outputs = _outputs(bench, version, observers)
    sessions = _sessions(bench, outputs, journal)
    closer = _closer(bench, outputs, sessions, durability)
    acknowledgements = Acknowledgements(settings, outboxes)
    pressure = _pressure(bench, closer, sessions, acknowledgements)
    intake = _intake(bench)
    _observe_levels(bench, pressure, sessions)
    return Processor(
        settings,
        buffer=bench.buffer,
        logs=bench.logs,
        intake=intake,
        closer=closer,
        pressure=pressure,
        origins=bench.origins,
        outboxes=outboxes,
        acknowledgements=acknowledgements,
        recorder=recorder,
        clock=clock,
        sessions=sessions,
        early=_early(bench, outputs),
        journal=durability,
        recovery=_recovery(bench, journal, intake, sessions) if journal else None,
    )


def _waiting_logs(settings: ProcessorSettings, durability: Durability) -> WaitingLogs:
    timeout_ns = settings.completion.trace_timeout_ns
    return WaitingLogs(limit=MAX_WAITING_LOGS, timeout_ns=timeout_ns, dropped=durability.logs_dropped)


def _outputs(bench: _Bench, version: str, observers: Sequence[Observer]) -> Outputs:
    return Outputs(
        bench.settings,
        spans=bench.spans,
        events=bench.outboxes[Signal.LOGS] if bench.config.exporters_of(Signal.LOGS) else None,
        origins=bench.origins,
        recorder=bench.recorder,
        clock=bench.clock,
        version=version,
        observers=observers,
    )


def _sessions(bench: _Bench, outputs: Outputs, journal: Journalled | None) -> SessionTracker:
    """
    What follows sessions, if they are switched on. Switched off, the journal forgets them: it would lack traces.
    """
    limits, clock = session_limits(bench.config.tool_scoring), bench.clock
    if not bench.config.tool_scoring.session.enabled:
        if journal is not None:
            journal.with_next(*drop_sessions())
        return NO_SESSIONS
    durability: SessionDurability = NO_SESSION_JOURNAL
    since_ns = clock.now_ns()
    if journal is not None:
        durability = kept = JournalledSessions(journal, bench.origins, now_ns=since_ns, max_ended=limits.max_ended)
        since_ns = kept.since_ns
    store = SessionStore(limits, started_ns=clock.monotonic_ns() - (clock.now_ns() - since_ns))
    bench.recorder.observe(Gauge.SESSIONS_ACTIVE, lambda: store.open_count)
    return Sessions(
        store,
        assessor=bench.assessor,
        outputs=outputs,
        recorder=bench.recorder,
        clock=clock,
        journal=durability,
    )


def _closer(bench: _Bench, outputs: Outputs, sessions: SessionTracker, durability: Durability) -> Closer:
    return Closer(
        bench.settings,
        buffer=bench.buffer,
        decisions=bench.decisions,
        assessor=bench.assessor,
        spans=bench.spans,
        outputs=outputs,
        recorder=bench.recorder,
        clock=bench.clock,
        sessions=sessions,
        journal=durability,
    )


def _pressure(bench: _Bench, closer: Closer, sessions: SessionTracker, acknowledgements: Acknowledgements) -> Pressure:
    return Pressure(
        bench.settings,
        buffer=bench.buffer,
        logs=bench.logs,
        closer=closer,
        spans=bench.spans,
        memory=_memory_limiter(bench.config, bench.clock),
        recorder=bench.recorder,
        sessions=sessions,
        acknowledgements=acknowledgements,
    )


def _intake(bench: _Bench) -> Intake:
    return Intake(
        bench.settings,
        buffer=bench.buffer,
        decisions=bench.decisions,
        logs=bench.logs,
        spans=bench.spans,
        recorder=bench.recorder,
    )


def _early(bench: _Bench, outputs: Outputs) -> EarlyVerdicts | None:
    """
    What looks for early verdicts, if they are switched on. With attribute roots a root above may always come.
    """
    if not bench.config.tool_scoring.early_verdicts or bench.settings.root_condition.attributes:
        return None
    reader = Reader(bench.settings.decoding, bench.recorder)
    return EarlyVerdicts(reader, buffer=bench.buffer, assessor=bench.assessor, outputs=outputs, clock=bench.clock)


def _recovery(bench: _Bench, journal: Journalled, intake: Intake, sessions: SessionTracker) -> Recovery:
    return Recovery(
        journal,
        bench.settings,
        buffer=bench.buffer,
        decisions=bench.decisions,
        intake=intake,
        outboxes=bench.outboxes,
        origins=bench.origins,
        recorder=bench.recorder,
        clock=bench.clock,
        sessions=sessions,
    )


def _observe_levels(bench: _Bench, pressure: Pressure, sessions: SessionTracker) -> None:
    levels: Mapping[Gauge, Callable[[], int]] = {
        Gauge.TRACES_ACTIVE: lambda: bench.buffer.open_count,
        Gauge.BUFFER_SIZE: lambda: pressure.size,
        Gauge.BUFFER_LIMIT: lambda: bench.settings.max_buffer_bytes,
        Gauge.EVIDENCE_SIZE: lambda: bench.buffer.evidence_size + sessions.size,
        Gauge.DECISION_CACHE_SIZE: lambda: len(bench.decisions),
        Gauge.ORIGINS: lambda: len(bench.origins),
        Gauge.LOGS_WAITING: lambda: len(bench.logs),
    }
    for gauge, read in levels.items():
        bench.recorder.observe(gauge, read)


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
