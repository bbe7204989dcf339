"""Messages of Kafka that Spark has read, as rows, with the methods that the client's own have."""

from __future__ import annotations

from typing import Final, NamedTuple

import pyarrow as pa

SPLIT: Final = "split"
COLUMNS: Final = (
    "topic",
    "partition",
    "offset",
    "timestampType",
    "timestamp",
    "key",
    "value",
    "headers",
)
"""The columns of a row, beside that of its split. The timestamp is in milliseconds."""


class _Fields(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp_type: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None


class RowMessage:
    """A message that Spark has read.

    Args:
        fields: What is in its row, in the order of `COLUMNS`.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: _Fields) -> None:
        self._fields = fields

    def topic(self) -> str:
        return self._fields.topic

    def partition(self) -> int:
        return self._fields.partition

    def offset(self) -> int:
        return self._fields.offset

    def timestamp(self) -> tuple[int, int]:
        """Return its kind, 0 for none, and the timestamp."""
        # Java begins to count kinds at -1.
        return self._fields.timestamp_type + 1, self._fields.timestamp

    def key(self) -> bytes | None:
        return self._fields.key

    def value(self) -> bytes | None:
        return self._fields.value

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self._fields.headers


def messages_of(rows: pa.StructArray) -> list[RowMessage]:
    """Return the messages in rows.

    Args:
        rows: The rows, with the fields of `COLUMNS`.
    """
    *columns, headers = (rows.field(name) for name in COLUMNS)
    values = [column.to_pylist() for column in columns]
    return [RowMessage(_Fields(*fields)) for fields in zip(*values, _headers(headers), strict=True)]


def _headers(column: pa.ListArray) -> list[list[tuple[str, bytes | None]] | None]:
    if column.null_count == len(column):
        return [None] * len(column)
    return [
        None if found is None else [(one["key"], one["value"]) for one in found]
        for found in column.to_pylist()
    ]
