"""
Replayed results as JUnit XML: a test case for each evaluation of each occurrence, and one for each gate.

Cases are written as they come, to a file of their own; their numbers, which stand before them, are known at the
end.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from service.evaluation import Status
from service.replay.gates import Failure
from service.replay.results import ReplayResult

UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""
SUITE = "toolscore replay"


class JunitReport:
    """
    Collects test cases in the file *cases*; `write` ends it.
    """

    def __init__(self, cases: IO[bytes]) -> None:
        self._cases = cases
        self._counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)

    def add(self, result: ReplayResult, *, is_broken: bool) -> None:
        """
        Add one result; *is_broken* if it breaks a gate by itself.
        """
        line = result.line
        said = line.label or ("" if line.score is None else f"{line.score:.4g}") or line.status
        message = " ".join(filter(None, (said, f"({result.reason})" if result.reason else "", result.explanation)))
        if is_broken:
            outcome = ("failures", "failure")
        elif line.status is Status.FAILED:
            outcome = ("errors", "error")
        elif line.score is None:
            outcome = ("skipped", "skipped")
        else:
            outcome = ("", "")
        self._add(line.evaluation, line.occurrence, message, *outcome)

    def _add(self, class_name: str, name: str, message: str, count: str = "", element: str = "") -> None:
        self._counts["tests"] += 1
        if count:
            self._counts[count] += 1
            inside = f"<{element} message={_quoted(message)}/>"
        else:
            inside = f"<system-out>{escape(_printable(message))}</system-out>"
        case = f"  <testcase classname={_quoted(class_name)} name={_quoted(name)}>{inside}</testcase>\n"
        self._cases.write(case.encode())

    def write(self, path: Path, failures: Sequence[Failure]) -> None:
        """
        Write the report. Raises `OSError`.
        """
        for failure in failures:
            self._add("gates", failure.gate, failure.message, "failures", "failure")
        self._cases.seek(0)
        numbers = " ".join(f'{name}="{number}"' for name, number in self._counts.items())
        with path.open("wb") as report:
            report.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {numbers}>\n'.encode())
            report.write(f' <testsuite name="{SUITE}" {numbers}>\n'.encode())
            shutil.copyfileobj(self._cases, report)
            report.write(b" </testsuite>\n</testsuites>\n")


def _quoted(text: str) -> str:
    return quoteattr(_printable(text))


def _printable(text: str) -> str:
    return UNPRINTABLE.sub("\ufffd", text)
