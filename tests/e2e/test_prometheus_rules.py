"""
The shipped rules and configuration, checked and tested by Prometheus' own tool.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is missing")


def promtool(*arguments: str, cwd: Path = FOLDER) -> tuple[int, str]:
    done = subprocess.run(["promtool", *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    [("check", "config", "prometheus.yml"), ("check", "rules", "rules.yml"), ("test", "rules", "rules_test.yml")],
    ids=lambda command: " ".join(command[:2]),
)
def test_promtool_finds_nothing_wrong(command: tuple[str, ...]) -> None:
    status, output = promtool(*command)

    assert 0 == status, output


@pytest.mark.parametrize(
    ("threshold", "wrong"),
    [("> 0.8\n", "> 0.4\n"), ("> 0.3\n", "> 0.05\n"), ("< 0.9 *", "< 0.4 *"), ("unless", "and")],
)
def test_the_tests_of_the_rules_notice_a_wrong_one(threshold: str, wrong: str, tmp_path: Path) -> None:
    rules = (FOLDER / "rules.yml").read_text()
    assert threshold in rules
    (tmp_path / "rules.yml").write_text(rules.replace(threshold, wrong))
    shutil.copy(FOLDER / "rules_test.yml", tmp_path)

    status, output = promtool("test", "rules", "rules_test.yml", cwd=tmp_path)

    assert 0 != status, output
