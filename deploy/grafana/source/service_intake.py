"""
Rows of the dashboard *toolscore service* from the receiver to the closing of traces.
"""

from deploy.grafana.source.panels import Panel, Query, Row
from deploy.grafana.source.promql import increase, per_minute, rate
from deploy.grafana.source.service_queries import (
    EXPORTER,
    INSTANCE,
    LOST_SPANS,
    PROCESSOR,
    RECEIVER,
    levels,
    of_each_signal,
    quantiles,
    rates,
)

OVERVIEW = Row(
    "At a glance",
    (
        Panel(
            "Replicas",
            "stat",
            "short",
            "Replicas that Prometheus could read at the end of the range.",
            "No replica answers",
            (Query(f"count({PROCESSOR}_buffer_limit_bytes{{{INSTANCE}}})", now=True),),
            width=4,
            height=5,
        ),
        Panel(
            "Buffer in use",
            "stat",
            "percentunit",
            "Fill of the fullest replica's buffer. From 80 % on delays end early and span bytes leave unscored.",
            "No replica answers",
            (
                Query(
                    f"max({PROCESSOR}_buffer_size_bytes{{{INSTANCE}}} / {PROCESSOR}_buffer_limit_bytes{{{INSTANCE}}})",
                    now=True,
                ),
            ),
            width=4,
            height=5,
            steps=(0.6, 0.8),
        ),
        Panel(
            "Spans accepted",
            "stat",
            "short",
            "Spans taken into our care in this time.",
            "No span was accepted in this time",
            (Query(increase(f"{RECEIVER}_accepted_spans_total", INSTANCE), now=True),),
            width=4,
            height=5,
        ),
        Panel(
            "Spans sent",
            "stat",
            "short",
            "Spans that downstream accepted in this time.",
            "No span was sent in this time",
            (Query(increase(f"{EXPORTER}_sent_spans_total", INSTANCE), now=True),),
            width=4,
            height=5,
        ),
        Panel(
            "Spans lost",
            "stat",
            "short",
            "Spans accepted, or made here, that will not arrive downstream. Each is counted under a reason.",
            "Nothing was lost",
            (Query(increase(LOST_SPANS, INSTANCE), now=True),),
            width=4,
            height=5,
            steps=(1, 1000),
        ),
        Panel(
            "Requests refused",
            "stat",
            "short",
            "Requests pushed back under pressure; their senders may send them again.",
            "Nothing was refused",
            (Query(increase(f"{RECEIVER}_requests_total", f'outcome="refused",{INSTANCE}'), now=True),),
            width=4,
            height=5,
            steps=(1, 1000),
        ),
        Panel(
            "Spans in and out",
            "lines",
            "cps",
            "Accepted = sent + deduplicated + held + lost. Lines that part for longer than traces are held "
            "mean trouble downstream.",
            "No span came in this time",
            rates(
                (f"{RECEIVER}_accepted_spans_total", "accepted"),
                (f"{EXPORTER}_sent_spans_total", "sent"),
                (f"{PROCESSOR}_deduplicated_spans_total", "deduplicated"),
                (LOST_SPANS, "lost"),
            ),
            width=24,
        ),
    ),
)

RECEIVER_ROW = Row(
    "Receiver",
    (
        Panel(
            "Requests by outcome",
            "stacked",
            "reqps",
            "Answers to senders: accepted, partial (single items rejected), refused (send again), failed (do not).",
            "No request came in this time",
            rates((f"{RECEIVER}_requests_total", ""), by="signal, outcome"),
        ),
        Panel(
            "Accepted",
            "lines",
            "cps",
            "Spans, log records and metric points taken into our care, by transport.",
            "Nothing was accepted in this time",
            of_each_signal(f"{RECEIVER}_accepted", "transport"),
        ),
        Panel(
            "Refused, by reason",
            "stacked",
            "cps",
            "Items pushed back under pressure, as far as they were counted. Senders that retry lose nothing.",
            "Nothing was refused",
            of_each_signal(f"{RECEIVER}_refused", "reason"),
        ),
        Panel(
            "Requests refused or failed, by reason",
            "stacked",
            "reqps",
            "Requests turned away before anybody counted what they held are only here.",
            "Every request was accepted",
            (
                Query(
                    rate(f"{RECEIVER}_requests_total", f'outcome=~"refused|failed",{INSTANCE}', "outcome, reason"),
                    "{{outcome}} {{reason}}",
                ),
            ),
        ),
        Panel(
            "Rejected items and failed requests",
            "stacked",
            "cps",
            "Items rejected one by one (OTLP's partial success), and items of requests that can never be taken.",
            "No item was rejected",
            (*of_each_signal(f"{RECEIVER}_rejected", "reason"), *of_each_signal(f"{RECEIVER}_failed", "reason")),
        ),
        Panel(
            "Unusual encodings",
            "lines",
            "cps",
            "Requests with OTLP's given-up field for instrumentation libraries, whose spans nobody reads, and spans "
            "whose ids take the slower way.",
            "Every request had the usual form",
            rates(
                (f"{RECEIVER}_legacy_requests_total", "legacy requests"),
                (f"{RECEIVER}_id_fallbacks_total", "spans with unusual field order"),
            ),
        ),
    ),
)

