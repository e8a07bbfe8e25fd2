"""
The time axis: nanoseconds to pixels, with long pauses cut short so that short calls beside them can be told apart.

Pure. Inside a cut the scale is still monotone: what is left of something else came before it.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

CUT_WIDTH = 46
MIN_TICK_DISTANCE = 84
LONG_PAUSE = 0.4
"""A pause is cut if it is longer than this share of all the time in which something ran."""
MARGIN = 0.15
"""What is left of a pause on both sides of its cut, as a share of the shortest pause that is cut."""

Interval = tuple[int, int]


class Segment(NamedTuple):
    """
    A stretch of time that is drawn with one scale.
    """

    begin_ns: int
    end_ns: int
    left: float
    right: float
    is_cut: bool

    def place(self, time_ns: int) -> float:
        length = self.end_ns - self.begin_ns
        return self.left if length <= 0 else self.left + (self.right - self.left) * (time_ns - self.begin_ns) / length


class TimeScale(NamedTuple):
    """
    The axis from the begin of the first segment to the end of the last.
    """

    segments: tuple[Segment, ...]

    @property
    def begin_ns(self) -> int:
        return self.segments[0].begin_ns

    @property
    def cuts(self) -> list[Segment]:
        return [segment for segment in self.segments if segment.is_cut]

    def place(self, time_ns: int) -> float:
        """
        The x of a time; times outside of the axis stand at its ends.
        """
        for segment in self.segments:
            if time_ns <= segment.end_ns:
                return round(segment.place(max(time_ns, segment.begin_ns)), 1)
        return round(self.segments[-1].right, 1)

    def ticks(self) -> Iterator[int]:
        """
        Times at round distances from the begin, none of them in a cut, not too close to each other.
        """
        step = self.step_ns
        last = -float(MIN_TICK_DISTANCE)
        for segment in self.segments:
            if segment.is_cut:
                continue
            first = -(-(segment.begin_ns - self.begin_ns) // step) * step + self.begin_ns
            for time_ns in range(first, segment.end_ns + 1, step):
                if segment.place(time_ns) - last >= MIN_TICK_DISTANCE:
                    last = segment.place(time_ns)
                    yield time_ns

    @property
    def step_ns(self) -> int:
        """
        The smallest of 1, 2, 5, 10, … nanoseconds that is wide enough for a label.
        """
        drawn = [segment for segment in self.segments if not segment.is_cut]
        width = sum(segment.right - segment.left for segment in drawn) or 1
        wanted_ns = MIN_TICK_DISTANCE * sum(segment.end_ns - segment.begin_ns for segment in drawn) / width
        step = 1
        while True:
            for factor in (1, 2, 5):
                if factor * step >= wanted_ns:
                    return factor * step
            step *= 10


def time_scale(busy: Sequence[Interval], whole: Interval, left: float, right: float) -> TimeScale:
    """
    The axis of *whole*, with the long pauses between *busy* intervals cut.
    """
    begin_ns, end_ns = whole[0], max(whole[1], whole[0] + 1)
    blocks = list(_merged(busy))
    edges = [(begin_ns, begin_ns), *blocks, (end_ns, end_ns)]
    pauses = [(before[1], after[0]) for before, after in pairwise(edges)]
    limit_ns = LONG_PAUSE * sum(end - begin for begin, end in blocks) if blocks else end_ns - begin_ns
    long = sorted((pause for pause in pauses if _length(pause) > limit_ns), key=_length, reverse=True)
    margin_ns = int(limit_ns * MARGIN)
    cuts = sorted((a + margin_ns, b - margin_ns) for a, b in long[: int((right - left) / 2 / CUT_WIDTH)])
    return TimeScale(tuple(_segments(cuts, (begin_ns, end_ns), left, right)))


def _length(interval: Interval) -> int:
    return interval[1] - interval[0]


def _merged(intervals: Sequence[Interval]) -> Iterator[Interval]:
    current: Interval | None = None
    for begin, end in sorted(intervals):
        if current is not None and begin <= current[1]:
            current = (current[0], max(current[1], end))
            continue
        if current is not None:
            yield current
        current = (begin, end)
    if current is not None:
        yield current


def _segments(cuts: Sequence[Interval], whole: Interval, left: float, right: float) -> Iterator[Segment]:
    drawn_ns = _length(whole) - sum(map(_length, cuts))
    scale = (right - left - CUT_WIDTH * len(cuts)) / max(drawn_ns, 1)
    x, time_ns = left, whole[0]
    for cut in [*cuts, (whole[1], whole[1])]:
        if cut[0] > time_ns:
            width = (cut[0] - time_ns) * scale
            yield Segment(time_ns, cut[0], x, x + width, is_cut=False)
            x += width
        if _length(cut):
            yield Segment(cut[0], cut[1], x, x + CUT_WIDTH, is_cut=True)
            x += CUT_WIDTH
        time_ns = cut[1]
