"""
A curve as an SVG picture: both axes logarithmic, the points marked and labelled.
"""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 60, 24, 36, 44

Point = tuple[int, float]


def as_svg(title: str, across: str, up: str, points: Sequence[Point]) -> str:
    """
    The picture of *points*; cost axes span at least two decades, so that noise does not look like growth.
    """
    low, high = _decades([value for _, value in points])
    first, last = floor(log10(points[0][0])), max(ceil(log10(points[-1][0])), floor(log10(points[0][0])) + 1)
    places = [(_x(size, first, last), _y(value, low, high)) for size, value in points]
    middle, line = (TOP + HEIGHT - BOTTOM) / 2, " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(WIDTH / 2, 18, title, size=13),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, across),
        f'<g transform="translate(14 {middle}) rotate(-90)">{_text(0, 0, up)}</g>',
        *_grid(first, last, low, high),
        f'<polyline fill="none" stroke="#1f6f8b" stroke-width="2" points="{line}"/>',
    ]
    for (x, y), (_, value) in zip(places, points, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#1f6f8b"/>')
        parts.append(_text(x, y - 9, f"{value:.3g}"))
    return "\n".join([*parts, "</svg>", ""])


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return (low, high) if high - low > 1 else (low - (high - low == 0), low + 2 - (high - low == 0))


def _x(value: float, first: int, last: int) -> float:
    return LEFT + (log10(value) - first) / (last - first) * (WIDTH - LEFT - RIGHT)


def _y(value: float, low: int, high: int) -> float:
    return HEIGHT - BOTTOM - (log10(value) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def _grid(first: int, last: int, low: int, high: int) -> list[str]:
    lines = []
    for power in range(first, last + 1):
        x = _x(10**power, first, last)
        lines.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        lines.append(_text(x, HEIGHT - BOTTOM + 14, f"{10**power:,}"))
    for power in range(low, high + 1):
        y = _y(10.0**power, low, high)
        lines.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(_text(LEFT - 6, y + 4, f"{10.0**power:g}", anchor="end"))
    return lines


def _text(x: float, y: float, text: str, *, anchor: str = "middle", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'
