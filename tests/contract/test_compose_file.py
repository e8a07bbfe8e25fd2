"""
docker-compose.yml: valid, pinned, and with health checks that every engine can run.
"""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

ROOT = Path(__file__).parents[2]
SCHEMA = Draft7Validator(json.loads((ROOT / "tests" / "data" / "schemas" / "compose-spec.json").read_text()))
FILE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = FILE["services"]


def test_the_file_is_valid() -> None:
    assert [] == [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(FILE)]


def test_the_schema_finds_a_wrong_key() -> None:
    assert list(SCHEMA.iter_errors({"services": {"a": {"image": "a", "helthcheck": {}}}}))


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_is_pinned_unless_it_is_our_own(name: str) -> None:
    image, _, tag = SERVICES[name]["image"].partition(":")

    assert tag
    assert (image == "toolscore") == (tag == "latest")


@pytest.mark.parametrize("name", [name for name in SERVICES if "test" in SERVICES[name].get("healthcheck", {})])
def test_no_argument_of_a_health_check_holds_a_blank(name: str) -> None:
    """
    podman's interface splits arguments at blanks.
    """
    assert [] == [argument for argument in SERVICES[name]["healthcheck"]["test"] if " " in argument]


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_published_on_the_loopback_interface_alone(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


@pytest.mark.parametrize("name", SERVICES)
def test_whoever_waits_for_health_waits_for_a_service_that_has_a_check(name: str) -> None:
    waits = SERVICES[name].get("depends_on", {})
    healthy = [other for other, condition in waits.items() if condition["condition"] == "service_healthy"]

    assert all("test" in SERVICES[other].get("healthcheck", {}) for other in healthy)


def test_what_is_mounted_exists() -> None:
    mounts = [mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", [])]

    assert [] == [mount for mount in mounts if not (ROOT / mount).exists()]


def test_only_grafana_stands_behind_a_profile() -> None:
    assert ["grafana"] == [name for name, service in SERVICES.items() if "profiles" in service]
