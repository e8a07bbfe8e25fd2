"""
Trees of conditions in three values.

Pure. The tables are those of strong Kleene logic for `all_of` and `any_of`; a majority with an open vote is open
(`service/docs/semantics.md`).
"""

from collections.abc import Sequence

from service.conditions import AllOf, AnyOf, Majority, TreeCondition
from service.evaluation import Verdict
from service.scoring.findings import Finding

TRUE, FALSE, UNDETERMINED = Verdict.TRUE, Verdict.FALSE, Verdict.UNDETERMINED


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    if FALSE in verdicts:
        return FALSE
    return UNDETERMINED if UNDETERMINED in verdicts else TRUE


def any_of(verdicts: Sequence[Verdict]) -> Verdict:
    if TRUE in verdicts:
        return TRUE
    return UNDETERMINED if UNDETERMINED in verdicts else FALSE


def majority(verdicts: Sequence[Verdict]) -> Verdict:
    if UNDETERMINED in verdicts:
        return UNDETERMINED
    return TRUE if 2 * verdicts.count(TRUE) > len(verdicts) else FALSE


def negate(verdict: Verdict) -> Verdict:
    return {TRUE: FALSE, FALSE: TRUE}.get(verdict, UNDETERMINED)


def find_tree(condition: TreeCondition, children: Sequence[Finding]) -> Finding:
    """
    The finding of a tree from those of its children, in their order.

    An open tree has the reason of its first open child.
    """
    verdict = _join(condition, [child.verdict for child in children])
    reasons = (child.reason for child in children if child.reason is not None)
    return Finding(
        verdict,
        next(reasons, None) if verdict is UNDETERMINED else None,
        explanation=_explain(condition, children, verdict),
        from_embedded_calls=any(child.from_embedded_calls for child in children),
    )


def _join(condition: TreeCondition, verdicts: Sequence[Verdict]) -> Verdict:
    if isinstance(condition, AllOf):
        return all_of(verdicts)
    if isinstance(condition, AnyOf):
        return any_of(verdicts)
    if isinstance(condition, Majority):
        return majority(verdicts)
    return negate(verdicts[0])


def _explain(condition: TreeCondition, children: Sequence[Finding], verdict: Verdict) -> str:
    if verdict is TRUE:
        return ""
    named = zip(condition.children, children, strict=True)
    return "; ".join(f"{child.evaluation_name} is {finding.verdict}" for child, finding in named)
