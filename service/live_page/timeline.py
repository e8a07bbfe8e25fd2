"""
The timeline: tool calls on a time axis, one lane for each tool, the required tools on top in their required order.

Pure. An order that holds is a staircase that descends to the right; what breaks it goes back to the left. The arrows
of the required order are drawn between the calls that `relations` chooses.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from proto_adapters.tool_names import comparison_key
from service.live_page.chart import Arrow, Band, Bar, Chart, Cut, Lane, ModelBar, Statement, Tick
from service.live_page.record import Detail, OrderQuestion, ShownCall, ShownSpan, Summary
from service.live_page.relations import Link, Relation, links_of, overlap_ns
from service.live_page.time_scale import Interval, TimeScale, time_scale
from service.live_page.words import brief_duration, tick_label
from service.scoring.partial_order import predecessors

WIDTH = 1_000
LEFT = 190
RIGHT = 960
AXIS_Y = 22
MODEL_Y = 34
LANES_Y = 58
LANES_Y_WITHOUT_MODEL = 32
ROW_HEIGHT = 22
BAR_HEIGHT = 14
LANE_PADDING = 16
MIN_BAR_WIDTH = 3
MAX_OTHER_LANES = 12
MAX_ROWS = 12
MAX_MODEL_BARS = 200
LABEL_LENGTH = 22
CHARACTER_WIDTH = 6.2
NOTE_MARGIN = 7
MIN_LABEL_DISTANCE = 62
MIN_FORWARD = 18
"""An arrow to the right needs this much room for its tip."""


class _Plan(NamedTuple):
    """
    One lane before it has a place: which calls go into it.
    """

    name: str
    role: str
    number: int | None
    calls: list[int]
    absence: str


def charts_of(summary: Summary, detail: Detail) -> list[Chart]:
    """
    A chart for each condition that reads an order; one without arrows if there is none.
    """
    questions = detail.questions or [_no_order(summary, detail)]
    scale = _scale(detail)
    return [_chart(question, summary, detail, scale) for question in questions]


def _no_order(summary: Summary, detail: Detail) -> OrderQuestion:
    """
    The expected tools of the first score, as an order that requires nothing.
    """
    expected = next((outcome.expected for outcome in summary.outcomes if outcome.expected), [])
    keys = [comparison_key(name) for name in expected]
    attempts: list[list[int]] = [[] for _ in expected]
    for position, call in enumerate(detail.calls):
        key = comparison_key(call.name)
        if key in keys:
            attempts[keys.index(key)].append(position)
    return OrderQuestion(
        name="", tools=expected, pairs=[], tolerance_ns=0, attempts=attempts, uncertain=[[] for _ in expected]
    )


def _scale(detail: Detail) -> TimeScale:
    times = [time for span in detail.spans for time in (span.start_ns, span.end_ns) if time]
    times += [time for call in detail.calls for time in (call.start_ns, call.end_ns) if time]
    whole = (min(times, default=0), max(times, default=1))
    busy = [(call.start_ns, call.end_ns or call.start_ns) for call in detail.calls if call.start_ns]
    if not any(end > begin for begin, end in busy):
        busy = [_interval(span) for span in _model_spans(detail) if span.start_ns]
    return time_scale([each for each in busy if each[1] >= each[0]], whole, LEFT + 10, RIGHT - 10)


def _interval(span: ShownSpan) -> Interval:
    return span.start_ns, max(span.end_ns or 0, span.start_ns)


def _model_spans(detail: Detail) -> list[ShownSpan]:
    return [span for span in detail.spans if span.kind == "LLM" and span.duplicate_of is None][:MAX_MODEL_BARS]


def _chart(question: OrderQuestion, summary: Summary, detail: Detail, scale: TimeScale) -> Chart:
    is_complete = summary.coverage == "complete"
    plans = list(_plans(question, summary, detail))
    lanes: list[Lane] = []
    models = _model_spans(detail)
    y: float = LANES_Y if models else LANES_Y_WITHOUT_MODEL
    for plan in plans[: len(question.tools) + MAX_OTHER_LANES]:
        lane = _lane(plan, detail, scale, y, question.tolerance_ns)
        lanes.append(lane)
        y += lane.height
    links = links_of(question, detail.calls, is_complete=is_complete) if question.pairs else []
    places = _Places(lanes, plans, detail.calls, scale)
    return Chart(
        name=question.name,
        width=WIDTH,
        height=y + 8,
        left=LEFT,
        right=RIGHT,
        axis_y=AXIS_Y,
        model_y=MODEL_Y,
        models=[_model_bar(span, scale) for span in models],
        ticks=list(_ticks(scale)),
        cuts=[
            Cut(round(cut.left, 1), round(cut.right - cut.left, 1), brief_duration(cut.end_ns - cut.begin_ns))
            for cut in scale.cuts
        ],
        lanes=lanes,
        bands=list(places.bands(links)),
        arrows=list(places.arrows(links)),
        statements=[_statement(link, question) for link in links],
        notes=list(_notes(question, detail, len(plans) - len(lanes))),
        may_continue=not is_complete,
    )


def _ticks(scale: TimeScale) -> Iterator[Tick]:
    """
    Ticks whose label does not run into that of a cut.
    """
    centres = [(cut.left + cut.right) / 2 for cut in scale.cuts]
    for time_ns in scale.ticks():
        x = scale.place(time_ns)
        if all(abs(x - centre) > MIN_LABEL_DISTANCE for centre in centres):
            yield Tick(x, tick_label(time_ns - scale.begin_ns, scale.step_ns))


def _plans(question: OrderQuestion, summary: Summary, detail: Detail) -> Iterator[_Plan]:
    requested = {name for outcome in summary.outcomes for name in outcome.requested_not_executed}
    absence = "never called" if summary.coverage == "complete" else "not seen; coverage is partial"
    taken: set[int] = set()
    for node in predecessors(len(question.tools), question.pairs):
        name = question.tools[node]
        calls = sorted({*question.attempts[node], *question.uncertain[node]})
        taken.update(calls)
        words = f"asked for by the model, {absence}" if name in requested else absence
        yield _Plan(name, "required", node + 1 if question.pairs else None, calls, words)
    others: dict[str, list[int]] = {}
    for position, call in enumerate(detail.calls):
        if position not in taken:
            others.setdefault(call.name, []).append(position)
    forbidden = _forbidden(summary)
    for name, calls in others.items():
        is_control = all(detail.calls[position].is_control for position in calls)
        role = "forbidden" if comparison_key(name) in forbidden else "control" if is_control else "other"
        yield _Plan(name, role, None, calls, "")


def _forbidden(summary: Summary) -> set[str]:
    """
    Names that were called although a condition forbids them, for comparison.
    """
    conditions = (outcome for outcome in summary.outcomes if outcome.type == "tools_not_called")
    return {comparison_key(name) for outcome in conditions if outcome.label == "false" for name in outcome.called}


def _lane(plan: _Plan, detail: Detail, scale: TimeScale, y: float, tolerance_ns: int) -> Lane:
    calls = [detail.calls[position] for position in plan.calls]
    rows = _rows(calls, scale)
    late = {span.span_id for span in detail.spans if span.closing}
    bars = []
    for index, (call, row) in enumerate(zip(calls, rows, strict=True)):
        following = (
            scale.place(other.start_ns)
            for other, its in zip(calls[index + 1 :], rows[index + 1 :], strict=True)
            if its == row
        )
        number = f"call {index + 1}" if len(calls) > 1 else ""
        bar_y = y + (LANE_PADDING + ROW_HEIGHT - BAR_HEIGHT) / 2 + row * ROW_HEIGHT
        bar = _bar(call, scale, bar_y, number, free_until=next(following, RIGHT), tolerance_ns=tolerance_ns)
        if call.span_id in late:
            bar = replace(bar, marks=[*bar.marks, "late"])
        if not detail.spans:
            bar = replace(bar, href=f"/occurrences/{call.trace_id}{bar.href}")
        bars.append(bar)
    return Lane(
        name=plan.name,
        label=plan.name if len(plan.name) <= LABEL_LENGTH else plan.name[: LABEL_LENGTH - 1] + "…",
        role=plan.role,
        number=plan.number,
        y=y,
        height=LANE_PADDING + (max(rows, default=0) + 1) * ROW_HEIGHT,
        bars=bars,
        absence="" if plan.calls else plan.absence,
    )


def _rows(calls: Sequence[ShownCall], scale: TimeScale) -> list[int]:
    """
    The row of each call inside its lane: calls that ran at the same time lie below each other.
    """
    free_from: list[float] = []
    rows = []
    for call in calls:
        left = scale.place(call.start_ns)
        right = RIGHT if call.end_ns is None and not call.is_requested else left + _width(call, scale) + 2
        row = next((row for row, free in enumerate(free_from) if free <= left), len(free_from))
        row = min(row, MAX_ROWS - 1)
        if row == len(free_from):
            free_from.append(right)
        free_from[row] = max(free_from[row], right)
        rows.append(row)
    return rows


def _width(call: ShownCall, scale: TimeScale) -> float:
    if call.end_ns is None:
        return MIN_BAR_WIDTH if call.is_requested else RIGHT - scale.place(call.start_ns)
    return max(MIN_BAR_WIDTH, round(scale.place(call.end_ns) - scale.place(call.start_ns), 1))


def _bar(call: ShownCall, scale: TimeScale, y: float, number: str, *, free_until: float, tolerance_ns: int) -> Bar:
    x, width = scale.place(call.start_ns), _width(call, scale)
    slack = 0.0 if call.end_ns is None else scale.place(call.end_ns + call.slack_ns) - scale.place(call.end_ns)
    remarks = _remarks(call)
    note = ", ".join([number, *remarks] if number else remarks)
    is_inside = _text_width(note) + 2 * NOTE_MARGIN + (10 if call.status == "error" else 0) < width
    tolerance_width = _tolerance_width(call, scale, tolerance_ns)
    outside_x = x + width + slack + tolerance_width + NOTE_MARGIN
    has_room = is_inside or outside_x + _text_width(note) < free_until
    return Bar(
        x=x,
        y=y,
        width=width,
        marks=list(_marks(call)),
        slack_width=round(slack, 1),
        tolerance_width=tolerance_width,
        title=f"{call.name}: {', '.join([_times(call, scale), *remarks])}",
        note=note,
        note_x=None if not has_room else round(x + width / 2 if is_inside else outside_x, 1),
        is_note_inside=is_inside,
        href=f"#span-{call.span_id}",
    )


def _tolerance_width(call: ShownCall, scale: TimeScale, tolerance_ns: int) -> float:
    end_ns = call.latest_end_ns
    if end_ns is None or call.is_requested:
        return 0.0
    return round(scale.place(end_ns + tolerance_ns) - scale.place(end_ns), 1)


def _text_width(text: str) -> float:
    return CHARACTER_WIDTH * len(text)


def _marks(call: ShownCall) -> Iterator[str]:
    if call.status == "error":
        yield "error"
    if call.is_requested:
        yield "requested"
    elif call.end_ns is None:
        yield "open"
    if call.is_synthetic:
        yield "synthetic"
    if call.is_control:
        yield "control"


def _remarks(call: ShownCall) -> list[str]:
    if call.is_requested:
        return ["asked for"]
    remarks = ["no end" if call.end_ns is None else brief_duration(call.end_ns - call.start_ns)]
    if call.status == "error":
        remarks.append("failed")
    if call.is_synthetic:
        remarks.append("made-up times")
    return remarks


def _times(call: ShownCall, scale: TimeScale) -> str:
    start = brief_duration(call.start_ns - scale.begin_ns)
    if call.end_ns is None:
        return f"from {start}"
    return f"{start} to {brief_duration(call.end_ns - scale.begin_ns)}"


def _model_bar(span: ShownSpan, scale: TimeScale) -> ModelBar:
    begin, end = _interval(span)
    x = scale.place(begin)
    return ModelBar(
        x=x,
        width=max(1.5, round(scale.place(end) - x, 1)),
        title=f"{span.name}: {brief_duration(end - begin)}",
    )


class _Places:
    """
    Where the bars of calls are, for what is drawn between them.
    """

    def __init__(
        self, lanes: Sequence[Lane], plans: Sequence[_Plan], calls: Sequence[ShownCall], scale: TimeScale
    ) -> None:
        self._calls = calls
        self._scale = scale
        self._bars = {
            position: bar
            for lane, plan in zip(lanes, plans, strict=False)
            for position, bar in zip(plan.calls, lane.bars, strict=True)
        }

    def bands(self, links: Sequence[Link]) -> Iterator[Band]:
        for link in links:
            if link.relation is not Relation.OVERLAPPING or link.earlier_call is None or link.later_call is None:
                continue
            first, second = self._calls[link.earlier_call], self._calls[link.later_call]
            upper, lower = sorted((self._bars[link.earlier_call], self._bars[link.later_call]), key=lambda bar: bar.y)
            x = self._scale.place(max(first.start_ns, second.start_ns))
            right = self._scale.place(min(first.end_ns or 0, second.end_ns or 0))
            yield Band(
                x=x,
                y=upper.y,
                width=max(MIN_BAR_WIDTH, round(right - x, 1)),
                height=lower.y + BAR_HEIGHT - upper.y,
                title=f"both ran for {brief_duration(overlap_ns(first, second))}",
            )

    def arrows(self, links: Sequence[Link]) -> Iterator[Arrow]:
        for link in links:
            if link.earlier_call is None or link.later_call is None:
                continue
            yield _arrow(link, self._bars[link.earlier_call], self._bars[link.later_call])


def _arrow(link: Link, first: Bar, second: Bar) -> Arrow:
    """
    From the end of what should come first, downwards, to the begin of what should come after it in a lane below.

    Where that lies to the right it is reached from the left, else from above.
    """
    is_open = "open" in first.marks or "requested" in first.marks
    x1, y1 = first.x + (0 if is_open else first.width), first.y + BAR_HEIGHT
    x2, y2, middle = second.x, second.y + BAR_HEIGHT / 2, (y1 + second.y) / 2
    if x2 - x1 > MIN_FORWARD:
        path = f"M{x1:.1f} {y1:.1f} C{x1:.1f} {y2:.1f} {x1 + 6:.1f} {y2:.1f} {x2 - 1:.1f} {y2:.1f}"
    else:
        path = f"M{x1:.1f} {y1:.1f} C{x1:.1f} {middle:.1f} {x2 + 2:.1f} {middle:.1f} {x2 + 2:.1f} {second.y:.1f}"
    return Arrow(path=path, relation=str(link.relation), title=link.text)


def _statement(link: Link, question: OrderQuestion) -> Statement:
    pair = f"{question.tools[link.earlier]} → {question.tools[link.later]}"
    return Statement(str(link.relation), pair, link.text, link.is_implied)


def _notes(question: OrderQuestion, detail: Detail, hidden_lanes: int) -> Iterator[str]:
    if question.tolerance_ns:
        yield f"Clocks may differ by {brief_duration(question.tolerance_ns)}: a shorter gap proves no order."
    slack_ns = max((call.slack_ns for call in detail.calls), default=0)
    if slack_ns:
        yield f"Some starts are cut to {brief_duration(slack_ns)}, so those calls may have ended that much later."
    if detail.call_count > len(detail.calls):
        yield f"Only the first {len(detail.calls)} of {detail.call_count} calls are drawn."
    if hidden_lanes > 0:
        yield f"{hidden_lanes} more tools that are not required are left out."
    if any(call.is_requested for call in detail.calls):
        yield "Diamonds are calls that the model asked for; no span shows that they ran."
    if detail.nameless_calls:
        yield f"{detail.nameless_calls} tool calls have no name and are not drawn."
