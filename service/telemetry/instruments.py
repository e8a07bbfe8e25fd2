"""
The instruments of the service, as values.

GENERATED from service/metadata.yaml by `python -m service.telemetry.generate`. Do not edit.
"""

from service.pipeline import Signal
from service.telemetry.specs import CounterSpec, HistogramSpec, LevelSpec

# Scores
GEN_AI_EVALUATION_SCORE = HistogramSpec(
    "gen_ai.evaluation.score",
    "1",
    (
        "Scores, and verdicts as 1 (true) and 0 (false). Each occurrence enters once per evaluation, as soon as its "
        "bounds are exact; undetermined never enters. Exemplars lead to the scored trace."
    ),
    (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1),
    ("gen_ai.evaluation.name", "expectation", "partition", "service.name", "gen_ai.agent.name"),
)
EVALUATIONS = CounterSpec(
    "toolscore.evaluations",
    "{evaluation}",
    "First deliveries of an evaluation. Later ones are revisions.",
    (
        "gen_ai.evaluation.name",
        "expectation",
        "partition",
        "service.name",
        "gen_ai.agent.name",
        "outcome",
        "coverage",
        "reason",
    ),
)
MISSING_TOOLS = CounterSpec(
    "toolscore.missing_tools",
    "{tool}",
    "Expected tools that were not called, over evaluations that have a number or a verdict.",
    ("gen_ai.evaluation.name", "expectation", "partition", "service.name", "gen_ai.agent.name", "gen_ai.tool.name"),
)
REVISIONS = CounterSpec(
    "toolscore.revisions",
    "{revision}",
    "Deliveries that replace an earlier delivery of the same evaluation.",
    ("gen_ai.evaluation.name", "from", "to"),
)
OVERTURNED_VERDICTS = CounterSpec(
    "toolscore.overturned_verdicts",
    "{verdict}",
    "Revisions that turn true into false or false into true.",
    ("gen_ai.evaluation.name", "from", "to"),
)
EARLY_VERDICTS = CounterSpec(
    "toolscore.early_verdicts",
    "{verdict}",
    "Verdicts delivered before their occurrence was closed, since nothing can overturn them.",
    ("gen_ai.evaluation.name", "outcome"),
)
PROCESSOR_DECISION_TRIGGERS = CounterSpec(
    "toolscore.processor.decision_triggers",
    "{occurrence}",
    "Closed occurrences. An occurrence that is closed again after more spans came counts again.",
    ("trigger", "coverage", "partition"),
)
PROCESSOR_TIME_TO_VERDICT = HistogramSpec(
    "toolscore.processor.time_to_verdict",
    "s",
    "Time from the last span of an occurrence to its verdict. Includes `decision_delay`.",
    (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300, 1800),
    ("trigger",),
)

