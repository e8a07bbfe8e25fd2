"""
The dashboards: their variables, rows and links, and their JSON.
"""

from collections.abc import Callable
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from deploy.grafana.source import quality, service_intake, service_outlet
from deploy.grafana.source.panels import PROMETHEUS, Row, build

FOLDER = Path(__file__).parents[1] / "dashboards"
TAG = "toolscore"


def as_json(name: str) -> str:
    """
    The JSON of a dashboard, as it is committed.
    """
    return f"{JSONEncoder(sort_keys=True, indent=2).encode(DASHBOARDS[name]().build())}\n"


def agent_tool_quality() -> dashboard.Dashboard:
    board = _board(
        "Agent tool quality",
        "Do agents call the tools that their tasks require, and in the right order? Scored live.",
        quality.ROWS,
    )
    board.with_variable(_labels("service", "Service", "service_name", quality.EVALUATIONS))
    board.with_variable(_labels("agent", "Agent", "gen_ai_agent_name", quality.EVALUATIONS))
    board.with_variable(_labels("expectation", "Expectation", "expectation", quality.EVALUATIONS))
    board.with_variable(_labels("partition", "Traces or sessions", "partition", quality.EVALUATIONS))
    scores = f'{quality.EVALUATIONS}{{outcome="scored"}}'
    board.with_variable(
        _labels("selection", "Selection metric", "gen_ai_evaluation_name", scores, "tool_selection_accuracy")
    )
    verdicts = f'{quality.EVALUATIONS}{{outcome=~"true|false|undetermined"}}'
    board.with_variable(_labels("condition", "Condition", "gen_ai_evaluation_name", verdicts, only_known=True))
    return board


def toolscore_service() -> dashboard.Dashboard:
    board = _board(
        "toolscore service",
        "What the service accepted, refused, sent and lost, what it holds, and why traces were closed.",
        (*service_intake.ROWS, *service_outlet.ROWS),
    )
    known = "toolscore_processor_buffer_limit_bytes"
    board.with_variable(_labels("job", "Job", "job", known))
    board.with_variable(_labels("instance", "Replica", "instance", f'{known}{{job=~"$job"}}'))
    return board


DASHBOARDS: dict[str, Callable[[], dashboard.Dashboard]] = {
    "agent-tool-quality": agent_tool_quality,
    "toolscore-service": toolscore_service,
}


def _board(title: str, description: str, rows: tuple[Row, ...]) -> dashboard.Dashboard:
    board = dashboard.Dashboard(title).uid(title.lower().replace(" ", "-")).description(description)
    board.tags([TAG]).editable().timezone("browser").time("now-6h", "now").refresh("30s")
    board.tooltip(DashboardCursorSync.CROSSHAIR)
    board.link(
        dashboard.DashboardLink("toolscore").type(DashboardLinkType.DASHBOARDS).tags([TAG]).keep_time(keep_time=True)
    )
    board.with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    for row in rows:
        board.with_row(dashboard.Row(row.title))
        for panel in row.panels:
            board.with_panel(build(panel))
    return board


def _labels(
    name: str, title: str, label: str, series: str, default: str = "", *, only_known: bool = False
) -> dashboard.QueryVariable:
    """
    A choice among the values of *label*: at first *default*, or all of them. All includes series without the label,
    unless *only_known* is said.
    """
    query = f"label_values({series}, {label})"
    variable = dashboard.QueryVariable(name).label(title).datasource(PROMETHEUS).query(query).definition(query)
    variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(VariableSort.ALPHABETICAL_ASC)
    variable.include_all(include_all=True).multi(multi=True)
    if default:
        return variable.current(VariableOption(text=[default], value=[default], selected=True))
    if not only_known:
        variable.all_value(".*")
    return variable.current(VariableOption(text=["All"], value=["$__all"], selected=True))
