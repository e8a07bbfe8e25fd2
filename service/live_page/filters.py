"""
Filters of the list: which occurrences a person asked for.

Pure. A filter is what stands in the address, so that a filtered list can be bookmarked and sent to somebody.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from service.live_page.record import Summary

FIELDS = ("service", "agent", "expectation", "verdict", "coverage", "missing")
MAX_CHOICES = 200

VERDICTS = {
    "false": "false",
    "undetermined": "undetermined",
    "true": "true",
    "below_one": "score below 1",
    "failed": "failed",
    "not_scored": "not scored",
}
"""Value in the address and words for people."""


class Filter(Struct, frozen=True):
    """
    An empty field lets everything through.
    """

    service: str = ""
    agent: str = ""
    expectation: str = ""
    verdict: str = ""
    coverage: str = ""
    missing: str = ""

    @property
    def is_empty(self) -> bool:
        return self == Filter()

    @property
    def query(self) -> dict[str, str]:
        """The fields that are set, for an address."""
        return {name: value for name in FIELDS if (value := getattr(self, name))}

    def lets_through(self, summary: Summary) -> bool:
        return (
            self.service in {"", summary.service}
            and self.agent in {"", summary.agent}
            and self.expectation in {"", summary.expectation}
            and self.coverage in {"", summary.coverage}
            and (not self.verdict or self.verdict in summary.verdicts)
            and (not self.missing or self.missing in summary.missing)
        )


class Choices(Struct, frozen=True):
    """
    The values to choose from, each sorted.
    """

    service: list[str]
    agent: list[str]
    expectation: list[str]
    missing: list[str]


def filter_of(query: Mapping[str, str]) -> Filter:
    """
    The filter of an address. What it does not know is ignored.
    """
    return Filter(**{name: query.get(name, "") for name in FIELDS})


def choices_of(summaries: Iterable[Summary], chosen: Filter) -> Choices:
    """
    What can be chosen among *summaries*; what is chosen stays a choice when nothing has it any more.
    """
    held = list(summaries)
    return Choices(
        service=_distinct([chosen.service, *(summary.service for summary in held)]),
        agent=_distinct([chosen.agent, *(summary.agent for summary in held)]),
        expectation=_distinct([chosen.expectation, *(summary.expectation for summary in held)]),
        missing=_distinct([chosen.missing, *(name for summary in held for name in summary.missing)]),
    )


def _distinct(values: Iterable[str]) -> list[str]:
    return sorted(set(values) - {""})[:MAX_CHOICES]
