"""
When a request that passes through is acknowledged, and what a full queue means to its sender.

By default a request is acknowledged when it is in our memory, and refused when no room can be made. The next hop's
`sending_queue` can ask for more care (design §11): `wait_for_result` acknowledges what the next hop took,
`block_on_overflow` lets senders wait for room. In hold mode neither applies: spans wait for their trace anyway.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from service.errors import Refused
from service.pipeline import Accepted, Signal
from service.processor.outbox import Outbox, Settlement
from service.processor.settings import ProcessorSettings
from service.telemetry.recorder import RefusalReason


class Acknowledgements:
    """
    Holds requests back until they can be answered. Owned by the processor's loop.
    """

    def __init__(self, settings: ProcessorSettings, outboxes: Mapping[Signal, Outbox]) -> None:
        self._settings = settings
        self._outboxes = outboxes
        self._is_stopping = False
        self._rooms = {signal: asyncio.Event() for signal in settings.block_on_overflow}
        self.blocked_bytes = 0
        """Size of the requests that wait for room."""

    async def room(self, signal: Signal, size: int) -> None:
        """
        With `block_on_overflow`, wait until the queue of *signal* takes requests again. Raises `Refused` at a stop.
        """
        room = self._rooms.get(signal)
        if room is None or self._outboxes[signal].has_room:
            return
        self.blocked_bytes += size
        try:
            while not self._outboxes[signal].has_room and not self._is_stopping:
                room.clear()
                await room.wait()
        finally:
            self.blocked_bytes -= size
        if self._is_stopping:
            raise Refused(RefusalReason.SHUTTING_DOWN)

    def look_for_room(self) -> None:
        """
        Wake who waits for room that there is now.
        """
        for signal, room in self._rooms.items():
            if self._outboxes[signal].has_room:
                room.set()

    def stop(self) -> None:
        """
        Nobody waits for room any more.
        """
        self._is_stopping = True
        for room in self._rooms.values():
            room.set()

    async def result(self, signal: Signal, take: Callable[[Settlement | None], Awaitable[Accepted]]) -> Accepted:
        """
        What *take* says of a request; with `wait_for_result`, when all that it put on its way was decided downstream.

        Raises `Refused` if that was given up: the sender still has the spans.
        """
        if signal not in self._settings.wait_for_result:
            return await take(None)
        decided = asyncio.get_running_loop().create_future()
        settlement = Settlement(decided.set_result)
        accepted = await take(settlement)
        settlement.seal()
        if not await decided:
            raise Refused(RefusalReason.DOWNSTREAM_UNAVAILABLE)
        return _less(accepted, settlement.rejected_items)


def _less(accepted: Accepted, rejected: int) -> Accepted:
    """
    *accepted*, less what the next hop refused for good.
    """
    if not rejected:
        return accepted
    message = "; ".join(filter(None, (accepted.message, f"{rejected} items refused by the next hop")))
    return msgspec.structs.replace(accepted, rejected_items=accepted.rejected_items + rejected, message=message)
