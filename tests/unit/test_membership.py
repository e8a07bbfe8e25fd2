"""
Whether the set of replicas changed.
"""

from collections.abc import Iterable

from service.app.membership import Membership
from service.telemetry.recorder import NullRecorder


async def changes(answers: Iterable[set[str] | OSError]) -> int:
    """
    How often a change was told while the name resolved to *answers*.
    """
    script = iter(answers)
    told: list[None] = []

    async def resolve(_: str) -> frozenset[str]:
        answer = next(script)
        if isinstance(answer, OSError):
            raise answer
        return frozenset(answer)

    membership = Membership(
        "replicas", interval_ns=1, changed=lambda: told.append(None), recorder=NullRecorder(), resolve=resolve
    )
    for _ in answers:
        await membership.look()
    return len(told)


async def test_the_first_answer_is_no_change() -> None:
    assert 0 == await changes([{"a", "b"}, {"b", "a"}])


async def test_a_replica_more_or_less_is_a_change() -> None:
    assert 2 == await changes([{"a"}, {"a", "b"}, {"b"}])


async def test_a_name_that_cannot_be_resolved_for_a_moment_is_no_change() -> None:
    assert 0 == await changes([{"a"}, OSError(), {"a"}])


async def test_another_replica_in_the_place_of_one_is_a_change() -> None:
    assert 1 == await changes([{"a", "b"}, {"a", "c"}])
