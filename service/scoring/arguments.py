"""
Argument rules: whether the arguments of a call are those that a requirement lists.

Pure. The direction of a rule is kept: `subset` asks whether the call's arguments lie within the listed ones,
`superset` whether the listed ones lie within the call's (reference metrics.md §1.2). Arguments are never emitted: of a
stored call only the answers to the rules of its time are left (`RememberedArguments`).
"""

import hashlib
import json
from collections.abc import Mapping

from proto_adapters.canonical import AttributeValue
from service.conditions import ArgumentMatch, ToolRequirement
from service.conditions.tools import expand_paths


class RememberedArguments(dict[str, AttributeValue]):
    """
    What stored evidence knows of a call's arguments: which calls of the occurrence had equal ones, and the answer to
    each rule that was asked when it was stored. To any other rule the arguments are not known.
    """

    def __init__(self, group: int | None, answers: Mapping[str, bool]) -> None:
        super().__init__({} if group is None else {"group": group})
        self.answers = answers


def rule_id(requirement: ToolRequirement) -> str:
    """
    What names the argument rule of *requirement*: equal for equal rules, whatever the tool.
    """
    rule = json.dumps([requirement.argument_match, requirement.arguments], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(rule.encode()).hexdigest()[:32]


def arguments_match(requirement: ToolRequirement, arguments: AttributeValue) -> bool | None:
    """
    Whether a call with *arguments* is one that *requirement* asks for; `None` if its arguments are not known.
    """
    if requirement.arguments is None or requirement.argument_match is ArgumentMatch.IGNORE:
        return True
    if isinstance(arguments, RememberedArguments):
        return arguments.answers.get(rule_id(requirement))
    actual = read_arguments(arguments)
    if actual is None:
        return None
    listed = expand_paths(requirement.arguments)
    if requirement.argument_match is ArgumentMatch.SUBSET:
        return lies_within(actual, listed)
    if requirement.argument_match is ArgumentMatch.SUPERSET:
        return lies_within(listed, actual)
    return equal_values(actual, listed)


def read_arguments(arguments: AttributeValue) -> Mapping[str, object] | None:
    """
    The arguments of a call by name, decoded if the producer wrote them as JSON text; `None` if they are not known.
    """
    if isinstance(arguments, RememberedArguments):
        return arguments or None
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, dict) else None


def lies_within(inner: object, outer: object) -> bool:
    """
    Whether *outer* has every key of *inner*, at every depth, with the same values. A list index is a key.
    """
    if isinstance(inner, Mapping) and isinstance(outer, list):
        outer = {str(index): value for index, value in enumerate(outer)}
    if isinstance(inner, Mapping) and isinstance(outer, Mapping):
        return all(key in outer and lies_within(value, outer[key]) for key, value in inner.items())
    return equal_values(inner, outer)


def equal_values(one: object, other: object) -> bool:
    """
    Equality of JSON values: 1 equals 1.0, `true` equals no number.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal_values(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal_values, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
