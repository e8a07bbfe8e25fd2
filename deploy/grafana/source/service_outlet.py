"""
Rows of the dashboard *toolscore service* from the reading of spans to their departure, and its operation.
"""

from deploy.grafana.source.panels import Panel, Query, Row
from deploy.grafana.source.promql import per_minute
from deploy.grafana.source.service_queries import (
    EXPORTER,
    INSTANCE,
    JOURNAL,
    levels,
    of_each_signal,
    quantiles,
    rates,
)

DIALECTS_ROW = Row(
    "Dialects and scoring",
    (
        Panel(
            "Spans by dialect",
            "stacked",
            "cps",
            "GenAI spans by the instrumentation whose words they use.",
            "No GenAI span came in this time",
            rates(("toolscore_dialects_spans_total", ""), by="dialect"),
        ),
        Panel(
            "Spans that cannot be read",
            "lines",
            "cps",
            "Spans that look like GenAI but that no dialect claims, and problems met in reading the others.",
            "Every span could be read",
            (
                *rates(("toolscore_dialects_unrecognised_spans_total", "unrecognised")),
                *rates(("toolscore_dialects_problems_total", ""), by="problem"),
            ),
        ),
        Panel(
            "Cost of a score",
            "lines",
            "s",
            "Time to read and score one closed trace.",
            "Nothing was scored in this time",
            quantiles("toolscore_scorer_duration_seconds"),
        ),
        Panel(
            "Evidence documents",
            "stacked",
            "cpm",
            "Documents written to the evidence store (evidence.file), by success.",
            "No evidence is stored",
            (Query(per_minute("toolscore_evidence_documents_total", INSTANCE, "outcome"), "{{outcome}}"),),
        ),
    ),
)

EXPORTER_ROW = Row(
    "Exporter",
    (
        Panel(
            "Sent",
            "lines",
            "cps",
            "Spans, evaluation events and score metrics that downstream accepted.",
            "Nothing was sent in this time",
            of_each_signal(f"{EXPORTER}_sent", "exporter"),
        ),
        Panel(
            "Lost, by reason",
            "stacked",
            "cps",
            "What was accepted or made here and will not arrive. Each loss has one of six reasons.",
            "Nothing was lost",
            of_each_signal("toolscore_lost", "reason"),
        ),
        Panel(
            "Send queue",
            "lines",
            "percentunit",
            "Fill of the sending queue of each exporter. A full queue travels back to senders as pressure.",
            "No exporter runs",
            (
                Query(
                    f"sum by (exporter) ({EXPORTER}_queue_size{{{INSTANCE}}})"
                    f" / sum by (exporter) ({EXPORTER}_queue_capacity{{{INSTANCE}}})",
                    "{{exporter}}",
                ),
            ),
        ),
        Panel(
            "Requests under way",
            "lines",
            "short",
            "Requests sent and not yet answered.",
            "No exporter runs",
            levels((f"{EXPORTER}_in_flight_requests", ""), by="exporter"),
        ),
        Panel(
            "Attempts that failed",
            "stacked",
            "reqps",
            "Failed attempts that are repeated, by error.",
            "No attempt failed",
            rates((f"{EXPORTER}_retries_total", ""), by="signal, error_type"),
        ),
        Panel(
            "Given up for good",
            "stacked",
            "cps",
            "Items whose export failed for good, by error.",
            "Nothing was given up",
            of_each_signal(f"{EXPORTER}_send_failed", "error_type"),
        ),
        Panel(
            "Not taken by downstream or by the queue",
            "stacked",
            "cps",
            "Items that downstream rejected out of requests that it took, and items that found the sending queue full.",
            "Everything was taken",
            (
                *of_each_signal(f"{EXPORTER}_rejected", "exporter"),
                *of_each_signal(f"{EXPORTER}_enqueue_failed", "exporter"),
            ),
            width=24,
        ),
    ),
)

