"""
The parts of a chart, as numbers and texts for a template to draw. Values only.
"""

from msgspec import Struct


class Tick(Struct, frozen=True):
    x: float
    label: str


class Cut(Struct, frozen=True):
    """
    A pause that is not drawn to scale.
    """

    x: float
    width: float
    label: str


class Bar(Struct, frozen=True, kw_only=True):
    """
    One call. `marks` are class names: error, open, synthetic, requested, control, late.
    """

    x: float
    y: float
    width: float
    marks: list[str]
    slack_width: float = 0
    """How far its end may lie further right."""
    tolerance_width: float = 0
    """How far from there a later call must begin to have come after it."""
    title: str
    note: str
    note_x: float | None
    """Where the note stands; `None` if there is no room for it."""
    is_note_inside: bool
    href: str
    """Where its span is shown."""


class ModelBar(Struct, frozen=True, kw_only=True):
    """
    One turn of the model, for orientation.
    """

    x: float
    width: float
    title: str


class Lane(Struct, frozen=True, kw_only=True):
    """
    One tool. `role`: required, forbidden, other, control.
    """

    name: str
    label: str
    """The name, cut to the width of the margin."""
    role: str
    number: int | None
    y: float
    height: float
    bars: list[Bar]
    absence: str
    """What to say of a lane without a bar."""


class Arrow(Struct, frozen=True, kw_only=True):
    """
    The required order between two calls. `relation` as in `relations`.
    """

    path: str
    relation: str
    title: str


class Band(Struct, frozen=True, kw_only=True):
    """
    The time in which two calls that need an order both ran.
    """

    x: float
    y: float
    width: float
    height: float
    title: str


class Statement(Struct, frozen=True):
    """
    One required pair in words.
    """

    relation: str
    pair: str
    text: str
    is_implied: bool


class Chart(Struct, frozen=True, kw_only=True):
    """
    One order condition (or none) over the calls of one occurrence.
    """

    name: str
    width: int
    height: float
    left: int
    right: int
    axis_y: float
    model_y: float
    models: list[ModelBar]
    ticks: list[Tick]
    cuts: list[Cut]
    lanes: list[Lane]
    bands: list[Band]
    arrows: list[Arrow]
    statements: list[Statement]
    notes: list[str]
    """How times are compared, and what is not drawn."""
    may_continue: bool
    """Calls may be missing."""
