"""Buffers as rows of a DataFrame, on their way from one level to the next."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from operator import add, sub
from typing import Final

import pyarrow as pa

from penstock.runtime.exchange.buffer import Buffer

CARRIER: Final = "carrier"
"""The column that says which carrier of the receiving level takes a buffer."""

ORDER: Final = "order"
"""The column that a receiving carrier's rows are sorted by: `Buffer.order` as bytes in the same order.

One column, as each costs a small epoch some calls of the JVM.
"""

SCHEMA: Final = pa.schema([(CARRIER, pa.int32()), (ORDER, pa.binary()), ("payload", pa.binary())])

_NUMBERS: Final = struct.Struct(">IIIQQI")
_HALF: Final = (1 << 31, 1 << 31, 1 << 31, 1 << 63, 1 << 63, 1 << 31)
"""What makes of each number of an order one that is not negative."""

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
    arrays = [
        pa.array([buffer.carrier for buffer in buffers], pa.int32()),
        pa.array([_as_bytes(buffer.order) for buffer in buffers], pa.binary()),
        pa.array([buffer.payload for buffer in buffers], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _as_bytes(order: tuple[int, ...]) -> bytes:
    return _NUMBERS.pack(*map(add, order, _HALF))


def from_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[Buffer]:
    """Yield the buffers of record batches."""
    for batch in batches:
        for carrier, order, payload in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            vertex, subtask, rank, watermark, channel, sequence = map(
                sub, _NUMBERS.unpack(order), _HALF
            )
            yield Buffer(carrier, vertex, subtask, rank, watermark, channel, sequence, payload)
