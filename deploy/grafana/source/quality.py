"""
The dashboard *Agent tool quality*: what the scores say about agents, and how far they can be trusted.
"""

from deploy.grafana.source.panels import Panel, Query, Row
from deploy.grafana.source.promql import increase, mean, per_minute, quantile, rate, share

SCORE = "gen_ai_evaluation_score"
EVALUATIONS = "toolscore_evaluations_total"
MISSING_TOOLS = "toolscore_missing_tools_total"
TRIGGERS = "toolscore_processor_decision_triggers_total"
REVISIONS = "toolscore_revisions_total"

PARTITION = 'partition=~"$partition"'
SUBJECT = f'service_name=~"$service",gen_ai_agent_name=~"$agent",expectation=~"$expectation",{PARTITION}'
SELECTION = f'gen_ai_evaluation_name=~"$selection",{SUBJECT}'
CONDITION = f'gen_ai_evaluation_name=~"$condition",{SUBJECT}'
VERDICTS = f'outcome=~"true|false|undetermined",{CONDITION}'
UNDETERMINED = f'outcome="undetermined",{CONDITION}'
BROKEN = f'outcome="false",{CONDITION}'
EITHER_NAME = 'gen_ai_evaluation_name=~"$selection|$condition"'
NO_SCORE = "No agent run was scored in this time"
NO_VERDICT = "No condition was evaluated in this time"

OVERVIEW = Row(
    "In this time",
    (
        Panel(
            "Selection accuracy",
            "stat",
            "percentunit",
            "Mean share of the required tools that were called, over all scored runs. Order, repeats and further tools "
            "play no part; runs that could not be scored are not in it.",
            NO_SCORE,
            (Query(mean(SCORE, SELECTION, over="$__range"), now=True),),
            width=4,
            height=5,
            steps=(0.8, 0.95),
            falling=True,
        ),
        Panel(
            "Verdicts that are true",
            "stat",
            "percentunit",
            "Share of true among the verdicts that are true or false. Undetermined is neither and stands beside it.",
            NO_VERDICT,
            (Query(mean(SCORE, CONDITION, over="$__range"), now=True),),
            width=4,
            height=5,
            steps=(0.8, 0.95),
            falling=True,
        ),
        Panel(
            "Undetermined",
            "stat",
            "percentunit",
            "Share of condition results for which the spans prove neither true nor false. A high share is a gap in the "
            "instrumentation or tools that overlap, not a bad agent.",
            "Every verdict is true or false",
            (Query(share(EVALUATIONS, UNDETERMINED, VERDICTS), now=True),),
            width=4,
            height=5,
            steps=(0.1, 0.3),
        ),
        Panel(
            "Complete coverage",
            "stat",
            "percentunit",
            "Share of closed traces and sessions of which nothing is known to be missing.",
            "No trace was closed in this time",
            (Query(share(TRIGGERS, f'coverage="complete",{PARTITION}', PARTITION), now=True),),
            width=4,
            height=5,
            steps=(0.8, 0.95),
            falling=True,
        ),
        Panel(
            "Missing tools",
            "stat",
            "short",
            "Required tools that were not called, counted once for each run.",
            "No required tool was missing",
            (Query(increase(MISSING_TOOLS, SELECTION), now=True),),
            width=4,
            height=5,
            steps=(1, 10),
        ),
        Panel(
            "Overturned verdicts",
            "stat",
            "short",
            "Delivered verdicts that later spans turned from true to false or from false to true.",
            "No verdict was overturned",
            (Query(increase("toolscore_overturned_verdicts_total", EITHER_NAME), now=True),),
            width=4,
            height=5,
            steps=(1, 5),
        ),
    ),
)

SELECTION_ROW = Row(
    "Tool selection",
    (
        Panel(
            "Selection accuracy by agent",
            "lines",
            "percentunit",
            "Mean selection accuracy of each agent over time.",
            NO_SCORE,
            (Query(mean(SCORE, SELECTION, "gen_ai_agent_name"), "{{gen_ai_agent_name}}"),),
        ),
        Panel(
            "Selection accuracy by expectation",
            "lines",
            "percentunit",
            "Mean selection accuracy for each expectation: what a policy, an annotation or the run asks for.",
            NO_SCORE,
            (Query(mean(SCORE, SELECTION, "expectation"), "{{expectation}}"),),
        ),
        Panel(
            "Scores, with traces",
            "heatmap",
            "percentunit",
            "How many runs had which selection accuracy. Each diamond is one scored run: follow it to its trace.",
            NO_SCORE,
            (Query(rate(f"{SCORE}_bucket", SELECTION, "le"), "{{le}}", exemplars=True),),
        ),
        Panel(
            "Missing tools of all runs",
            "bars",
            "short",
            "The required tools that were missing most often.",
            "No required tool was missing",
            (
                Query(
                    f"topk(10, {increase(MISSING_TOOLS, SELECTION, 'gen_ai_tool_name')} > 0)",
                    "{{gen_ai_tool_name}}",
                    now=True,
                ),
            ),
        ),
        Panel(
            "Worst agents",
            "table",
            "short",
            "The ten agents with the lowest mean selection accuracy, with the number of scored runs behind it.",
            NO_SCORE,
            (
                Query(
                    f"bottomk(10, {mean(SCORE, SELECTION, 'service_name, gen_ai_agent_name', '$__range')})", now=True
                ),
                Query(increase(f"{SCORE}_count", SELECTION, "service_name, gen_ai_agent_name"), now=True),
            ),
            columns=(
                ("service_name", "Service"),
                ("gen_ai_agent_name", "Agent"),
                ("Value #A", "Accuracy"),
                ("Value #B", "Scored runs"),
            ),
        ),
        Panel(
            "Runs without a score, by reason",
            "stacked",
            "cpm",
            "Runs whose selection could not be scored, and why. They are in no mean.",
            "Every run had a score",
            (
                Query(
                    per_minute(EVALUATIONS, f'outcome=~"not_scored|failed",{SELECTION}', "reason"),
                    "{{reason}}",
                ),
            ),
        ),
    ),
)