JOURNAL_ROW = Row(
    "Journal",
    (
        Panel(
            "Journal",
            "lines",
            "bytes",
            "Size of the journal on disk, and its limit.",
            "No journal is kept (buffer.journal.directory)",
            levels((f"{JOURNAL}_size_bytes", "size"), (f"{JOURNAL}_limit_bytes", "limit")),
        ),
        Panel(
            "Requests kept",
            "lines",
            "short",
            "Requests kept until their traces have been delivered.",
            "No journal is kept (buffer.journal.directory)",
            levels((f"{JOURNAL}_requests", "requests")),
        ),
        Panel(
            "Time to make durable",
            "lines",
            "s",
            "Time until one group of requests was on disk; senders wait for it.",
            "No journal is kept (buffer.journal.directory)",
            quantiles(f"{JOURNAL}_sync_duration_seconds"),
        ),
        Panel(
            "Written",
            "lines",
            "Bps",
            "Bytes written to the journal.",
            "No journal is kept (buffer.journal.directory)",
            rates((f"{JOURNAL}_written_bytes_total", "written")),
        ),
        Panel(
            "Records of the journal",
            "lines",
            "cps",
            "Requests written, requests of an earlier run taken up again, and records that could not be read back.",
            "No journal is kept (buffer.journal.directory)",
            rates(
                (f"{JOURNAL}_appended_requests_total", "written"),
                (f"{JOURNAL}_recovered_requests_total", "recovered"),
                (f"{JOURNAL}_damaged_records_total", "damaged"),
            ),
        ),
    ),
)

OPERATION_ROW = Row(
    "Operation",
    (
        Panel(
            "Annotations",
            "lines",
            "short",
            "Annotations set over HTTP and not yet expired.",
            "No replica answers",
            levels(("toolscore_annotations_held", "held")),
            width=8,
        ),
        Panel(
            "Annotation requests",
            "stacked",
            "cpm",
            "Requests that set an annotation, by success.",
            "Nobody set an annotation",
            (Query(per_minute("toolscore_annotations_requests_total", INSTANCE, "outcome"), "{{outcome}}"),),
            width=8,
        ),
        Panel(
            "Reloads",
            "stacked",
            "cpm",
            "Readings of files and names that change while the service runs. A failure keeps what was read before.",
            "Nothing was read again",
            (Query(per_minute("toolscore_reloads_total", INSTANCE, "subject, outcome"), "{{subject}} {{outcome}}"),),
            width=8,
        ),
        Panel(
            "Replicas by name",
            "lines",
            "short",
            "Replicas that membership.hostname resolves to.",
            "Replicas are not looked up (membership.hostname)",
            (Query(f"max(toolscore_membership_replicas{{{INSTANCE}}})", "replicas"),),
            width=8,
        ),
        Panel(
            "Changes of the set of replicas",
            "lines",
            "cpm",
            "Traces open at such a time are scored on partial coverage.",
            "No replica answers",
            (Query(per_minute("toolscore_membership_changes_total", INSTANCE), "changes"),),
            width=8,
        ),
        Panel(
            "Processor time",
            "stacked",
            "percentunit",
            "Processor time used, as a share of one core.",
            "No replica answers",
            rates(("process_cpu_time_seconds_total", ""), by="cpu_mode"),
            width=8,
        ),
        Panel(
            "Memory",
            "lines",
            "bytes",
            "Resident memory of each replica.",
            "No replica answers",
            (Query(f"process_memory_usage_bytes{{{INSTANCE}}}", "{{instance}}"),),
        ),
        Panel(
            "Uptime",
            "lines",
            "s",
            "Time since each replica started. A saw-tooth is a restart.",
            "No replica answers",
            (Query(f"process_uptime_seconds{{{INSTANCE}}}", "{{instance}}"),),
        ),
    ),
)

ROWS = (DIALECTS_ROW, EXPORTER_ROW, JOURNAL_ROW, OPERATION_ROW)
