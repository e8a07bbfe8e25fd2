"""
Instructions per span of each stage of the hot path, as ratios to a protobuf parse of the same bytes.

The stages run under valgrind's callgrind, which counts instructions exactly: the figures do not move with the load of
the machine, and hardly with the machine. One process measures all stages of all corpora. It runs each stage once to
warm memos, prepares what a second run needs, and does that run between two calls of `getpgrp`, at which callgrind
writes down what it counted. Nothing else calls that function. Counting begins only after imports and preparations,
which would take longer than all the rest.
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

import yaml
from bench.agent_traffic import Profile, synthetic_corpus
from bench.corpus import Corpus, recorded_corpus
from bench.stages import STAGES
from msgspec import Struct

MARK = "getpgrp"
YARDSTICK = "parse"
LIMITS = Path(__file__).parent / "limits.yaml"
TESTS = Path(__file__).parent.parent
_TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)

SAMPLED_BUNDLES = (
    "python/langgraph-openinference",
    "python/openai-agents-logfire",
    "python/pydantic-ai-v5",
    "javascript/mastra",
    "javascript/openai-agents-bridge",
)


class InstructionCounts(Struct, frozen=True):
    """
    Instructions per span of each stage for one corpus.
    """

    corpus: str
    spans: int
    bytes_per_span: float
    per_span: dict[str, float]

    def ratio(self, stage: str) -> float:
        """
        The stage's cost in protobuf parses.
        """
        return self.per_span[stage] / self.per_span[YARDSTICK]


def small_corpora() -> list[Corpus]:
    """
    What is counted in CI; the limits are for these.
    """
    synthetic = [synthetic_corpus(profile, batch=128, traces=10, at_once=10) for profile in Profile]
    return [*synthetic, recorded_corpus(SAMPLED_BUNDLES, scenarios=2)]


def limits() -> dict[str, dict[str, float]]:
    """
    The most that a stage may cost, by corpus and stage.
    """
    written = yaml.safe_load(LIMITS.read_text())
    return {
        corpus: {stage: float(entry["limit"]) for stage, entry in stages.items()} for corpus, stages in written.items()
    }


def why_not() -> str | None:
    """
    Why nothing can be counted here, or None.
    """
    missing = [tool for tool in ("valgrind", "callgrind_control") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} missing: instructions cannot be counted" if missing else None


def count_instructions(corpora: Sequence[Corpus], stages: Sequence[str] = tuple(STAGES)) -> list[InstructionCounts]:
    """
    Count *stages* for each of *corpora*, in a process of its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        requests = Path(folder) / "requests"
        requests.write_bytes(pickle.dumps([corpus.requests() for corpus in corpora]))
        _run_counted(Path(folder), [str(requests), *stages])
        counted = [_total(Path(folder) / f"counts.{2 * place + 2}") for place in range(len(corpora) * len(stages))]
    by_corpus = [counted[place : place + len(stages)] for place in range(0, len(counted), len(stages))]
    return [_per_span(corpus, stages, counts) for corpus, counts in zip(corpora, by_corpus, strict=True)]


def _per_span(corpus: Corpus, stages: Sequence[str], counts: Sequence[int]) -> InstructionCounts:
    spans = corpus.span_count
    per_span = {stage: count / spans for stage, count in zip(stages, counts, strict=True)}
    return InstructionCounts(corpus.name, spans, corpus.byte_count / spans, per_span)


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
    subprocess.run(command, check=True, env={**os.environ, **environ}, capture_output=True, timeout=1800)


def _total(counts: Path) -> int:
    found = _TOTAL.search(counts.read_text())
    assert found is not None
    return int(found[1])


def _run_stages(corpora: Sequence[Sequence[bytes]], stages: Sequence[str]) -> None:
    """
    What runs under callgrind.
    """
    gc.disable()
    runs = []
    for requests in corpora:
        for stage in stages:
            prepare = STAGES[stage](requests)
            prepare()()
            runs.append(prepare())
    _start_counting()
    for run in runs:
        os.getpgrp()
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


def report(counts: Sequence[InstructionCounts]) -> str:
    """
    The counts as a Markdown table.
    """
    lines = ["| corpus | spans | bytes a span | " + " | ".join(counts[0].per_span) + " |"]
    lines.append("| --- |" + " ---: |" * (2 + len(counts[0].per_span)))
    for each in counts:
        cells = [f"{count:,.0f} ({each.ratio(stage):.2f})" for stage, count in each.per_span.items()]
        lines.append(f"| {each.corpus} | {each.spans} | {each.bytes_per_span:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    _run_stages(pickle.loads(Path(sys.argv[1]).read_bytes()), sys.argv[2:])
