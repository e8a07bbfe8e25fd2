"""
Everything in this folder is marked `faults`; at the end the figures are printed and written down.
"""

from pathlib import Path

import pytest
from faults.fault_report import REPORT

OUTPUT = Path(__file__).parents[1] / "output" / "fault_report.txt"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.faults)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if REPORT.is_empty:
        return
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text("\n".join(REPORT.lines()) + "\n", encoding="utf-8")
    terminalreporter.section("faults")
    for line in REPORT.lines():
        terminalreporter.write_line(line)
