"""
Deliveries: what of an assessment is new, and which revision it is.

Pure. An evaluation is delivered when it differs from what was last delivered for the same occurrence (design §6.4);
the first delivery is revision 0.
"""

from collections.abc import Iterable
from hashlib import sha256

import msgspec
from msgspec import Struct

from service.evaluation import Delivered, DeliveryHistory, Evaluation, Reason
from service.evidence import Coverage, Partition, Trigger

_encoder = msgspec.json.Encoder()


class Delivery(Struct, frozen=True, kw_only=True):
    """
    One evaluation on its way out.
    """

    evaluation: Evaluation
    coverage: Coverage
    partition: Partition
    occurrence: str
    trigger: Trigger | None
    """What closed the occurrence; `None` for an early verdict."""
    revision: int = 0
    is_final: bool = True
    """False for provisional closings and early verdicts."""
    is_early: bool = False
    replaces: Evaluation | None = None
    """What was delivered before; `None` for revision 0."""
    enters_histogram: bool = False
    """The first delivery of its occurrence whose bounds are exact (design §9)."""

    @property
    def idempotency_id(self) -> str:
        """
        32 hex digits, equal whenever the same result is delivered again (design §6.4).
        """
        evaluation = self.evaluation
        identity = (
            self.partition,
            self.occurrence,
            evaluation.identifier,
            evaluation.expectation,
            self.revision,
            self.is_early,
        )
        return sha256(_encoder.encode(identity)).hexdigest()[:32]


def digest_of(evaluation: Evaluation, coverage: Coverage) -> bytes:
    """
    Digest of the `evaluation` part of a result, which the spans held, the expectation and the closing facts decide.
    """
    return sha256(_encoder.encode((evaluation, coverage))).digest()[:16]


def plan_deliveries(
    evaluations: Iterable[Evaluation],
    coverage: Coverage,
    history: DeliveryHistory,
    *,
    partition: Partition,
    occurrence: str,
    trigger: Trigger,
    is_provisional: bool = False,
) -> list[Delivery]:
    """
    What has to be delivered of *evaluations*, in their order; *history* is brought up to date.

    *is_provisional*: the trace was closed so before, whatever *trigger* made this closing.
    """
    deliveries = []
    for evaluation in evaluations:
        if not is_deliverable(evaluation):
            continue
        before = history.get(evaluation.name)
        digest = digest_of(evaluation, coverage)
        if before is not None and before.digest == digest:
            continue
        enters = _is_exact(evaluation) and not (before is not None and before.entered_histogram)
        revision = 0 if before is None else before.revision + 1
        entered = enters or (before is not None and before.entered_histogram)
        history[evaluation.name] = Delivered(digest, evaluation, revision, entered)
        deliveries.append(
            Delivery(
                evaluation=evaluation,
                coverage=coverage,
                partition=partition,
                occurrence=occurrence,
                trigger=trigger,
                revision=revision,
                is_final=not (is_provisional or (partition is Partition.TRACE and trigger.is_provisional)),
                replaces=None if before is None else before.evaluation,
                enters_histogram=enters,
            )
        )
    return deliveries


def is_deliverable(evaluation: Evaluation) -> bool:
    """
    An unresolved expectation is shown by `explain`, `replay` and a counter only (design §7).
    """
    return evaluation.reason is not Reason.EXPECTED_TOOLS_UNRESOLVED


def latest_revision(history: DeliveryHistory) -> int:
    return max((delivered.revision for delivered in history.values()), default=0)


def _is_exact(evaluation: Evaluation) -> bool:
    return evaluation.score is not None and evaluation.bounds is not None and evaluation.bounds.is_exact
