"""
What a panel shows, as values, and how it becomes a panel of Grafana.

Pure: values in, builders of the Grafana SDK out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from grafana_foundation_sdk.builders import bargauge, common, dashboard, heatmap, prometheus, stat, table, timeseries
from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    DataSourceRef,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DataTransformerConfig,
    Threshold,
    ThresholdsMode,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

Kind = Literal["stat", "lines", "stacked", "bars", "table", "heatmap"]
PanelBuilder = stat.Panel | timeseries.Panel | bargauge.Panel | table.Panel | heatmap.Panel

PROMETHEUS = DataSourceRef(type_val="prometheus", uid="${datasource}")
FULL_WIDTH = 24
GREEN, ORANGE, RED = "green", "orange", "red"


@dataclass(frozen=True)
class Query:
    """
    One PromQL expression. *now* asks for one value at the end of the range, as bars, tables and single numbers need.
    """

    expr: str
    legend: str = ""
    now: bool = False
    exemplars: bool = False


@dataclass(frozen=True)
class Panel:
    """
    `empty` is what the panel says when there is nothing to show; `steps` are the values from which it turns orange and
    red (or, falling, from which it stops being red and orange).
    """

    title: str
    kind: Kind
    unit: str
    description: str
    empty: str
    queries: tuple[Query, ...]
    width: int = 12
    height: int = 8
    steps: tuple[float, float] | None = None
    falling: bool = False
    columns: tuple[tuple[str, str], ...] = ()
    """Of a table: (field, heading)."""


@dataclass(frozen=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


def build(panel: Panel) -> PanelBuilder:
    """
    The panel with everything that all kinds have in common.
    """
    built = BUILDERS[panel.kind](panel)
    built.title(panel.title).description(panel.description).datasource(PROMETHEUS)
    built.span(panel.width).height(panel.height)
    built.unit(panel.unit).no_value(panel.empty).thresholds(_thresholds(panel))
    for letter, query in zip("ABCDEFGH", panel.queries, strict=False):
        built.with_target(_target(letter, query, panel.kind))
    return built


def _target(letter: str, query: Query, kind: Kind) -> prometheus.Dataquery:
    target = prometheus.Dataquery().ref_id(letter).expr(query.expr).datasource(PROMETHEUS)
    target.legend_format(query.legend or "__auto")
    if query.now:
        target.instant()
    else:
        target.range()
    if query.exemplars:
        target.exemplar(exemplar=True)
    return target.format(FORMATS.get(kind, PromQueryFormat.TIME_SERIES))


FORMATS = {"table": PromQueryFormat.TABLE, "heatmap": PromQueryFormat.HEATMAP}


def _thresholds(panel: Panel) -> dashboard.ThresholdsConfig:
    steps = [Threshold(value=None, color=GREEN)]
    if panel.steps is not None:
        colours = (RED, ORANGE, GREEN) if panel.falling else (GREEN, ORANGE, RED)
        steps = [
            Threshold(value=value, color=colour) for value, colour in zip((None, *panel.steps), colours, strict=True)
        ]
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def _stat(_: Panel) -> stat.Panel:
    return stat.Panel().reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))


def _lines(_: Panel) -> timeseries.Panel:
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
    tooltip = common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING)
    panel = timeseries.Panel().legend(legend.show_legend(show_legend=True)).tooltip(tooltip)
    return panel.line_width(2).fill_opacity(10).show_points(VisibilityMode.AUTO).axis_soft_min(0)


def _stacked(panel: Panel) -> timeseries.Panel:
    return _lines(panel).fill_opacity(60).stacking(common.StackingConfig().mode(StackingMode.NORMAL))


def _bars(_: Panel) -> bargauge.Panel:
    bars = bargauge.Panel().orientation(VizOrientation.HORIZONTAL).display_mode(BarGaugeDisplayMode.GRADIENT)
    return bars.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"])).min(0)


def _table(panel: Panel) -> table.Panel:
    """
    All queries joined on their labels; columns under their headings, the time left out.
    """
    built = table.Panel().show_header(show_header=True)
    built.with_transformation(DataTransformerConfig(id_val="merge", options={}))
    headings = dict(panel.columns)
    built.with_transformation(
        DataTransformerConfig(id_val="organize", options={"excludeByName": {"Time": True}, "renameByName": headings})
    )
    return built


def _heatmap(_: Panel) -> heatmap.Panel:
    return heatmap.Panel().calculate(calculate=False).show_value(VisibilityMode.NEVER)


BUILDERS: Mapping[Kind, Callable[[Panel], PanelBuilder]] = {
    "stat": _stat,
    "lines": _lines,
    "stacked": _stacked,
    "bars": _bars,
    "table": _table,
    "heatmap": _heatmap,
}
