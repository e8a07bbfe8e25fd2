"""
Makes from `service/metadata.yaml` what is generated: instruments, attribute names and `service/docs/telemetry.md`.

    python -m service.telemetry.generate

A contract test checks that the files are what this module makes.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from service.telemetry.metadata import Kind, Metadata, Metric, OutputAttribute, expand, load_metadata
from service.telemetry.prometheus_names import metric_name

SERVICE = Path(__file__).parent.parent
NOTICE = "GENERATED from service/metadata.yaml by `python -m service.telemetry.generate`. Do not edit."
LINE_LENGTH = 120
SPEC_OF_KIND: dict[Kind, str] = {"counter": "CounterSpec", "histogram": "HistogramSpec"}


def generate(metadata: Metadata) -> dict[Path, str]:
    """
    The content of each generated file.
    """
    return {
        SERVICE / "telemetry" / "instruments.py": "\n".join(_instruments(metadata)) + "\n",
        SERVICE / "telemetry" / "attributes.py": "\n".join(_attributes(metadata)) + "\n",
        SERVICE / "docs" / "telemetry.md": "\n".join(_documentation(metadata)) + "\n",
    }


def constant_name(name: str) -> str:
    """
    `toolscore.receiver.accepted_{items}` is `RECEIVER_ACCEPTED`.
    """
    plain = name.removeprefix("toolscore.").replace("_{items}", "").replace("{name}.", "")
    return re.sub(r"[^a-zA-Z0-9]+", "_", plain).upper()


def _instruments(metadata: Metadata) -> Iterator[str]:
    yield f'"""\nThe instruments of the service, as values.\n\n{NOTICE}\n"""\n'
    yield "from service.pipeline import Signal"
    yield "from service.telemetry.specs import CounterSpec, HistogramSpec, LevelSpec"
    for section in metadata.sections:
        yield f"\n# {section.title}"
        for name, metric in section.metrics.items():
            yield from _instrument(metadata, name, metric)
    yield "\nLEVELS: dict[str, LevelSpec] = {"
    for section in metadata.sections:
        for name, metric in section.metrics.items():
            if metric.kind.startswith("observable"):
                yield f'    "{constant_name(name).lower()}": {constant_name(name)},'
    yield "}"


def _instrument(metadata: Metadata, name: str, metric: Metric) -> Iterator[str]:
    versions = expand(name, metric)
    if None in versions:
        yield f"{constant_name(name)} = {_spec(metadata, *versions[None])}"
        return
    yield f"{constant_name(name)} = {{"
    for signal, version in versions.items():
        assert signal is not None
        yield f"    Signal.{signal.name}: {_spec(metadata, *version, indent=4)},"
    yield "}"


def _spec(metadata: Metadata, name: str, metric: Metric, indent: int = 0) -> str:
    margin = " " * (indent + 4)
    arguments = [_literal(name), _literal(metric.unit), _text(metric.description, margin)]
    if metric.kind == "histogram":
        arguments.append(_tuple([f"{bound:g}" for bound in metric.buckets], margin))
    elif metric.kind != "counter":
        arguments.append(_literal(metric.kind))
    if metric.attributes:
        keys = [_literal(metadata.metric_attributes[attribute].key) for attribute in metric.attributes]
        arguments.append(_tuple(keys, margin))
    lines = "".join(f"{margin}{argument},\n" for argument in arguments)
    return f"{SPEC_OF_KIND.get(metric.kind, 'LevelSpec')}(\n{lines}{' ' * indent})"


def _attributes(metadata: Metadata) -> Iterator[str]:
    yield f'"""\nNames of the attributes that the service writes on spans and evaluation events.\n\n{NOTICE}\n"""\n'
    yield "from typing import Final\n"
    for name in metadata.output_attributes:
        yield f"{constant_name(name)}: Final = {_literal(name)}"


def _literal(text: str) -> str:
    assert '"' not in text
    return f'"{text}"'


def _text(text: str, margin: str) -> str:
    """
    A literal, cut into several where it does not fit on one line.
    """
    if len(margin) + len(text) + 3 <= LINE_LENGTH:
        return _literal(text)
    pieces = textwrap.wrap(text, LINE_LENGTH - len(margin) - 8, drop_whitespace=False, break_long_words=False)
    return "(\n" + "".join(f"{margin}    {_literal(piece)}\n" for piece in pieces) + f"{margin})"


def _tuple(items: list[str], margin: str) -> str:
    """
    A tuple, laid out as the formatter does.
    """
    on_one_line = f"({', '.join(items)}{',' * (len(items) == 1)})"
    if len(margin) + len(on_one_line) + 1 <= LINE_LENGTH:
        return on_one_line
    return "(\n" + "".join(f"{margin}    {item},\n" for item in items) + f"{margin})"


def _documentation(metadata: Metadata) -> Iterator[str]:
    yield f"<!-- {NOTICE} -->\n\n# Telemetry\n"
    yield metadata.introduction
    for section in metadata.sections:
        yield f"\n## {section.title}\n\n{section.description}\n"
        yield "| metric | kind, unit | attributes | what it says |\n|---|---|---|---|"
        for name, metric in section.metrics.items():
            for full_name, one in expand(name, metric).values():
                yield _metric_row(full_name, one)
    yield "\n## Attributes of metrics\n\n| id | key | values | what it says |\n|---|---|---|---|"
    for attribute_id, attribute in metadata.metric_attributes.items():
        yield f"| {attribute_id} | `{attribute.key}` | {_values(attribute.values)} | {attribute.description} |"
    yield "\n## Attributes of spans and events\n\n`{name}` stands for the name of the evaluation.\n"
    yield "| attribute | on | type | values | what it says |\n|---|---|---|---|---|"
    for name, output in metadata.output_attributes.items():
        yield _output_row(metadata, name, output)


def _metric_row(name: str, metric: Metric) -> str:
    prometheus = metric_name(name, metric.unit, metric.kind)
    attributes = ", ".join(metric.attributes)
    buckets = f" Buckets: {', '.join(f'{bound:g}' for bound in metric.buckets)}." if metric.buckets else ""
    kind = metric.kind.replace("_", " ")
    return f"| `{name}` (`{prometheus}`) | {kind}, `{metric.unit}` | {attributes} | {metric.description}{buckets} |"


def _output_row(metadata: Metadata, name: str, output: OutputAttribute) -> str:
    written_to = ", ".join(output.written_to)
    values = _values(metadata.values_of(output))
    return f"| `{name}` | {written_to} | {output.type} | {values} | {output.description} |"


def _values(values: Iterable[str]) -> str:
    return " ".join(f"`{value}`" for value in values)


def main() -> None:
    for path, content in generate(load_metadata()).items():
        path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
