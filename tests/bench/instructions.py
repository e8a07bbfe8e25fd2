"""
Instructions per span of each stage of the hot path, as ratios to a protobuf parse of the same bytes.

The stages run under valgrind's callgrind, which counts instructions exactly: the figures do not move with the load of
the machine, and hardly with the machine. One process measures all stages of one corpus. It runs each stage once to warm
memos, then twice more between two calls of `getpgrp`, at which callgrind writes down what it counted. Nothing else
calls that function. Counting begins only after the imports, which would take longer than all the rest.
"""

import gc
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.corpus import Corpus
from bench.stages import STAGES
from msgspec import Struct

TIMES = 2
MARK = "getpgrp"
YARDSTICK = "parse"
_TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)
TESTS = Path(__file__).parent.parent


class InstructionCounts(Struct, frozen=True):
    """
    Instructions per span of each stage for one corpus.
    """

    corpus: str
    per_span: dict[str, float]

    def ratio(self, stage: str) -> float:
        """
        The stage's cost in protobuf parses.
        """
        return self.per_span[stage] / self.per_span[YARDSTICK]


def why_not() -> str | None:
    """
    Why nothing can be counted here, or None.
    """
    missing = [tool for tool in ("valgrind", "callgrind_control") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} missing: instructions cannot be counted" if missing else None


def count_instructions(corpus: Corpus, stages: Sequence[str] = tuple(STAGES)) -> InstructionCounts:
    """
    Count *stages*, in a process of its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        requests = Path(folder) / "requests"
        requests.write_bytes(pickle.dumps(corpus.requests()))
        _run_counted(Path(folder), [str(requests), *stages])
        spans = TIMES * corpus.span_count
        counted = [_total(Path(folder) / f"counts.{2 * place + 2}") for place in range(len(stages))]
    return InstructionCounts(corpus.name, {stage: count / spans for stage, count in zip(stages, counted, strict=True)})


def _run_counted(folder: Path, arguments: Sequence[str]) -> None:
    callgrind = [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        f"--dump-before={MARK}",
        f"--callgrind-out-file={folder / 'counts'}",
    ]
    # Equal seeds of hashes, and no collection at random places, make two runs equal to the instruction.
    environ = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"{TESTS.parent}:{TESTS}"}
    command = [*callgrind, sys.executable, "-m", "bench.instructions", *arguments]
    subprocess.run(command, check=True, env={**os.environ, **environ}, capture_output=True, timeout=600)


def _total(counts: Path) -> int:
    found = _TOTAL.search(counts.read_text())
    assert found is not None
    return int(found[1])


def _run_stages(requests: Sequence[bytes], stages: Sequence[str]) -> None:
    """
    What runs under callgrind.
    """
    gc.disable()
    prepared = [STAGES[stage](requests) for stage in stages]
    for prepare in prepared:
        prepare()()
    _start_counting()
    for prepare in prepared:
        runs = [prepare() for _ in range(TIMES)]
        os.getpgrp()
        for run in runs:
            run()
        os.getpgrp()


def _start_counting() -> None:
    """
    Callgrind takes commands only while instructions run, so this waits busily.
    """
    control = subprocess.Popen(["callgrind_control", "--instr=on", str(os.getpid())], stdout=subprocess.DEVNULL)
    while control.poll() is None:
        pass
    assert control.returncode == 0


if __name__ == "__main__":
    _run_stages(pickle.loads(Path(sys.argv[1]).read_bytes()), sys.argv[2:])
