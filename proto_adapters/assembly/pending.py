"""
Logfire pending spans: rules X2 and X3 of the dialects reference, §5.1.

Pure. A pending span announces a span that had not ended yet. If that span arrived, the announcement is dropped; if it
never did, an unfinished span takes its place.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from proto_adapters.assembly.tree import by_start
from proto_adapters.canonical import CanonicalSpan


def resolve_pending(spans: Sequence[CanonicalSpan]) -> list[CanonicalSpan]:
    """
    Real spans as they are, and one unfinished span for each announced span that is missing.
    """
    real = [span for span in spans if not span.pending]
    if len(real) == len(spans):
        return real
    held = {span.span_id for span in real}
    return [*real, *_unfinished((span for span in spans if span.pending), held)]


def _unfinished(pending: Iterable[CanonicalSpan], held: set[bytes]) -> Iterable[CanonicalSpan]:
    for span in sorted(pending, key=by_start):
        announced = span.pending_for or span.span_id
        if announced not in held:
            held.add(announced)
            yield replace(span, span_id=announced, pending_for=None, end_ns=None, order_evidence=False)