# Receiver
RECEIVER_REQUESTS = CounterSpec(
    "toolscore.receiver.requests",
    "{request}",
    "Requests answered.",
    ("signal", "transport", "outcome", "reason"),
)
RECEIVER_ACCEPTED = {
    Signal.TRACES: CounterSpec(
        "toolscore.receiver.accepted_spans",
        "{span}",
        "Spans taken into our care.",
        ("transport",),
    ),
    Signal.LOGS: CounterSpec(
        "toolscore.receiver.accepted_log_records",
        "{log_record}",
        "Log records taken into our care.",
        ("transport",),
    ),
    Signal.METRICS: CounterSpec(
        "toolscore.receiver.accepted_metric_points",
        "{data_point}",
        "Metric points taken into our care.",
        ("transport",),
    ),
}
RECEIVER_REFUSED = {
    Signal.TRACES: CounterSpec(
        "toolscore.receiver.refused_spans",
        "{span}",
        "Spans pushed back; the sender may send them again.",
        ("transport", "reason"),
    ),
    Signal.LOGS: CounterSpec(
        "toolscore.receiver.refused_log_records",
        "{log_record}",
        "Log records pushed back; the sender may send them again.",
        ("transport", "reason"),
    ),
    Signal.METRICS: CounterSpec(
        "toolscore.receiver.refused_metric_points",
        "{data_point}",
        "Metric points pushed back; the sender may send them again.",
        ("transport", "reason"),
    ),
}
RECEIVER_FAILED = {
    Signal.TRACES: CounterSpec(
        "toolscore.receiver.failed_spans",
        "{span}",
        "Spans of requests that can never be taken, or that we failed to take.",
        ("transport", "reason"),
    ),
    Signal.LOGS: CounterSpec(
        "toolscore.receiver.failed_log_records",
        "{log_record}",
        "Log records of requests that can never be taken, or that we failed to take.",
        ("transport", "reason"),
    ),
    Signal.METRICS: CounterSpec(
        "toolscore.receiver.failed_metric_points",
        "{data_point}",
        "Metric points of requests that can never be taken, or that we failed to take.",
        ("transport", "reason"),
    ),
}
RECEIVER_REJECTED = {
    Signal.TRACES: CounterSpec(
        "toolscore.receiver.rejected_spans",
        "{span}",
        "Spans rejected one by one out of requests that were taken (OTLP's partial success).",
        ("reason",),
    ),
    Signal.LOGS: CounterSpec(
        "toolscore.receiver.rejected_log_records",
        "{log_record}",
        "Log records rejected one by one out of requests that were taken (OTLP's partial success).",
        ("reason",),
    ),
    Signal.METRICS: CounterSpec(
        "toolscore.receiver.rejected_metric_points",
        "{data_point}",
        "Metric points rejected one by one out of requests that were taken (OTLP's partial success).",
        ("reason",),
    ),
}
RECEIVER_LEGACY_REQUESTS = CounterSpec(
    "toolscore.receiver.legacy_requests",
    "{request}",
    "Requests with the field of `instrumentation_library_spans`, which OTLP has given up; its spans are not read.",
)
RECEIVER_ID_FALLBACKS = CounterSpec(
    "toolscore.receiver.id_fallbacks",
    "{span}",
    "Spans encoded in an uncommon field order, whose ids take the slower way.",
)

