"""
Which calls are calls of which required tool.

Pure. Names are compared as the condition says; arguments are read only if a requirement lists some.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from proto_adapters.canonical import ToolCall
from proto_adapters.tool_names import alias_match
from service.conditions import NameMatching, ToolRequirement
from service.scoring.arguments import arguments_match
from service.scoring.order import Attempt


class FoundCalls(Struct, frozen=True):
    """
    The calls of one required tool.
    """

    certain: tuple[ToolCall, ...] = ()
    uncertain: tuple[ToolCall, ...] = ()
    """Calls of that name whose arguments are not known, where the requirement lists some."""

    @property
    def all(self) -> tuple[ToolCall, ...]:
        return self.certain + self.uncertain


def attempt_of(call: ToolCall, *, is_certain: bool = True) -> Attempt:
    """
    A call as an order sees it: its end as late as its clock allows, unfinished if it is no order evidence.
    """
    if call.end_ns is None or not call.order_evidence:
        return Attempt(call.start_ns, None, is_certain)
    return Attempt(call.start_ns, call.end_ns + call.end_slack_ns, is_certain)


class NameIndex:
    """
    Finds the listed tools that an observed name stands for.
    """

    def __init__(self, names: Sequence[str], matching: NameMatching, *, with_aliases: bool = False) -> None:
        self._key = matching.key
        self._with_aliases = with_aliases and matching is NameMatching.NORMALIZED
        self._positions: dict[str, list[int]] = {}
        for position, name in enumerate(names):
            self._positions.setdefault(self._key(name), []).append(position)
        self._names = {self._key(name): name for name in names}

    def positions_of(self, observed: str) -> Sequence[int]:
        """
        Positions of the listed names that *observed* stands for: its full name first, an alias if that fits nothing.
        """
        positions = self._positions.get(self._key(observed))
        if positions is None and self._with_aliases:
            alias = alias_match(observed, self._names.values())
            positions = None if alias is None else self._positions[self._key(alias)]
        return positions or ()

    def positions_of_call(self, call: ToolCall, *, with_joined: bool) -> set[int]:
        """
        Positions for the name of *call*, and for the names of the spans joined to it if asked for.
        """
        names = (call.name, *call.aliases) if with_joined or self._with_aliases else (call.name,)
        return {position for name in names for position in self.positions_of(name)}


def find_calls(
    requirements: Sequence[ToolRequirement],
    calls: Iterable[ToolCall],
    matching: NameMatching,
    *,
    with_aliases: bool = False,
    with_joined: bool = False,
) -> list[FoundCalls]:
    """
    The calls of each required tool, in the order of *calls*.

    `with_joined` also looks at the names of inner spans that show the same call: right for presence, not for order.
    """
    index = NameIndex([tool.name for tool in requirements], matching, with_aliases=with_aliases)
    certain: list[list[ToolCall]] = [[] for _ in requirements]
    uncertain: list[list[ToolCall]] = [[] for _ in requirements]
    for call in calls:
        for position in index.positions_of_call(call, with_joined=with_joined):
            matches = arguments_match(requirements[position], call.arguments)
            if matches is not False:
                (certain if matches else uncertain)[position].append(call)
    return [FoundCalls(tuple(sure), tuple(unsure)) for sure, unsure in zip(certain, uncertain, strict=True)]
