"""
Gates: what replayed results must reach for a CI run to pass.

Pure. `--fail-under NAME=VALUE` holds the mean of all numbers of an evaluation against a value, since single runs of an
agent vary; `--fail-on LABEL` is broken by a single result. Only the newest closing of an occurrence counts.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from service.evaluation import Status, Verdict
from service.replay.results import ReplayLine, ReplayResult


class Threshold(Struct, frozen=True):
    """
    The least mean that an evaluation must have.
    """

    evaluation: str
    least: float


class Failure(Struct, frozen=True):
    """
    A gate that was not passed.
    """

    gate: str
    message: str


class Tally(Struct):
    """
    The numbers and verdicts of one evaluation so far.
    """

    results: int = 0
    scored: int = 0
    total: float = 0.0
    labels: dict[str, int] = {}
    statuses: dict[str, int] = {}

    @property
    def mean(self) -> float | None:
        return self.total / self.scored if self.scored else None

    def add(self, line: ReplayLine) -> None:
        self.results += 1
        self.statuses[line.status] = self.statuses.get(line.status, 0) + 1
        if line.label is not None:
            self.labels[line.label] = self.labels.get(line.label, 0) + 1
        if line.score is not None:
            self.scored += 1
            self.total += line.score


class Gates:
    """
    Counts results and tells in the end which gates were not passed.
    """

    def __init__(self, thresholds: Sequence[Threshold], labels: Iterable[str]) -> None:
        self._thresholds = thresholds
        self._labels = tuple(dict.fromkeys(labels))
        self.tallies: dict[str, Tally] = {}

    def add(self, result: ReplayResult) -> None:
        if not result.is_superseded:
            self.tallies.setdefault(result.line.evaluation, Tally()).add(result.line)

    def breaks(self, line: ReplayLine) -> bool:
        """
        Whether *line* alone breaks a gate.
        """
        return line.label in self._labels or line.status in self._labels

    def failures(self) -> list[Failure]:
        return [*self._below(), *self._labelled()]

    def _below(self) -> Iterable[Failure]:
        for threshold in self._thresholds:
            mean = self.tallies.get(threshold.evaluation, Tally()).mean
            gate = f"--fail-under {threshold.evaluation}={threshold.least:g}"
            if mean is None:
                yield Failure(gate, f"{threshold.evaluation} has no number at all")
            elif mean < threshold.least:
                yield Failure(gate, f"the mean of {threshold.evaluation} is {mean:.4g}")

    def _labelled(self) -> Iterable[Failure]:
        for label in self._labels:
            for name, tally in self.tallies.items():
                count = tally.labels.get(label, 0) or tally.statuses.get(label, 0)
                if count:
                    yield Failure(f"--fail-on {label}", f"{name} is {label} {count} times")


def read_threshold(text: str) -> Threshold:
    """
    `NAME=VALUE` with a value between 0 and 1. Raises `ValueError` with a message for people.
    """
    name, equals, value = text.rpartition("=")
    message = f"{text} should be NAME=VALUE with a value between 0 and 1, for example tool_selection_accuracy=0.9"
    try:
        least = float(value)
    except ValueError:
        raise ValueError(message) from None
    if not (equals and name.strip() and 0 <= least <= 1):
        raise ValueError(message)
    return Threshold(name.strip(), least)


def read_label(text: str) -> str:
    """
    A verdict, or a status. Raises `ValueError` with a message for people.
    """
    known = [*Verdict, *(status for status in Status if status is not Status.SCORED)]
    if text not in known:
        raise ValueError(f"{text} should be one of: {', '.join(dict.fromkeys(map(str, known)))}")
    return text