# Buffer and completion
PROCESSOR_TRACES_ACTIVE = LevelSpec(
    "toolscore.processor.traces_active",
    "{trace}",
    "Traces that are open now.",
    "observable_up_down_counter",
)
PROCESSOR_BUFFER_SIZE = LevelSpec(
    "toolscore.processor.buffer_size",
    "By",
    "Bytes of spans and evidence held, which `max_buffer_mib` bounds.",
    "observable_up_down_counter",
)
PROCESSOR_BUFFER_LIMIT = LevelSpec(
    "toolscore.processor.buffer_limit",
    "By",
    "The limit of `buffer_size`.",
    "observable_up_down_counter",
)
PROCESSOR_EVIDENCE_SIZE = LevelSpec(
    "toolscore.processor.evidence_size",
    "By",
    "Bytes of evidence held without its spans, part of `buffer_size`.",
    "observable_up_down_counter",
)
PROCESSOR_DECISION_CACHE_SIZE = LevelSpec(
    "toolscore.processor.decision_cache_size",
    "{trace}",
    "Traces whose verdicts are remembered.",
    "observable_up_down_counter",
)
PROCESSOR_ORIGINS = LevelSpec(
    "toolscore.processor.origins",
    "{origin}",
    "Distinct pairs of resource and scope interned.",
    "observable_up_down_counter",
)
PROCESSOR_LOGS_WAITING = LevelSpec(
    "toolscore.processor.logs_waiting",
    "{log_record}",
    "GenAI log records that wait for their trace.",
    "observable_up_down_counter",
)
PROCESSOR_COVERAGE_REASONS = CounterSpec(
    "toolscore.processor.coverage_reasons",
    "{occurrence}",
    "Closed occurrences by what is known to be missing. One occurrence can have several reasons.",
    ("reason", "partition"),
)
PROCESSOR_TRACE_SPAN_COUNT = HistogramSpec(
    "toolscore.processor.trace_span_count",
    "{span}",
    "Spans of a trace when it was closed.",
    (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000),
    ("trigger",),
)
PROCESSOR_TRACE_AGE = HistogramSpec(
    "toolscore.processor.trace_age",
    "s",
    "Time from the first span of an occurrence to its closing.",
    (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400),
    ("trigger",),
)
PROCESSOR_LATE_SPANS = CounterSpec(
    "toolscore.processor.late_spans",
    "{span}",
    "Spans that came after their trace was closed by its root.",
    ("action",),
)
PROCESSOR_LATE_SPAN_AGE = HistogramSpec(
    "toolscore.processor.late_span_age",
    "s",
    "Time from the closing of a trace to a late span.",
    (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800),
    ("action",),
)
PROCESSOR_TRACES_EVICTED = CounterSpec(
    "toolscore.processor.traces_evicted",
    "{trace}",
    "Traces closed early to make room.",
)
PROCESSOR_TRACES_REOPENED = CounterSpec(
    "toolscore.processor.traces_reopened",
    "{trace}",
    "Traces open again after a provisional closing, or after they were forgotten.",
)
TRACES_RELEASED_EARLY = CounterSpec(
    "toolscore.traces_released_early",
    "{trace}",
    "Traces whose spans left under pressure, before they were scored. Their scores follow without root attributes.",
)
TRACES_WITHOUT_EXPECTATION = CounterSpec(
    "toolscore.traces_without_expectation",
    "{trace}",
    "Scorable traces for which nothing says what was required.",
)
TRACES_INELIGIBLE = CounterSpec(
    "toolscore.traces_ineligible",
    "{trace}",
    "Traces with neither a tool nor a model span.",
)
PROCESSOR_DEDUPLICATED_SPANS = CounterSpec(
    "toolscore.processor.deduplicated_spans",
    "{span}",
    "Equal copies of spans that were received already. One of each leaves.",
)
PROCESSOR_UNSCORED_SPANS = CounterSpec(
    "toolscore.processor.unscored_spans",
    "{span}",
    "Spans that left without taking part in a score.",
    ("reason",),
)
PROCESSOR_FORGED_ATTRIBUTES_REMOVED = CounterSpec(
    "toolscore.processor.forged_attributes_removed",
    "{attribute}",
    "`toolscore.*` attributes of senders, cut from spans that we write to.",
)
LOST = {
    Signal.TRACES: CounterSpec(
        "toolscore.lost_spans",
        "{span}",
        "Spans accepted or made here that will not arrive downstream.",
        ("reason",),
    ),
    Signal.LOGS: CounterSpec(
        "toolscore.lost_log_records",
        "{log_record}",
        "Log records accepted or made here that will not arrive downstream.",
        ("reason",),
    ),
    Signal.METRICS: CounterSpec(
        "toolscore.lost_metric_points",
        "{data_point}",
        "Metric points accepted or made here that will not arrive downstream.",
        ("reason",),
    ),
}
SESSIONS_ACTIVE = LevelSpec(
    "toolscore.sessions.active",
    "{session}",
    "Sessions that are open now.",
    "observable_up_down_counter",
)
ANNOTATIONS_HELD = LevelSpec(
    "toolscore.annotations.held",
    "{annotation}",
    "Annotations set over HTTP and not yet expired.",
    "observable_up_down_counter",
)
ANNOTATIONS_REQUESTS = CounterSpec(
    "toolscore.annotations.requests",
    "{request}",
    "Requests that set an annotation.",
    ("outcome",),
)
MEMBERSHIP_REPLICAS = LevelSpec(
    "toolscore.membership.replicas",
    "{replica}",
    "Replicas that `membership.hostname` resolves to.",
    "observable_up_down_counter",
)
MEMBERSHIP_CHANGES = CounterSpec(
    "toolscore.membership.changes",
    "{change}",
    "Changes of the set of replicas. Traces open at that time are scored on partial coverage.",
)
RELOADS = CounterSpec(
    "toolscore.reloads",
    "{reload}",
    "Readings of something that changes while the service runs. A failure keeps what was read before.",
    ("subject", "outcome"),
)

