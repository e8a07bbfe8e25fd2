"""
The lock: every dependency pinned by hash, and nothing in it that only one machine can use.
"""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PINNED = dict(re.findall(r"^([\w.-]+)==(\S+)", LOCK, re.MULTILINE))


def declared() -> list[str]:
    """
    What pyproject.toml asks for: to run, to develop and to build.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [each for group in project["dependency-groups"].values() for each in group]
    return [*project["project"]["dependencies"], *groups, *project["build-system"]["requires"]]


@pytest.mark.parametrize("text", declared())
def test_every_declared_dependency_is_locked_at_a_version_it_allows(text: str) -> None:
    requirement = Requirement(text)

    assert requirement.specifier.contains(PINNED[canonicalize_name(requirement.name)])


def test_every_pinned_version_has_a_hash() -> None:
    entries = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]

    assert len(PINNED) == len(entries)
    assert [] == [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry]


def test_the_lock_names_no_address() -> None:
    assert [] == re.findall(r".*(?:://|--index|--find-links|@ ).*", LOCK)
