"""
The account that a soak keeps finds what is missing and what came twice.
"""

from bench.agent_traffic import Profile, synthetic_corpus
from bench.soak import Arrivals

CORPUS = synthetic_corpus(Profile.LEAN, batch=16, traces=4)


def arrivals_of(requests: list[bytes]) -> Arrivals:
    arrivals = Arrivals(CORPUS)
    for request in requests:
        arrivals.take(request)
    return arrivals


def test_spans_of_several_passes_are_counted_once_each() -> None:
    arrivals = arrivals_of([*CORPUS.requests(1), *reversed(CORPUS.requests(2))])

    assert (2 * CORPUS.span_count, 0) == (arrivals.distinct, arrivals.repeated)


def test_a_request_that_did_not_come_is_missing() -> None:
    arrivals = arrivals_of(CORPUS.requests(1)[1:])

    assert CORPUS.span_count - CORPUS.templates[0].span_count == arrivals.distinct


def test_repeated_requests_are_found_whether_their_pass_is_complete_or_not() -> None:
    first = CORPUS.requests(1)[0]

    arrivals = arrivals_of([first, first, *CORPUS.requests(1)[1:], first])

    assert (CORPUS.span_count, 2 * CORPUS.templates[0].span_count) == (arrivals.distinct, arrivals.repeated)
