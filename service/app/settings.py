"""
From what an operator configured to what the parts of the service are told.
"""

from collections.abc import Callable

from proto_adapters.decoding import DecodeOptions
from proto_adapters.span_read import ReadOptions
from proto_adapters.trace_assembly import AssemblyOptions
from service.buffer.completion import CompletionSettings
from service.buffer.sessions import SessionLimits
from service.config import Config, ToolScoringConfig
from service.config.exporters import OtlpExporterConfig, QueueConfig
from service.config.root_span import root_condition
from service.pipeline import Signal
from service.processor.outbox import OutboxSettings
from service.processor.settings import Annotate, ProcessorSettings
from service.scoring.evidence import MILLISECOND_NS, EvidenceSettings
from service.scoring.settings import ScoringSettings
from service.telemetry.recorder import LateAction


def processor_settings(config: Config, *, process_start_ns: int) -> ProcessorSettings:
    """
    *process_start_ns* is 0 where a journal bridges restarts.
    """
    block = config.tool_scoring
    attribute = block.expected_tools_attribute
    return ProcessorSettings(
        hold=block.mode == "hold",
        annotate=Annotate(block.annotate),
        completion=CompletionSettings(
            decision_delay_ns=block.decision_delay_ns,
            idle_timeout_ns=block.idle_timeout_ns,
            trace_timeout_ns=block.trace_timeout_ns,
            num_traces=block.num_traces,
            span_limit=block.span_limit,
            maximum_trace_size_bytes=block.maximum_trace_size_bytes,
        ),
        root_condition=root_condition(block.root_span_condition),
        decoding=decode_options(block),
        max_buffer_bytes=block.max_buffer_bytes,
        max_span_bytes=config.processors.batch.max_request_size_bytes,
        decision_cache_size=block.decision_cache.size,
        late_spans=LateAction(block.late_spans.action),
        score_on_eviction=block.eviction.policy == "score",
        drop_pending_on_shutdown=block.drop_pending_traces_on_shutdown,
        evaluation_span=block.evaluation_span,
        drop_untrusted=block.untrusted_attributes == "drop",
        kept_attributes=frozenset() if attribute is None else frozenset({attribute}),
        dimensions=block.dimensions,
        wait_for_result=_signals_that(config, lambda queue: queue.wait_for_result),
        block_on_overflow=_signals_that(config, lambda queue: queue.block_on_overflow),
        process_start_ns=process_start_ns,
    )


def _signals_that(config: Config, ask: Callable[[QueueConfig], bool]) -> frozenset[Signal]:
    """
    The signals of which the queue of an exporter asks for something that only pass_through can do.
    """
    if config.tool_scoring.mode == "hold":
        return frozenset()
    asking = {
        name
        for name, exporter in config.active_exporters.items()
        if isinstance(exporter, OtlpExporterConfig) and ask(exporter.sending_queue)
    }
    return frozenset(signal for signal in Signal if asking.intersection(config.exporters_of(signal)))


def decode_options(block: ToolScoringConfig) -> DecodeOptions:
    """
    Which attributes of which spans have to be read.
    """
    condition = root_condition(block.root_span_condition)
    attribute = block.expected_tools_attribute
    keys = {*block.dimensions, *condition.keys, attribute, block.completeness_attribute}
    keys.update(key for entry in block.expectations for key in entry.match.attributes)
    read = ReadOptions(
        keep_arguments=reads_arguments(block),
        read_results=block.order_from_embedded_calls,
        selected_keys=frozenset(key for key in keys if key is not None),
        session_keys=block.session.keys,
    )
    reads_any_span = bool(condition.attributes) or attribute is not None or bool(block.session.keys)
    view_all = reads_any_span or condition.accept_remote_parent
    return DecodeOptions(read=read, view_all=view_all)


def reads_arguments(block: ToolScoringConfig) -> bool:
    """
    Arguments are read only if an entry or a metric compares calls by them.
    """
    return any(entry.reads_arguments for entry in block.expectations) or any(
        metric.reads_arguments for metric in block.additional_metrics
    )


def assembly_options(block: ToolScoringConfig) -> AssemblyOptions:
    return AssemblyOptions(handoffs_as_tools=block.handoffs_as_tools, clock_tolerance_ns=block.clock_skew_tolerance_ns)


def evidence_settings(block: ToolScoringConfig) -> EvidenceSettings:
    resolution = block.timestamp_resolution
    return EvidenceSettings(
        root_condition=root_condition(block.root_span_condition),
        completeness_attribute=block.completeness_attribute,
        resolution_ns=MILLISECOND_NS if resolution == "auto" else resolution,
        order_from_embedded_calls=block.order_from_embedded_calls,
        restart_window_ns=block.trace_timeout_ns,
    )


def scoring_settings(block: ToolScoringConfig) -> ScoringSettings:
    return ScoringSettings(
        metric_name=block.tool_selection_accuracy.metric_name,
        clock_skew_tolerance_ns=block.clock_skew_tolerance_ns,
        tool_name_aliases=block.tool_name_aliases,
        allow_false_on_inferred=block.allow_false_on_inferred,
        count_embedded_calls=block.count_embedded_calls,
        order_from_embedded_calls=block.order_from_embedded_calls,
        metrics=block.additional_metrics,
    )


def session_limits(block: ToolScoringConfig) -> SessionLimits:
    session = block.session
    return SessionLimits(
        idle_timeout_ns=session.idle_timeout_ns,
        max_duration_ns=session.max_duration_ns,
        max_sessions=session.max_sessions,
        max_traces_per_session=session.max_traces_per_session,
    )


def outbox_settings(config: Config) -> OutboxSettings:
    batch = config.processors.batch
    return OutboxSettings(
        max_items=batch.send_batch_size,
        flush_after_ns=batch.timeout_ns,
        request_limit_bytes=batch.max_request_size_bytes,
    )
