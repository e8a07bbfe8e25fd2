"""
The console exporter: one line for each scored trace.

For people at a terminal. It prints names, scores and coverage; never arguments, results or message text.
"""

from rich.console import Console
from rich.text import Text

from service.evaluation import Evaluation, Status, Verdict
from service.processor.outputs import Scored
from service.scoring.assessment import Assessment
from service.telemetry.logs import safe

NO_EXPECTATION = "no expectation (try --expect a,b)"
STYLES = {Verdict.TRUE: "green", Verdict.FALSE: "red", Verdict.UNDETERMINED: "yellow"}
MAX_NAMES = 8


class ConsoleExporter:
    """
    Prints to *console*. Implements `service.processor.outputs.Observer`.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(soft_wrap=True, highlight=False)

    def scored(self, scored: Scored) -> None:
        """
        Print one line for one closing.
        """
        assessment = scored.assessment
        line = Text(f"{assessment.occurrence[:16]}  ")
        if assessment.root is not None and assessment.root.origin.service_name:
            line.append(f"{safe(assessment.root.origin.service_name)}  ", style="bold")
        line.append(f"{', '.join(called_names(assessment))} [{shape(assessment)}]  ")
        line.append_text(results(assessment))
        line.append(f"  {scored.trigger}, {coverage(assessment)}", style="dim")
        if scored.revision:
            line.append(f", revision {scored.revision}", style="dim")
        self._console.print(line)


def called_names(assessment: Assessment) -> list[str]:
    """
    Called tools in the order of their starts; a long list is cut.
    """
    evidence = assessment.evidence
    names = [safe(call.name) for call in (evidence.calls or evidence.embedded_calls)]
    if len(names) > MAX_NAMES:
        return [*names[:MAX_NAMES], f"and {len(names) - MAX_NAMES} more"]
    return names or ["no tool calls"]


def shape(assessment: Assessment) -> str:
    return "+".join(assessment.evidence.shapes) or "no GenAI span"


def coverage(assessment: Assessment) -> str:
    coverage = assessment.evidence.coverage
    return f"{coverage.label} ({', '.join(coverage.reasons)})" if coverage.reasons else coverage.label


def results(assessment: Assessment) -> Text:
    """
    Every evaluation with its score or verdict, and why there is none.
    """
    text = Text()
    for evaluation in assessment.evaluations:
        if evaluation.expectation is None and evaluation.status is Status.FAILED:
            return Text(NO_EXPECTATION, style="dim")
        text.append(f"{evaluation.name} ")
        text.append_text(outcome(evaluation))
        text.append("  ")
    text.rstrip()
    return text or Text(NO_EXPECTATION, style="dim")


def outcome(evaluation: Evaluation, separator: str = " ") -> Text:
    """
    A score, a verdict, or the status; where there is none, with its reason after *separator*.
    """
    reason = f"{separator}({evaluation.reason})" if evaluation.reason else ""
    if evaluation.label is not None:
        return Text(f"{evaluation.label}{reason}", style=STYLES[evaluation.label])
    if evaluation.score is None:
        return Text(f"{evaluation.status}{reason}", style="yellow")
    return Text(f"{evaluation.score:.2f}", style="green" if evaluation.score == 1 else "red")
