"""
When the absence of a call proves something.

Pure. That a tool was called is seen; that it was not called is a conclusion, and needs evidence in which the call would
have been seen (design §5).
"""

from service.evaluation import Reason
from service.evidence import CoverageBasis, ToolEvidence
from service.scoring.settings import ScoringSettings


def absence_gap(evidence: ToolEvidence, settings: ScoringSettings, *, embedded_calls_count: bool) -> Reason | None:
    """
    Why a call that is not held may have happened all the same; `None` if it did not happen.
    """
    if evidence.embedded_calls and not embedded_calls_count:
        return Reason.NO_EXECUTION_SPANS
    if not evidence.has_tool_evidence:
        return Reason.NO_TOOL_EVIDENCE
    if not evidence.coverage.is_complete:
        return Reason.PARTIAL_COVERAGE
    if not evidence.all_requests_linked:
        return Reason.REQUESTS_UNLINKED
    if evidence.coverage.basis is CoverageBasis.INFERRED and not settings.allow_false_on_inferred:
        return Reason.INFERRED_COVERAGE
    return None
