"""
The dashboards: generated, valid, and about the metrics that the service has.
"""

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from dashboard_files import FOLDER, NAMES, Json, dashboard, metrics_by_name, metrics_in, panels, targets
from jsonschema import Draft7Validator

from deploy.grafana.source.boards import DASHBOARDS, as_json

SCHEMAS = Path(__file__).parents[1] / "data" / "schemas"
PROVISIONING = FOLDER.parent / "provisioning"
ON_NO_PANEL: dict[str, str] = {}
"""Metrics that no panel shows, each with the reason."""


def validator(name: str, definition: str = "") -> Draft7Validator:
    schema = json.loads((SCHEMAS / f"{name}.jsonschema.json").read_text())
    if definition:
        schema = {"$ref": f"#/definitions/{definition}", "definitions": schema["definitions"]}
    return Draft7Validator(schema)


def mistakes(check: Draft7Validator, value: object) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in check.iter_errors(value)]


def test_every_dashboard_is_committed() -> None:
    assert sorted(DASHBOARDS) == list(NAMES)


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_the_committed_json_is_what_the_source_makes(name: str) -> None:
    assert as_json(name) == (FOLDER / f"{name}.json").read_text(), "run `python -m deploy.grafana.source`"


@pytest.mark.parametrize("name", NAMES)
def test_a_dashboard_is_valid(name: str) -> None:
    assert [] == mistakes(validator("dashboard"), dashboard(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_and_query_is_valid(name: str) -> None:
    for panel in panels(name):
        assert [] == mistakes(validator(panel["type"], "Options"), panel["options"]), panel["title"]
        for target in panel["targets"]:
            assert [] == mistakes(validator("prometheus"), target), panel["title"]


def test_the_schema_finds_mistakes() -> None:
    broken = {**dashboard(NAMES[0]), "panels": [{"type": "stat", "gridPos": "left"}], "unheard_of": 1}

    assert 2 <= len(mistakes(validator("dashboard"), broken))


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_says_what_it_shows_in_which_unit_and_what_it_means_to_be_empty(name: str) -> None:
    for panel in panels(name):
        defaults = panel["fieldConfig"]["defaults"]
        assert all((panel["description"], defaults["unit"], defaults["noValue"])), panel["title"]


@pytest.mark.parametrize("name", NAMES)
def test_no_query_makes_up_a_zero(name: str) -> None:
    assert [] == [target.id for target in targets(name) if "vector(" in target.expr]


def places(name: str) -> dict[str, Json]:
    return {f"{number} {panel['title']}": panel["gridPos"] for number, panel in enumerate(dashboard(name)["panels"])}


def overlap(one: Json, other: Json) -> bool:
    return all(
        one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
        for start, size in (("x", "w"), ("y", "h"))
    )


@pytest.mark.parametrize("name", NAMES)
def test_no_panel_covers_another(name: str) -> None:
    found = places(name)

    assert [] == [(a, b) for a, b in combinations(found, 2) if overlap(found[a], found[b])]
    assert [] == [title for title, place in found.items() if place["x"] + place["w"] > 24]


@pytest.mark.parametrize("name", NAMES)
def test_titles_of_panels_are_unique_in_their_row(name: str) -> None:
    row, titles = "", Counter[tuple[str, str]]()
    for panel in dashboard(name)["panels"]:
        row = panel["title"] if panel["type"] == "row" else row
        titles[row, panel["title"]] += panel["type"] != "row"

    assert [] == [title for title, count in titles.items() if count > 1]


def test_queries_name_only_metrics_of_the_service() -> None:
    asked = {metric for name in NAMES for metric in metrics_in(json.dumps(dashboard(name)["templating"]))}
    asked |= {metric for name in NAMES for target in targets(name) for metric in metrics_in(target.expr)}

    assert set() == asked - set(metrics_by_name())


def test_every_metric_of_the_service_is_on_a_panel_or_left_out_for_a_reason() -> None:
    shown = {metric for name in NAMES for target in targets(name) for metric in metrics_in(target.expr)}

    assert set(ON_NO_PANEL) == set(metrics_by_name()) - shown


def test_provisioned_exemplars_lead_to_the_trace_view() -> None:
    (file,) = (PROVISIONING / "datasources").iterdir()
    sources = {source["type"]: source for source in yaml.safe_load(file.read_text())["datasources"]}

    (link,) = sources["prometheus"]["jsonData"]["exemplarTraceIdDestinations"]
    assert ("trace_id", sources["jaeger"]["uid"]) == (link["name"], link["datasourceUid"])