# Dialects
DIALECTS_SPANS = CounterSpec(
    "toolscore.dialects.spans",
    "{span}",
    "GenAI spans by dialect.",
    ("dialect",),
)
DIALECTS_UNRECOGNISED_SPANS = CounterSpec(
    "toolscore.dialects.unrecognised_spans",
    "{span}",
    "Spans that look like GenAI but that no dialect claims. More than zero means a producer we cannot read.",
)
DIALECTS_PROBLEMS = CounterSpec(
    "toolscore.dialects.problems",
    "{problem}",
    "Problems met in reading spans.",
    ("problem",),
)

# Scorer
SCORER_DURATION = HistogramSpec(
    "toolscore.scorer.duration",
    "s",
    "Time to read and score one closed occurrence.",
    (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
EVIDENCE_DOCUMENTS = CounterSpec(
    "toolscore.evidence.documents",
    "{document}",
    "Documents written to the evidence store.",
    ("outcome",),
)

# Exporter
EXPORTER_SENT = {
    Signal.TRACES: CounterSpec(
        "toolscore.exporter.sent_spans",
        "{span}",
        "Spans that downstream accepted.",
        ("exporter",),
    ),
    Signal.LOGS: CounterSpec(
        "toolscore.exporter.sent_log_records",
        "{log_record}",
        "Log records that downstream accepted.",
        ("exporter",),
    ),
    Signal.METRICS: CounterSpec(
        "toolscore.exporter.sent_metric_points",
        "{data_point}",
        "Metric points that downstream accepted.",
        ("exporter",),
    ),
}
EXPORTER_SEND_FAILED = {
    Signal.TRACES: CounterSpec(
        "toolscore.exporter.send_failed_spans",
        "{span}",
        "Spans given up for good.",
        ("exporter", "error.type"),
    ),
    Signal.LOGS: CounterSpec(
        "toolscore.exporter.send_failed_log_records",
        "{log_record}",
        "Log records given up for good.",
        ("exporter", "error.type"),
    ),
    Signal.METRICS: CounterSpec(
        "toolscore.exporter.send_failed_metric_points",
        "{data_point}",
        "Metric points given up for good.",
        ("exporter", "error.type"),
    ),
}
EXPORTER_REJECTED = {
    Signal.TRACES: CounterSpec(
        "toolscore.exporter.rejected_spans",
        "{span}",
        "Spans that downstream rejected out of requests that it took (OTLP's partial success).",
        ("exporter",),
    ),
    Signal.LOGS: CounterSpec(
        "toolscore.exporter.rejected_log_records",
        "{log_record}",
        "Log records that downstream rejected out of requests that it took (OTLP's partial success).",
        ("exporter",),
    ),
    Signal.METRICS: CounterSpec(
        "toolscore.exporter.rejected_metric_points",
        "{data_point}",
        "Metric points that downstream rejected out of requests that it took (OTLP's partial success).",
        ("exporter",),
    ),
}
EXPORTER_ENQUEUE_FAILED = {
    Signal.TRACES: CounterSpec(
        "toolscore.exporter.enqueue_failed_spans",
        "{span}",
        "Spans that found the sending queue full.",
        ("exporter",),
    ),
    Signal.LOGS: CounterSpec(
        "toolscore.exporter.enqueue_failed_log_records",
        "{log_record}",
        "Log records that found the sending queue full.",
        ("exporter",),
    ),
    Signal.METRICS: CounterSpec(
        "toolscore.exporter.enqueue_failed_metric_points",
        "{data_point}",
        "Metric points that found the sending queue full.",
        ("exporter",),
    ),
}
EXPORTER_RETRIES = CounterSpec(
    "toolscore.exporter.retries",
    "{request}",
    "Failed attempts that are repeated.",
    ("signal", "exporter", "error.type"),
)
EXPORTER_QUEUE_SIZE = LevelSpec(
    "toolscore.exporter.queue_size",
    "{unit}",
    "Fill of the sending queue, in the unit of its `sizer`.",
    "observable_up_down_counter",
    ("exporter",),
)
EXPORTER_QUEUE_CAPACITY = LevelSpec(
    "toolscore.exporter.queue_capacity",
    "{unit}",
    "Capacity of the sending queue, in the unit of its `sizer`.",
    "observable_up_down_counter",
    ("exporter",),
)
EXPORTER_IN_FLIGHT_REQUESTS = LevelSpec(
    "toolscore.exporter.in_flight_requests",
    "{request}",
    "Requests under way to downstream.",
    "observable_up_down_counter",
    ("exporter",),
)

# Journal
JOURNAL_SIZE = LevelSpec(
    "toolscore.journal.size",
    "By",
    "Bytes of the requests that the journal keeps, what `max_size_mib` bounds.",
    "observable_up_down_counter",
)
JOURNAL_LIMIT = LevelSpec(
    "toolscore.journal.limit",
    "By",
    "The limit of `size`.",
    "observable_up_down_counter",
)
JOURNAL_REQUESTS = LevelSpec(
    "toolscore.journal.requests",
    "{request}",
    "Requests kept until their traces have been delivered.",
    "observable_up_down_counter",
)
JOURNAL_APPENDED_REQUESTS = CounterSpec(
    "toolscore.journal.appended_requests",
    "{request}",
    "Requests written.",
)
JOURNAL_WRITTEN = CounterSpec(
    "toolscore.journal.written",
    "By",
    "Bytes written.",
)
JOURNAL_SYNC_DURATION = HistogramSpec(
    "toolscore.journal.sync_duration",
    "s",
    "Time to make one group of requests durable.",
    (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1),
)
JOURNAL_RECOVERED_REQUESTS = CounterSpec(
    "toolscore.journal.recovered_requests",
    "{request}",
    "Requests of an earlier run, taken up again at start.",
)
JOURNAL_DAMAGED_RECORDS = CounterSpec(
    "toolscore.journal.damaged_records",
    "{record}",
    "Records that could not be read back.",
)

# Process
PROCESS_CPU_TIME = LevelSpec(
    "process.cpu.time",
    "s",
    "Processor time used.",
    "observable_counter",
    ("cpu.mode",),
)
PROCESS_MEMORY_USAGE = LevelSpec(
    "process.memory.usage",
    "By",
    "Resident memory.",
    "observable_up_down_counter",
)
PROCESS_UPTIME = LevelSpec(
    "process.uptime",
    "s",
    "Time since the process started.",
    "observable_gauge",
)

LEVELS: dict[str, LevelSpec] = {
    "processor_traces_active": PROCESSOR_TRACES_ACTIVE,
    "processor_buffer_size": PROCESSOR_BUFFER_SIZE,
    "processor_buffer_limit": PROCESSOR_BUFFER_LIMIT,
    "processor_evidence_size": PROCESSOR_EVIDENCE_SIZE,
    "processor_decision_cache_size": PROCESSOR_DECISION_CACHE_SIZE,
    "processor_origins": PROCESSOR_ORIGINS,
    "processor_logs_waiting": PROCESSOR_LOGS_WAITING,
    "sessions_active": SESSIONS_ACTIVE,
    "annotations_held": ANNOTATIONS_HELD,
    "membership_replicas": MEMBERSHIP_REPLICAS,
    "exporter_queue_size": EXPORTER_QUEUE_SIZE,
    "exporter_queue_capacity": EXPORTER_QUEUE_CAPACITY,
    "exporter_in_flight_requests": EXPORTER_IN_FLIGHT_REQUESTS,
    "journal_size": JOURNAL_SIZE,
    "journal_limit": JOURNAL_LIMIT,
    "journal_requests": JOURNAL_REQUESTS,
    "process_cpu_time": PROCESS_CPU_TIME,
    "process_memory_usage": PROCESS_MEMORY_USAGE,
    "process_uptime": PROCESS_UPTIME,
}
