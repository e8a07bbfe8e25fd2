"""
Evaluations: the result of one scorer for one occurrence, and how results are delivered.

Values only. `Evaluation` is a function of the evidence, the expectation and the closing facts; revision, trigger and
times belong to its delivery (design §6.4).
"""

from enum import StrEnum

from msgspec import Struct


class Status(StrEnum):
    """
    Closed set. Only `scored` has a number, or a verdict of true or false.
    """

    SCORED = "scored"
    UNDETERMINED = "undetermined"
    NOT_SCORED = "not_scored"
    FAILED = "failed"
    INELIGIBLE = "ineligible"


class Verdict(StrEnum):
    """
    The three values of a condition.
    """

    TRUE = "true"
    FALSE = "false"
    UNDETERMINED = "undetermined"


class Reason(StrEnum):
    """
    Why there is no number or no verdict. Closed set (design §6).
    """

    EXPECTED_TOOLS_UNRESOLVED = "expected_tools_unresolved"
    ANNOTATION_INVALID = "annotation_invalid"
    NO_TOOL_CALLS_OBSERVED = "no_tool_calls_observed"
    NO_TOOL_EVIDENCE = "no_tool_evidence"
    NO_EXECUTION_SPANS = "no_execution_spans"
    PARTIAL_COVERAGE = "partial_coverage"
    INFERRED_COVERAGE = "inferred_coverage"
    OVERLAPPING = "overlapping"
    REQUESTS_UNLINKED = "requests_unlinked"


class ExpectedSource(StrEnum):
    """
    Where an expectation came from; the order is the precedence (design §7).
    """

    ANNOTATION = "annotation"
    ATTRIBUTE = "attribute"
    POLICY = "policy"
    RUN = "run"


class Bounds(Struct, frozen=True):
    """
    The range in which the score of complete evidence lies.
    """

    lower: float
    upper: float

    @property
    def is_exact(self) -> bool:
        return self.lower == self.upper


class Evaluation(Struct, frozen=True, kw_only=True):
    """
    One score or verdict.

    `score` is a number in [0, 1] (a verdict of true is 1, of false 0) or `None`; `label` is the verdict of a
    condition and `None` for a score. `bounds` are `None` for `failed` and `ineligible`.
    """

    name: str
    type: str
    """`tool_selection_accuracy`, another metric's name, or the `condition_type`."""
    version: str
    identifier: str
    """Hash over type, fields, tolerance and matching version: equal identifiers mean equal questions."""
    status: Status
    score: float | None = None
    label: Verdict | None = None
    reason: Reason | None = None
    bounds: Bounds | None = None
    expected: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    requested_not_executed: tuple[str, ...] = ()
    expectation: str | None = None
    """Name of the policy, or `annotation`, `attribute`, `run`."""
    expected_source: ExpectedSource | None = None
    explanation: str = ""
    """For people: names missing or out of order. Never arguments, results or message text."""
    from_embedded_calls: bool = False
    """The verdict rests on the order of completions, not on execution spans (design §6.2)."""


class Delivered(Struct):
    """
    What was last delivered for one evaluation of an occurrence.
    """

    digest: bytes
    """Of the `evaluation` part of the result."""
    evaluation: Evaluation
    revision: int
    entered_histogram: bool


DeliveryHistory = dict[str, Delivered]
"""
What was delivered for one occurrence, by the name of the evaluation, which is unique in it: an answer under another
expectation (a late annotation) revises the one before.
"""
