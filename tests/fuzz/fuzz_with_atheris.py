"""
Coverage-guided fuzzing of one target, by hand: `python tests/fuzz/fuzz_with_atheris.py TARGET [libFuzzer options]`.

Needs atheris, which is no dependency of the suite. What it learns is kept in `tests/output/fuzz`; what makes a target
fail belongs into the corpus.
"""

import logging
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main() -> None:
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]  # optional, by hand

    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    logging.disable(logging.CRITICAL)
    with atheris.instrument_imports(include=["proto_adapters", "service"]):
        from fuzz.fuzz_targets import CORPUS, TARGETS
    name = sys.argv.pop(1)
    target = TARGETS[name]
    found = ROOT / "tests" / "output" / "fuzz" / name
    found.mkdir(parents=True, exist_ok=True)
    atheris.Setup([*sys.argv, str(found), str(CORPUS / name)], lambda data: target(data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
