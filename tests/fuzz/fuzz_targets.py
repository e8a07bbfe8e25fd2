"""
The ways into the service as functions of bytes, for Hypothesis and for atheris.

A target returns whether the bytes were taken. Whatever else than a refusal by name it raises is a defect.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from conservation import span_bag
from fuzz.stored_targets import annotation_body, annotations_file, evidence_line
from google.protobuf.message import DecodeError
from processing import Processing

from proto_adapters.otlp_json import MalformedJson, logs_from_json, metrics_from_json, traces_from_json
from proto_adapters.split import count_items
from service.config import config_from_tree
from service.config.yaml_reader import UnreadableYaml, read_yaml
from service.errors import ConfigError, RequestError
from service.pipeline import Signal
from service.receiver.compression import ENCODINGS, expand

CORPUS = Path(__file__).parent / "corpus"
BODY_LIMIT = 1024 * 1024
DAY_S = 86_400


def traces(data: bytes) -> bool:
    """
    A gRPC request through the whole processor: what was accepted leaves, nothing is left behind.
    """
    return asyncio.run(_passes(data))


async def _passes(data: bytes) -> bool:
    processing = Processing(root_span_condition="parent_empty_or_remote", annotate="all")
    try:
        accepted = await processing.processor.consume(Signal.TRACES, data)
    except RequestError:
        return False
    await processing.after(DAY_S)
    await processing.after(DAY_S)
    await processing.processor.shutdown()
    assert 0 == processing.processor._buffer.size
    left = sum(processing.counted("toolscore.processor.deduplicated_spans").values())
    left += _count(processing.outlets[Signal.TRACES].requests)
    assert accepted.item_count - accepted.rejected_items == left
    return True


def _count(requests: list[bytes]) -> int:
    """
    Spans of *requests*; those that a full parser refuses are counted by the lean one.
    """
    try:
        return span_bag(requests).total()
    except DecodeError:
        return sum(map(count_items, requests))


def logs(data: bytes) -> bool:
    """
    A request of log records through the processor.
    """

    async def passes() -> bool:
        processing = Processing()
        try:
            await processing.processor.consume(Signal.LOGS, data)
        except RequestError:
            return False
        return True

    return asyncio.run(passes())


def json_body(data: bytes) -> bool:
    """
    An OTLP/JSON body of any signal; what is read of it goes on as a request.
    """
    taken = False
    for read in (traces_from_json, logs_from_json, metrics_from_json):
        try:
            request = read(data)
        except MalformedJson:
            continue
        taken = True
        if read is traces_from_json:
            traces(request)
    return taken


def compressed_body(data: bytes) -> bool:
    """
    A body under each Content-Encoding, never expanded beyond the limit.
    """
    taken = False
    for encoding in filter(None, ENCODINGS):
        try:
            size = sum(map(len, expand(encoding, data, BODY_LIMIT)))
        except RequestError:
            continue
        assert size <= BODY_LIMIT
        taken = True
    return taken


def configuration(data: bytes) -> bool:
    """
    A configuration file.
    """
    try:
        tree = read_yaml(data.decode("utf-8", "replace"))
        if not isinstance(tree, dict):
            return False
        config_from_tree(tree, environ={"A": "1"})
    except (UnreadableYaml, ConfigError):
        return False
    return True


TARGETS: dict[str, Callable[[bytes], bool]] = {
    "traces": traces,
    "logs": logs,
    "json_body": json_body,
    "compressed_body": compressed_body,
    "configuration": configuration,
    "evidence_line": evidence_line,
    "annotation_body": annotation_body,
    "annotations_file": annotations_file,
}


def seeds(target: str) -> list[bytes]:
    """
    The corpus of *target*.
    """
    return [file.read_bytes() for file in sorted((CORPUS / target).iterdir())]
