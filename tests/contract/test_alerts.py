"""
Alerts: about metrics that exist, each with a runbook, each shown to fire by a test of its own.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from dashboard_files import metrics_by_name, metrics_in

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "prometheus"
RULES = [rule for group in yaml.safe_load((FOLDER / "rules.yml").read_text())["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
OF_PROMETHEUS = {"up"}
RUNBOOK = re.compile(r"(?P<file>[\w/.]+)#(?P<anchor>\w+)")


def fired() -> set[str]:
    """
    The alerts that some test of the rules expects.
    """
    tests: list[dict[str, Any]] = yaml.safe_load((FOLDER / "rules_test.yml").read_text())["tests"]
    return {case["alertname"] for test in tests for case in test["alert_rule_test"] if case["exp_alerts"]}


def test_every_alert_is_shown_to_fire() -> None:
    assert set(ALERTS) == fired()


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_leads_to_its_runbook(name: str) -> None:
    link = RUNBOOK.fullmatch(ALERTS[name]["annotations"]["runbook"])
    assert link is not None

    headings = re.findall(r"^## (\w+)$", (ROOT / link["file"]).read_text(), re.MULTILINE)
    assert name.lower() == link["anchor"]
    assert name in headings


def test_every_runbook_is_of_an_alert() -> None:
    headings = re.findall(r"^## (\w+)$", (ROOT / "service" / "docs" / "runbooks.md").read_text(), re.MULTILINE)

    assert sorted(ALERTS) == sorted(headings)


def test_rules_name_only_metrics_that_exist() -> None:
    named = {name for rule in RULES for name in metrics_in(rule["expr"])}
    bare = {name for rule in RULES for name in re.findall(r"\btoolscore_\w+", rule["expr"]) if ":" not in name}

    known = set(metrics_by_name()) | RECORDED | OF_PROMETHEUS
    recorded_parts = {part for name in RECORDED for part in name.split(":")}
    assert set() == named - known
    assert set() == {name for name in bare if name not in known and name not in recorded_parts}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is(name: str) -> None:
    assert ALERTS[name]["labels"]["severity"] in {"info", "warning", "critical"}
    assert ALERTS[name]["annotations"]["summary"]
