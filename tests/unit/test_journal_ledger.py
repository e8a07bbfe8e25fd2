"""
Which requests are still needed: a request goes with its last part, all at once or not at all.
"""

from service.journal.ledger import Ledger
from service.journal.records import Release, TraceState
from service.journal.statements import (
    Statement,
    add_done,
    put_trace,
    remove_done,
    remove_release,
    remove_request,
    remove_trace,
    settle_release,
)

ONE, TWO = b"1" * 16, b"2" * 16
STATE = TraceState(trace_id=ONE, through=1, first_ns=0, last_ns=0, opened_ns=0, span_count=1, byte_count=1)
RELEASE = Release(trace=1, through=1)


class Written:
    """
    What a ledger wrote, a list for each transaction that must not be torn.
    """

    def __init__(self) -> None:
        self.transactions: list[list[Statement]] = []
        self.ledger = Ledger(self.write)

    def write(self, *statements: Statement) -> int:
        self.transactions.append(list(statements))
        return len(self.transactions)

    def take(self) -> list[list[Statement]]:
        taken, self.transactions = self.transactions, []
        return taken


def test_a_request_that_nothing_needs_goes_at_once() -> None:
    written = Written()
    written.ledger.reserve(10)

    written.ledger.take(1, 10, [])

    assert [[remove_request(1)]] == written.take()
    assert (0, 0) == (written.ledger.size, len(written.ledger))


def test_a_request_goes_with_its_last_part() -> None:
    written = Written()
    written.ledger.reserve(10)
    written.ledger.take(1, 10, [ONE, TWO])

    written.ledger.part_done(1, ONE)
    assert ([[add_done(1, ONE)]], 10) == (written.take(), written.ledger.size)

    written.ledger.part_done(1, TWO)
    assert ([[remove_request(1), remove_done(1)]], 0) == (written.take(), written.ledger.size)


def test_a_forgotten_trace_ends_in_one_transaction_with_what_is_remembered_of_it() -> None:
    written = Written()
    claim = written.ledger.claim(ONE)
    written.ledger.take(1, 10, [ONE])
    claim.requests.append(1)
    release, _ = written.ledger.add_release(claim, RELEASE, STATE)
    written.ledger.settled(claim, release)
    assert [settle_release(release)] == written.take()[-1]

    written.ledger.forgotten(claim, STATE, ("remembered", ()))

    assert [[("remembered", ()), remove_release(release), remove_trace(claim.key), remove_request(1)]] == written.take()


def test_a_forgotten_trace_stays_until_all_of_it_arrived() -> None:
    written = Written()
    claim = written.ledger.claim(ONE)
    written.ledger.take(1, 10, [ONE])
    claim.requests.append(1)
    first, _ = written.ledger.add_release(claim, RELEASE, STATE)
    second, _ = written.ledger.add_release(claim, RELEASE, STATE)
    written.take()

    written.ledger.forgotten(claim, STATE)
    assert [[put_trace(claim.key, STATE)]] == written.take()

    written.ledger.settled(claim, second)
    assert [[settle_release(second)]] == written.take()

    written.ledger.settled(claim, first)
    assert [
        [remove_release(first), remove_release(second), remove_trace(claim.key), remove_request(1)]
    ] == written.take()


def test_keys_go_on_behind_those_of_an_earlier_process() -> None:
    written = Written()
    written.ledger.resume(trace_key=7, release_key=9)

    claim = written.ledger.claim(ONE)

    assert (8, 10) == (claim.key, written.ledger.add_release(claim, RELEASE, STATE)[0])
