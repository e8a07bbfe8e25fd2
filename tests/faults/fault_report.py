"""
The figures of the fault and fuzz suites: what was done to the service, and what became of the spans.

One report for a test run; `conftest.py` prints it at the end and writes it to `tests/output/fault_report.txt`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from conservation import SpanBag, lost_and_added, span_bag


@dataclass
class FaultReport:
    """
    Counts over all tests of this process.
    """

    faults: Counter[str] = field(default_factory=Counter)
    malformed: Counter[str] = field(default_factory=Counter)
    spans_sent: int = 0
    spans_received: int = 0
    spans_lost_by_name: int = 0
    spans_lost: int = 0
    spans_duplicated: int = 0
    kills: int = 0
    peak_memory: float = 0.0
    """Growth of the resident memory under overload, as a multiple of what buffer and queue together may hold."""

    @property
    def is_empty(self) -> bool:
        return not (self.faults or self.malformed or self.spans_sent)

    def lines(self) -> list[str]:
        faults = ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()))
        malformed = ", ".join(f"{name} {count}" for name, count in sorted(self.malformed.items()))
        spans = (
            f"sent {self.spans_sent}, received {self.spans_received}, lost {self.spans_lost}, "
            f"lost by name {self.spans_lost_by_name}, duplicated {self.spans_duplicated}"
        )
        return [
            f"faults injected: {self.faults.total()} ({faults})",
            f"malformed inputs tried: {self.malformed.total()} ({malformed})",
            f"kills survived: {self.kills}",
            f"spans: {spans}",
            f"peak memory under overload: {self.peak_memory:.2f} x the configured limit",
        ]


REPORT = FaultReport()


def account(
    fault: str,
    sent: Iterable[bytes],
    received: Iterable[bytes],
    *,
    in_doubt: Iterable[bytes] = (),
    named_losses: int = 0,
    may_repeat: bool = False,
) -> None:
    """
    Assert that of the spans of *sent* all but *named_losses* are in *received*, unchanged, and no others than those of
    the requests *in_doubt*; each at most once, unless a hop failed in a way that makes it repeat itself (*may_repeat*).
    """
    there, arrived = span_bag(sent), span_bag(received)
    missing = there - arrived
    surplus = arrived - there - span_bag(in_doubt)
    repeated = SpanBag({span: count for span, count in surplus.items() if span in there})
    REPORT.faults[fault] += 1
    REPORT.spans_sent += there.total()
    REPORT.spans_received += arrived.total()
    REPORT.spans_lost_by_name += named_losses
    REPORT.spans_lost += missing.total() - named_losses
    REPORT.spans_duplicated += repeated.total()
    if surplus.total() > repeated.total() or missing.total() != named_losses or (repeated and not may_repeat):
        lost, added = lost_and_added(there, arrived)
        counts = f"lost {len(lost)} ({named_losses} by name), added {len(added)}"
        raise AssertionError(f"{fault}: {counts}: {lost[:1]}{added[:1]}")
