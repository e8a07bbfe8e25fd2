"""
The outbox: what leaves is packed into requests and handed to the outlets.

Spans of many traces are regrouped under their resources and scopes (`reference/performance.md` §5), up to a number of
spans or bytes, or until the oldest has waited long enough. A full outlet keeps its requests here, and the processor
stops releasing: pressure travels back to the receivers. Pure but for the outlets it is handed; time is a parameter.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct

from proto_adapters.canonical import Origin
from proto_adapters.otlp_encode import framed_size, header_size, join_traces
from service.pipeline import ExportRequest, Outlet, SendOutcome, Signal

MAX_ITEMS = 512
MAX_BYTES = 2 * 1024 * 1024
FLUSH_AFTER_NS = 200_000_000
REQUEST_LIMIT_BYTES = 4 * 1024 * 1024 - 64 * 1024
"""The next hop's gRPC default is 4 MiB, less what headers may add (design §11)."""


class Settlement:
    """
    Follows items that belong together through all requests and outlets that carry them.

    *settled* is called once, with whether every request was decided downstream (delivered or refused for good). False
    means that some may never have left.
    """

    def __init__(self, settled: Callable[[bool], None], may_leave: Callable[[], bool] = lambda: True) -> None:
        self._settled = settled
        self.may_leave = may_leave
        """Whether anything of it may be offered to an outlet yet."""
        self._open_requests = 0
        self._is_sealed = False
        self._is_decided = True
        self.rejected_items = 0
        """Of the requests that carry these items, others among them included."""

    def add_request(self) -> None:
        self._open_requests += 1

    def request_done(self, outcome: SendOutcome, rejected_items: int = 0) -> None:
        self._open_requests -= 1
        self.rejected_items += rejected_items
        self._is_decided = self._is_decided and outcome is not SendOutcome.ABANDONED
        self._check()

    def seal(self) -> None:
        """
        No further items will join.
        """
        self._is_sealed = True
        self._check()

    def _check(self) -> None:
        if self._is_sealed and not self._open_requests:
            self._settled(self._is_decided)


class OutboxSettings(Struct, frozen=True):
    max_items: int = MAX_ITEMS
    max_bytes: int = MAX_BYTES
    flush_after_ns: int = FLUSH_AFTER_NS
    request_limit_bytes: int = REQUEST_LIMIT_BYTES


DEFAULT_SETTINGS = OutboxSettings()


class _Tally:
    """
    Tells the settlements of one request once every outlet has decided it. The worst outcome counts.
    """

    def __init__(self, outlets: Sequence[Outlet], settlements: Iterable[Settlement]) -> None:
        self._open = len(outlets)
        self._settlements = settlements
        self._worst = SendOutcome.DELIVERED
        self._rejected_items = 0
        if not outlets:
            self._tell()

    def __call__(self, outcome: SendOutcome, rejected_items: int) -> None:
        self._open -= 1
        self._rejected_items = max(self._rejected_items, rejected_items)
        if outcome is not SendOutcome.DELIVERED and self._worst is not SendOutcome.ABANDONED:
            self._worst = outcome
        if not self._open:
            self._tell()

    def _tell(self) -> None:
        for settlement in self._settlements:
            settlement.request_done(self._worst, self._rejected_items)


class _Waiting(Struct):
    request: ExportRequest
    outlets: list[Outlet]
    settlements: Collection[Settlement] = ()
    was_refused: bool = False
    """By an outlet that is full; otherwise it may not leave yet."""


