"""
Rules that hold for the whole suite: how Hypothesis searches, and that a skip is a failure in CI.

A test that cannot run on a developer's machine is skipped with its reason. In CI everything that the suite needs has
been installed, so a skip there means that something was not checked: it fails, unless `allowed_skips.txt` lists it.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import settings

IN_CI = bool(os.environ.get("CI"))
ALLOWED_SKIPS = Path(__file__).parent / "allowed_skips.txt"

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True, database=None)
settings.load_profile("ci" if IN_CI else "dev")


def allowed_skips() -> list[str]:
    """
    The patterns of test ids that may be skipped in CI. Each line of the file is a pattern, a blank and the reason.
    """
    lines = [line.strip() for line in ALLOWED_SKIPS.read_text().splitlines()]
    return [line.split(maxsplit=1)[0] for line in lines if line and not line.startswith("#")]


def _is_forbidden(report: pytest.TestReport | pytest.CollectReport) -> bool:
    is_skip = report.skipped and not hasattr(report, "wasxfail")
    return IN_CI and is_skip and not any(fnmatch(report.nodeid, pattern) for pattern in allowed_skips())


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid} was skipped, which is a failure in CI. {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if _is_forbidden(report):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if _is_forbidden(report):
        _fail(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """
    Say what each folder of tests took, for the budget of the quick ones.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds["/".join(report.nodeid.split("/")[:2])] += report.duration
    terminalreporter.write_line("seconds: " + ", ".join(f"{folder} {spent:.1f}" for folder, spent in seconds.items()))
