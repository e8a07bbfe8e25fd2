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


def make_stand_ins(engine: Engine, directory: Path) -> None:
    """
    Build an image for each name; the first of its programs is its entry point.
    """
    for tag, programs in _images().items():
        context = directory / programs[0].name
        context.mkdir(parents=True)
        for program in programs:
            shutil.copy(program, context / program.name)
        names = [program.name for program in programs]
        content = CONTAINERFILE.format(base=BASE_IMAGE, program=names[0], others=" ".join(names[1:]))
        (context / "Containerfile").write_text(content)
        engine.build(tag, context / "Containerfile", context)


def _images() -> dict[str, tuple[Path, ...]]:
    """
    The programs of each image; Prometheus comes with the tool that checks its health.
    """
    of_prometheus = tuple(Path(found) for name in ("prometheus", "promtool") if (found := shutil.which(name)))
    return {
        "otel/opentelemetry-collector-contrib:0.161.0": (built("collector"),),
        "prom/prometheus:v2.42.0": of_prometheus,
        "jaegertracing/jaeger:2.13.0": (built("jaeger"),),
    }