class Outbox:
    """
    Collects spans or log records by their origin, joins them into requests, offers these to every outlet.
    """

    def __init__(
        self,
        signal: Signal,
        outlets: Sequence[Outlet],
        settings: OutboxSettings = DEFAULT_SETTINGS,
    ) -> None:
        self._signal = signal
        self._outlets = list(outlets)
        self._settings = settings
        self._groups: dict[Origin, list[bytes]] = {}
        self._settlements: set[Settlement] = set()
        self._item_count = 0
        self._byte_count = 0
        self._oldest_ns = 0
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0

    @property
    def size(self) -> int:
        """Bytes not yet taken by every outlet."""
        return self._byte_count + self._waiting_bytes

    @property
    def item_count(self) -> int:
        return self._item_count + sum(waiting.request.item_count for waiting in self._waiting)

    @property
    def has_room(self) -> bool:
        """False while an outlet is full."""
        return not any(waiting.was_refused for waiting in self._waiting)

    def add(self, origin: Origin, items: Sequence[bytes], now_ns: int, *settlements: Settlement | None) -> None:
        """
        Put *items* on their way; *settlements* follow them.
        """
        if not items:
            return
        if self._fits(origin, items):
            self._put(origin, items, now_ns, settlements)
        else:
            self._put_one_by_one(origin, items, now_ns, settlements)
        if self._item_count >= self._settings.max_items or self._byte_count >= self._settings.max_bytes:
            self.flush()

    def _put_one_by_one(
        self, origin: Origin, items: Iterable[bytes], now_ns: int, settlements: Iterable[Settlement | None]
    ) -> None:
        """
        Items that would not fit all at once: what is there leaves when the next one does not fit.
        """
        for item in items:
            if not self._fits(origin, [item]):
                self.flush()
            self._put(origin, [item], now_ns, settlements)

    def _fits(self, origin: Origin, items: Sequence[bytes]) -> bool:
        return self._byte_count + self._cost(origin, items) <= self._settings.request_limit_bytes

    def _cost(self, origin: Origin, items: Sequence[bytes]) -> int:
        return framed_size(items) + (0 if origin in self._groups else header_size(origin))

    def _put(
        self, origin: Origin, items: Sequence[bytes], now_ns: int, settlements: Iterable[Settlement | None]
    ) -> None:
        if not self._item_count:
            self._oldest_ns = now_ns
        self._byte_count += self._cost(origin, items)
        self._groups.setdefault(origin, []).extend(items)
        self._item_count += len(items)
        for settlement in settlements:
            if settlement is not None and settlement not in self._settlements:
                self._settlements.add(settlement)
                settlement.add_request()

    def pass_on(self, request: bytes, item_count: int, *settlements: Settlement | None) -> None:
        """
        Put a request that was received on its way as it is.
        """
        following = [settlement for settlement in settlements if settlement is not None]
        for settlement in following:
            settlement.add_request()
        tally = _Tally(self._outlets, following) if following else None
        self._offer(ExportRequest(self._signal, request, item_count, tally), following)

    def flush_due(self, now_ns: int) -> None:
        """
        Send what has waited long enough, and offer again what an outlet could not take.
        """
        self._retry()
        if self._item_count and now_ns - self._oldest_ns >= self._settings.flush_after_ns:
            self.flush()

    def flush(self) -> None:
        """
        Send what is there.
        """
        if not self._item_count:
            return
        groups, self._groups = self._groups, {}
        item_count, self._item_count, self._byte_count = self._item_count, 0, 0
        settlements, self._settlements = self._settlements, set()
        request = ExportRequest(
            self._signal, join_traces(groups.items()), item_count, _Tally(self._outlets, settlements)
        )
        self._offer(request, settlements)

    def _offer(self, request: ExportRequest, settlements: Collection[Settlement]) -> None:
        waiting = _Waiting(request, list(self._outlets), settlements)
        if not _leaves(waiting):
            self._waiting.append(waiting)
            self._waiting_bytes += len(request.payload)

    def abandon(self) -> int:
        """
        Give up what no outlet took, at the end; tells how many items will not leave by some outlet.
        """
        self.flush()
        abandoned, self._waiting, self._waiting_bytes = self._waiting, deque(), 0
        for waiting in abandoned:
            for _ in waiting.outlets:
                if waiting.request.done is not None:
                    waiting.request.done(SendOutcome.ABANDONED, 0)
        return sum(waiting.request.item_count for waiting in abandoned)

    def _retry(self) -> None:
        while self._waiting and _leaves(self._waiting[0]):
            self._waiting_bytes -= len(self._waiting.popleft().request.payload)


def _leaves(waiting: _Waiting) -> bool:
    """
    Offer it to the outlets that have not taken it; whether all have now.
    """
    if not all(settlement.may_leave() for settlement in waiting.settlements):
        return False
    waiting.outlets = [outlet for outlet in waiting.outlets if not _offer_to(outlet, waiting.request)]
    waiting.was_refused = bool(waiting.outlets)
    return not waiting.outlets


def _offer_to(outlet: Outlet, request: ExportRequest) -> bool:
    return outlet.has_room(len(request.payload)) and outlet.offer(request)
