"""Buffers as rows of a DataFrame, on their way from one level to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from penstock.runtime.buffer import Buffer

ORDER: Final = ("vertex", "subtask", "rank", "watermark", "channel", "sequence")
"""What a receiving carrier's rows are sorted by; as `Buffer.order`."""

SCHEMA: Final = pa.schema(
    [
        ("carrier", pa.int32()),
        ("vertex", pa.int32()),
        ("subtask", pa.int32()),
        ("rank", pa.int32()),
        ("watermark", pa.int64()),
        ("channel", pa.int64()),
        ("sequence", pa.int32()),
        ("payload", pa.binary()),
    ]
)
_MOST_ROWS: Final = 4096
_MOST_BYTES: Final = 4 << 20


def to_batches(buffers: Iterable[Buffer]) -> Iterator[pa.RecordBatch]:
    """Gather buffers into record batches of a few megabytes."""
    gathered: list[Buffer] = []
    size = 0
    for buffer in buffers:
        gathered.append(buffer)
        size += len(buffer.payload)
        if size >= _MOST_BYTES or len(gathered) >= _MOST_ROWS:
            yield _batch(gathered)
            gathered = []
            size = 0
    if gathered:
        yield _batch(gathered)


def _batch(buffers: list[Buffer]) -> pa.RecordBatch:
    columns = zip(*buffers, strict=True)
    arrays = [
        pa.array(column, type=field.type) for column, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def from_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[Buffer]:
    """Yield the buffers of record batches."""
    for batch in batches:
        *numbers, payloads = batch.columns
        columns = [column.to_pylist() for column in numbers]
        yield from map(Buffer, *columns, payloads.to_pylist())
