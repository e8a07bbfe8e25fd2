"""
Images that stand in for those of a registry: the same names and programs, the programs from Debian or from Go modules.
"""

import shutil
from pathlib import Path

from e2e.collector_build import built
from e2e.containers import BASE_IMAGE, Engine

CONTAINERFILE = """\
FROM {base}
COPY {program} {others} /bin/
RUN mkdir -p /prometheus && chmod 777 /prometheus
USER 65534:65534
WORKDIR /prometheus
ENTRYPOINT ["/bin/{program}"]
"""


def make_stand_ins(engine: Engine, images: dict[str, tuple[Path, ...]], directory: Path) -> None:
    """
    Build an image for each name; the first of its programs is its entry point.
    """
    for tag, programs in images.items():
        context = directory / programs[0].name
        context.mkdir(parents=True)
        for program in programs:
            shutil.copy(program, context / program.name)
        names = [program.name for program in programs]
        content = CONTAINERFILE.format(base=BASE_IMAGE, program=names[0], others=" ".join(names[1:]))
        (context / "Containerfile").write_text(content)
        engine.build(tag, context / "Containerfile", context)


def collector() -> tuple[Path, ...]:
    return (built("collector"),)


def jaeger() -> tuple[Path, ...]:
    return (built("jaeger"),)


def prometheus() -> tuple[Path, ...]:
    """
    Debian's, with the tool that checks its health.
    """
    return tuple(Path(found) for name in ("prometheus", "promtool") if (found := shutil.which(name)))