BUFFER_ROW = Row(
    "Buffer",
    (
        Panel(
            "Buffer",
            "lines",
            "bytes",
            "Bytes of spans and evidence held, and their limit (max_buffer_mib).",
            "No replica answers",
            levels(
                (f"{PROCESSOR}_buffer_size_bytes", "held"),
                (f"{PROCESSOR}_evidence_size_bytes", "of it evidence alone"),
                (f"{PROCESSOR}_buffer_limit_bytes", "limit"),
            ),
        ),
        Panel(
            "Open",
            "lines",
            "short",
            "Traces and sessions that are open now, and log records that wait for their trace.",
            "No replica answers",
            levels(
                (f"{PROCESSOR}_traces_active", "traces"),
                ("toolscore_sessions_active", "sessions"),
                (f"{PROCESSOR}_logs_waiting", "log records waiting"),
            ),
        ),
        Panel(
            "Remembered",
            "lines",
            "short",
            "Traces whose verdicts are remembered, and distinct pairs of resource and scope.",
            "No replica answers",
            levels(
                (f"{PROCESSOR}_decision_cache_size", "verdicts of traces"),
                (f"{PROCESSOR}_origins", "resources and scopes"),
            ),
        ),
        Panel(
            "Given up under pressure",
            "stacked",
            "cpm",
            "Traces closed early to make room, and traces whose spans left before they were scored.",
            "There was no pressure",
            (
                Query(per_minute(f"{PROCESSOR}_traces_evicted_total", INSTANCE), "evicted"),
                Query(per_minute("toolscore_traces_released_early_total", INSTANCE), "released early"),
            ),
        ),
        Panel(
            "Spans of a trace",
            "lines",
            "short",
            "How many spans traces had when they were closed.",
            "No trace was closed in this time",
            quantiles(f"{PROCESSOR}_trace_span_count"),
        ),
        Panel(
            "Age of a trace at its closing",
            "lines",
            "s",
            "Time from the first span of a trace to its closing.",
            "No trace was closed in this time",
            quantiles(f"{PROCESSOR}_trace_age_seconds"),
        ),
    ),
)

COMPLETION_ROW = Row(
    "Completion",
    (
        Panel(
            "Triggers",
            "stacked",
            "cpm",
            "Why traces and sessions were closed. Only root_span says that a trace came to its end.",
            "No trace was closed in this time",
            (Query(per_minute(f"{PROCESSOR}_decision_triggers_total", INSTANCE, "trigger"), "{{trigger}}"),),
        ),
        Panel(
            "Coverage",
            "stacked",
            "cpm",
            "Closed traces and sessions, complete or partial.",
            "No trace was closed in this time",
            (Query(per_minute(f"{PROCESSOR}_decision_triggers_total", INSTANCE, "coverage"), "{{coverage}}"),),
        ),
        Panel(
            "Reasons of partial coverage",
            "stacked",
            "cpm",
            "What is known to be missing in closed traces.",
            "Nothing is known to be missing",
            (Query(per_minute(f"{PROCESSOR}_coverage_reasons_total", INSTANCE, "reason"), "{{reason}}"),),
        ),
        Panel(
            "Late spans",
            "stacked",
            "cpm",
            "Spans that came after their trace was closed by its root, by what was done with them. Many of them: raise "
            "decision_delay.",
            "No span came late",
            (Query(per_minute(f"{PROCESSOR}_late_spans_total", INSTANCE, "action"), "{{action}}"),),
        ),
        Panel(
            "How late spans are",
            "lines",
            "s",
            "Time from the closing of a trace to a late span: what decision_delay would have to be.",
            "No span came late",
            quantiles(f"{PROCESSOR}_late_span_age_seconds"),
        ),
        Panel(
            "Opened again and overturned",
            "lines",
            "cpm",
            "Traces that more spans opened again, and delivered verdicts that were turned round.",
            "No trace was opened again",
            (
                Query(per_minute(f"{PROCESSOR}_traces_reopened_total", INSTANCE), "traces opened again"),
                Query(per_minute("toolscore_overturned_verdicts_total", INSTANCE), "verdicts overturned"),
            ),
        ),
        Panel(
            "Spans that took no part in a score",
            "stacked",
            "cps",
            "Spans that left unscored, and why. ineligible is ordinary traffic without agents.",
            "Every span took part in a score",
            rates((f"{PROCESSOR}_unscored_spans_total", ""), by="reason"),
        ),
        Panel(
            "Taken out",
            "lines",
            "cps",
            "Equal copies of spans that were received already, and toolscore attributes that senders had forged.",
            "Nothing was taken out",
            rates(
                (f"{PROCESSOR}_deduplicated_spans_total", "copies of spans"),
                (f"{PROCESSOR}_forged_attributes_removed_total", "forged attributes"),
            ),
        ),
    ),
)

ROWS = (OVERVIEW, RECEIVER_ROW, BUFFER_ROW, COMPLETION_ROW)
