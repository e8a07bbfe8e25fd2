"""
Recorded files taken apart by occurrence, so that a file of any size is scored in little memory.

Two passes. The first reads the files once and appends each span, log record and evidence document to one of a number of
partition files, chosen by a hash of its trace or occurrence; the second holds one partition at a time, in which every
trace is whole wherever its spans stood. Places in the input are kept, so that results come back in its order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import xxhash
from msgspec import Struct, field

from proto_adapters.canonical import Origin
from proto_adapters.split import OriginTable, UndecodableRequest, read_ids, read_log_ids, split_logs, split_traces
from service.evidence_store.documents import EvidenceDocument
from service.pipeline import Signal
from service.replay.files import LENGTH_SIZE, Record, RecordedRequest, UnreadableFile, parse_record, read_records

PARTITION_BYTES = 64 * 1024 * 1024
"""Of input, about what one partition holds: spans read take two to three times as much memory."""
MAX_PARTITIONS = 512
"""Open files. Inputs over 32 GiB get larger partitions instead of more."""
GZIP_RATIO = 12
"""Measured on recorded OTLP/JSON: 8 to 15."""
BATCH_BYTES = 1024 * 1024
BATCH_RECORDS = 1_000
RECORD_BITS = 32
"""The place of an item is the number of its record, then its number in the record."""


class Item(Struct, frozen=True, array_like=True, gc=False):
    """
    One span or log record, where it stood, and which origin of its chunk it came under.
    """

    place: int
    origin: int
    data: bytes


class Chunk(Struct, array_like=True):
    """
    What one batch of records holds for one partition.
    """

    origins: list[tuple[bytes, bytes]] = field(default_factory=list)
    spans: list[Item] = field(default_factory=list)
    logs: list[Item] = field(default_factory=list)
    documents: list[tuple[int, EvidenceDocument]] = field(default_factory=list)


class Batch(Struct, frozen=True):
    """
    Records in order, the first of which has number `first`.
    """

    first: int
    records: list[Record]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Chunk)


def partition_count(paths: Iterable[Path], jobs: int) -> int:
    """
    How many partitions the files at *paths* are taken apart into, so that each of *jobs* gets some.
    """
    size = sum(_input_bytes(path) for path in paths)
    wanted = max(1 if jobs == 1 else 4 * jobs, -(-size // PARTITION_BYTES))
    return min(wanted, MAX_PARTITIONS)


def _input_bytes(path: Path) -> int:
    try:
        return path.stat().st_size * (GZIP_RATIO if path.suffix == ".gz" else 1)
    except OSError:
        return 0  # the first pass tells what is wrong with it


def read_batches(paths: Iterable[Path], progress: Callable[[int], None]) -> Iterator[Batch]:
    """
    The records of all files in batches. Raises `UnreadableFile`.
    """
    first, records, size = 0, list[Record](), 0
    for path in paths:
        for record in read_records(path, progress):
            records.append(record)
            size += len(record.data)
            if size >= BATCH_BYTES or len(records) >= BATCH_RECORDS:
                yield Batch(first, records)
                first, records, size = first + len(records), [], 0
    if records:
        yield Batch(first, records)


def take_apart(batch: Batch, count: int) -> dict[int, bytes]:
    """
    The chunks of *batch* by partition, encoded. Raises `UnreadableFile`.
    """
    splitter = _Splitter(count)
    for number, record in enumerate(batch.records, start=batch.first):
        content = parse_record(record)
        try:
            splitter.add(number << RECORD_BITS, content)
        except UndecodableRequest as error:
            raise UnreadableFile(f"{record.place}: {error}") from error
    return {partition: _encoder.encode(chunk) for partition, chunk in splitter.chunks.items()}


class _Splitter:
    """
    Fills the chunks of one batch.
    """

    def __init__(self, count: int) -> None:
        self.chunks: dict[int, Chunk] = {}
        self._count = count
        self._origins = OriginTable()
        self._numbers: dict[tuple[int, int], int] = {}

    def add(self, place: int, content: RecordedRequest | EvidenceDocument) -> None:
        if isinstance(content, EvidenceDocument):
            self._chunk(content.occurrence.encode()).documents.append((place, content))
        elif content.signal is Signal.TRACES:
            self._add_spans(place, content.payload)
        elif content.signal is Signal.LOGS:
            self._add_logs(place, content.payload)

    def _add_spans(self, place: int, request: bytes) -> None:
        for origin, spans in split_traces(request, self._origins).groups:
            for span in spans:
                if (ids := read_ids(span)) is not None:
                    chunk = self._chunk(ids.trace_id)
                    chunk.spans.append(Item(place, self._number(chunk, origin), span))
                    place += 1

    def _add_logs(self, place: int, request: bytes) -> None:
        for origin, records in split_logs(request, self._origins).groups:
            for record in records:
                if (ids := read_log_ids(record)) is not None:
                    chunk = self._chunk(ids.trace_id)
                    chunk.logs.append(Item(place, self._number(chunk, origin), record))

    def _chunk(self, key: bytes) -> Chunk:
        return self.chunks.setdefault(xxhash.xxh3_64_intdigest(key) % self._count, Chunk())

    def _number(self, chunk: Chunk, origin: Origin) -> int:
        key = id(chunk), id(origin)
        if key not in self._numbers:
            self._numbers[key] = len(chunk.origins)
            chunk.origins.append((origin.resource_header, origin.scope_header))
        return self._numbers[key]


class PartitionFiles:
    """
    The files of the first pass, under *folder*, which is the caller's to delete.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._paths = [folder / f"{number:03}.partition" for number in range(count)]
        self._files = [path.open("wb") for path in self._paths]

    def append(self, chunks: dict[int, bytes]) -> None:
        for partition, chunk in chunks.items():
            self._files[partition].write(len(chunk).to_bytes(LENGTH_SIZE, "big") + chunk)

    def close(self) -> Sequence[Path]:
        """
        End writing; gives the paths of the partitions that hold anything.
        """
        for file in self._files:
            file.close()
        return [path for path in self._paths if path.stat().st_size]


def read_chunks(path: Path) -> Iterator[Chunk]:
    """
    The chunks of one partition, in the order of the input.
    """
    with path.open("rb") as file:
        while prefix := file.read(LENGTH_SIZE):
            yield _decoder.decode(file.read(int.from_bytes(prefix, "big")))
