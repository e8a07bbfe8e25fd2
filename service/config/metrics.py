"""
The metrics beside tool selection accuracy that can be switched on.
"""

from enum import StrEnum


class Metric(StrEnum):
    """
    Closed set, all off by default. Formulas: `service/docs/metrics-edge-cases.md`.
    """

    MULTISET_PRECISION = "multiset_precision"
    MULTISET_RECALL = "multiset_recall"
    MULTISET_F1 = "multiset_f1"
    EXACT_MATCH = "exact_match"
    IN_ORDER_MATCH = "in_order_match"
    ANY_ORDER_MATCH = "any_order_match"
    REDUNDANCY = "redundancy"
    TOOL_SUCCESS_RATE = "tool_success_rate"
    RETRIES_RECOVERED = "retries_recovered"

    @property
    def reads_arguments(self) -> bool:
        return self is Metric.REDUNDANCY
