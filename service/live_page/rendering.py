"""
Pages from templates. Everything is escaped; nothing is marked as safe.

Pure but for the templates, which are read once. Safe to call from several threads.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct

from service.durations import SECOND
from service.live_page.filters import VERDICTS, Choices, Filter, choices_of
from service.live_page.recent import Entry
from service.live_page.record import Outcome, Summary
from service.live_page.span_rows import missing_parents, span_rows
from service.live_page.timeline import charts_of
from service.live_page.words import in_words

PAGE_SIZE = 100

EXPECTED_LABELS = {"tools_not_called": "Forbidden", "tool_call_count": "Counted"}
"""What the listed tools of a condition are, where they are not required."""


class ListCounts(Struct, frozen=True):
    """
    What stands under the list.
    """

    held: int
    seen: int


class ListPage(Struct, frozen=True):
    """
    One page of the list, and how to go on.
    """

    summaries: list[Summary]
    matching: int
    next_offset: int | None


class Renderer:
    """
    Turns what is held into HTML.
    """

    def __init__(self, version: str) -> None:
        self.environment = Environment(
            loader=PackageLoader("service.live_page"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.environment.globals |= {"version": version, "verdict_choices": VERDICTS, "url": _url}
        self.environment.filters |= {
            "clock": _clock,
            "timestamp": _timestamp,
            "words": _words,
            "number": _number,
            "kind": _kind,
            "sentence": _sentence,
        }

    def list_page(self, entries: Sequence[Entry], chosen: Filter, offset: int, counts: ListCounts) -> str:
        """
        The list of occurrences that *chosen* lets through.
        """
        summaries = [entry.summary for entry in entries]
        page = _page_of(summaries, chosen, offset)
        choices: Choices = choices_of(summaries, chosen)
        return self._render("list.html", page=page, chosen=chosen, choices=choices, counts=counts, offset=offset)

    def row(self, summary: Summary) -> str:
        """
        One row of the list.
        """
        return self._render("row.html", summary=summary).strip()

    def occurrence_page(self, entry: Entry) -> str:
        """
        All that is known of one occurrence.
        """
        summary, detail = entry.summary, entry.detail
        rows = span_rows(detail)
        return self._render(
            "occurrence.html",
            summary=summary,
            detail=detail,
            charts=charts_of(summary, detail),
            rows=rows,
            absent=missing_parents(rows),
            unfinished=[row for row in rows if row.span is not None and row.span.end_ns is None],
            late=[row for row in rows if row.is_late],
            labels=EXPECTED_LABELS,
        )

    def message_page(self, title: str, text: str) -> str:
        return self._render("message.html", title=title, text=text)

    def sign_in_page(self, target: str, *, was_refused: bool) -> str:
        return self._render("sign_in.html", target=target, was_refused=was_refused)

    def _render(self, template: str, **values: object) -> str:
        return self.environment.get_template(template).render(**values)


def _page_of(summaries: Sequence[Summary], chosen: Filter, offset: int) -> ListPage:
    matching = [summary for summary in summaries if chosen.lets_through(summary)]
    end = offset + PAGE_SIZE
    return ListPage(matching[offset:end], len(matching), end if end < len(matching) else None)


def _url(path: str, query: Mapping[str, str | int]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _clock(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // SECOND, UTC).strftime("%H:%M:%S")


def _timestamp(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _words(value: str, kind: str) -> str:
    return in_words(kind, value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _number(value: float) -> str:
    return f"{value:.2f}"


def _kind(outcome: Outcome) -> str:
    """
    The class name that gives an outcome its colour: good, bad, open, none. A score that may still be 1 is open.
    """
    if outcome.label is not None:
        return {"true": "good", "false": "bad"}.get(outcome.label, "open")
    if outcome.score is None:
        return "none" if outcome.status == "ineligible" else "open"
    if outcome.score >= 1:
        return "good"
    return "open" if outcome.upper is not None and outcome.upper >= 1 else "bad"
