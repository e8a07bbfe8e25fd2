"""
A skip is a failure in CI and a skip elsewhere: runs the suite's own conftest over small test files.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
SKIPPED = "import pytest\n\ndef test_it() -> None:\n    pytest.skip('no engine here')\n"
SOURCES = {
    "skipped_inside": SKIPPED,
    "skipped_by_mark": "import pytest\n\n@pytest.mark.skip(reason='no engine here')\ndef test_it() -> None: ...\n",
    "skipped_module": "import pytest\n\npytest.skip('no engine here', allow_module_level=True)\n",
    "skipped_but_listed": SKIPPED,
    "expected_failure": "import pytest\n\n@pytest.mark.xfail\ndef test_it() -> None:\n    assert False\n",
    "passing": "def test_it() -> None: ...\n",
}
FAST = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "-p", "no:asyncio"]


def outcomes(directory: Path, *, ci: str) -> dict[str, str]:
    """
    What pytest says of each of `SOURCES`, in its own word.
    """
    shutil.copy(CONFTEST, directory)
    (directory / "allowed_skips.txt").write_text("# pattern, reason\ntest_skipped_but_listed.py::*  only here\n")
    for name, source in SOURCES.items():
        (directory / f"test_{name}.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-rA", "--continue-on-collection-errors", *FAST, "--rootdir=.", "."]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")} | {"CI": ci}
    run = subprocess.run(command, cwd=directory, env=environ, capture_output=True, text=True, check=False)
    said = re.findall(r"^([A-Z]+) (?:\[1\] )?test_(\w+)\.py", run.stdout, re.MULTILINE)
    return {name: word for word, name in said}


@pytest.mark.parametrize(
    ("ci", "word", "outside_word"),
    [pytest.param("true", "FAILED", "ERROR", id="ci"), pytest.param("", "SKIPPED", "SKIPPED", id="elsewhere")],
)
def test_a_skip_that_is_not_listed_is_a_failure_in_ci_alone(
    ci: str, word: str, outside_word: str, tmp_path: Path
) -> None:
    assert {
        "skipped_inside": word,
        "skipped_by_mark": outside_word,
        "skipped_module": outside_word,
        "skipped_but_listed": "SKIPPED",
        "expected_failure": "XFAIL",
        "passing": "PASSED",
    } == outcomes(tmp_path, ci=ci)