ORDER_ROW = Row(
    "Tool order and other conditions",
    (
        Panel(
            "Verdicts",
            "stacked",
            "cpm",
            "Results of conditions over time: true, false, or undetermined.",
            NO_VERDICT,
            (Query(per_minute(EVALUATIONS, VERDICTS, "outcome"), "{{outcome}}"),),
        ),
        Panel(
            "Undetermined, by reason",
            "stacked",
            "cpm",
            "Why spans prove neither true nor false: calls overlap, stand in completions alone, or spans are missing.",
            "Every verdict is true or false",
            (Query(per_minute(EVALUATIONS, UNDETERMINED, "reason"), "{{reason}}"),),
        ),
        Panel(
            "Verdicts by condition",
            "table",
            "short",
            "Each condition with the share of true verdicts and the number of false and undetermined ones.",
            NO_VERDICT,
            (
                Query(mean(SCORE, CONDITION, "gen_ai_evaluation_name", "$__range"), now=True),
                Query(increase(EVALUATIONS, BROKEN, "gen_ai_evaluation_name"), now=True),
                Query(increase(EVALUATIONS, UNDETERMINED, "gen_ai_evaluation_name"), now=True),
            ),
            columns=(
                ("gen_ai_evaluation_name", "Condition"),
                ("Value #A", "True"),
                ("Value #B", "False"),
                ("Value #C", "Undetermined"),
            ),
        ),
        Panel(
            "Agents that break conditions",
            "bars",
            "short",
            "The agents with the most false verdicts.",
            "No condition was broken",
            (
                Query(
                    f"topk(10, {increase(EVALUATIONS, BROKEN, 'gen_ai_agent_name')} > 0)",
                    "{{gen_ai_agent_name}}",
                    now=True,
                ),
            ),
        ),
    ),
)

TRUST_ROW = Row(
    "How far to trust it",
    (
        Panel(
            "Time to verdict",
            "lines",
            "s",
            "Time from the last span of a run to its verdict. It includes decision_delay.",
            "No verdict was delivered in this time",
            (
                Query(quantile(0.5, "toolscore_processor_time_to_verdict_seconds", ""), "half of them within"),
                Query(quantile(0.95, "toolscore_processor_time_to_verdict_seconds", ""), "95 % within"),
            ),
        ),
        Panel(
            "Coverage",
            "stacked",
            "cpm",
            "Closed traces and sessions, complete or partial.",
            "No trace was closed in this time",
            (Query(per_minute(TRIGGERS, PARTITION, "coverage"), "{{coverage}}"),),
        ),
        Panel(
            "What is missing",
            "bars",
            "short",
            "Why coverage is partial. One trace can have several reasons.",
            "Nothing is known to be missing",
            (
                Query(
                    increase("toolscore_processor_coverage_reasons_total", PARTITION, "reason"), "{{reason}}", now=True
                ),
            ),
            width=24,
        ),
        Panel(
            "Revisions",
            "stacked",
            "cpm",
            "Results that replace an earlier delivery, by what they were and what they are now.",
            "No result was revised",
            (Query(per_minute(REVISIONS, EITHER_NAME, "from, to"), "{{from}} → {{to}}"),),
            width=8,
        ),
        Panel(
            "Early verdicts",
            "stacked",
            "cpm",
            "Verdicts that left before their run was over, since nothing could overturn them (early_verdicts).",
            "No verdict left early",
            (Query(per_minute("toolscore_early_verdicts_total", EITHER_NAME, "outcome"), "{{outcome}}"),),
            width=8,
        ),
        Panel(
            "Traces that nobody judges",
            "lines",
            "cpm",
            "Traces for which nothing says what was required, and traces with neither a tool nor a model span.",
            "No trace was left unjudged",
            (
                Query(
                    per_minute("toolscore_traces_without_expectation_total", ""),
                    "without expectation",
                ),
                Query(per_minute("toolscore_traces_ineligible_total", ""), "without tools"),
            ),
            width=8,
        ),
    ),
)

ROWS = (OVERVIEW, SELECTION_ROW, ORDER_ROW, TRUST_ROW)
