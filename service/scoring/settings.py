"""
What the scorers are told beside evidence and expectation.
"""

from msgspec import Struct

from service.config.metrics import Metric


class ScoringSettings(Struct, frozen=True, kw_only=True):
    """
    The settings of `processors.tool_scoring` that scores depend on.
    """

    metric_name: str = "tool_selection_accuracy"
    clock_skew_tolerance_ns: int = 0
    tool_name_aliases: bool = False
    allow_false_on_inferred: bool = True
    count_embedded_calls: bool = False
    order_from_embedded_calls: bool = False
    metrics: tuple[Metric, ...] = ()


DEFAULT_SCORING = ScoringSettings()
