"""Messages of Kafka that Spark has read, as rows, with the methods that the client's own have."""

from __future__ import annotations

from functools import cached_property
from itertools import repeat
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

SPLIT: Final = "split"
HEADERS: Final = "headers"
COLUMNS: Final = (
    "topic",
    "partition",
    "offset",
    "timestampType",
    "timestamp",
    "key",
    "value",
    HEADERS,
)
"""The columns of a row, beside that of its split. The timestamp is in milliseconds. Headers may be left out."""


class _Rows:
    """Rows, of which each column becomes objects when somebody asks for it first: most ask for few.

    Args:
        rows: The rows, with the fields of `COLUMNS`.
    """

    def __init__(self, rows: pa.StructArray) -> None:
        self._rows = rows

    def _column(self, name: str) -> list[Any]:
        found: list[Any] = self._rows.field(name).to_pylist()
        return found

    @cached_property
    def topics(self) -> list[str]:
        return self._column("topic")

    @cached_property
    def partitions(self) -> list[int]:
        return self._column("partition")

    @cached_property
    def offsets(self) -> list[int]:
        return self._column("offset")

    @cached_property
    def timestamps(self) -> list[tuple[int, int]]:
        # Java begins to count kinds at -1.
        kinds = pc.add(self._rows.field("timestampType"), 1).to_pylist()
        return list(zip(kinds, self._column("timestamp"), strict=True))

    @cached_property
    def keys(self) -> list[bytes | None]:
        return self._column("key")

    @cached_property
    def values(self) -> list[bytes | None]:
        return self._column("value")

    @cached_property
    def headers(self) -> list[list[tuple[str, bytes | None]] | None]:
        if self._rows.type.get_field_index(HEADERS) < 0:
            return [None] * len(self._rows)
        return [
            None if found is None else [(one["key"], one["value"]) for one in found]
            for found in self._column(HEADERS)
        ]


class RowMessage:
    """A message that Spark has read.

    Args:
        rows: The rows it is among.
        place: Its place there.
    """

    __slots__ = ("_place", "_rows")

    def __init__(self, rows: _Rows, place: int) -> None:
        self._rows = rows
        self._place = place

    def topic(self) -> str:
        return self._rows.topics[self._place]

    def partition(self) -> int:
        return self._rows.partitions[self._place]

    def offset(self) -> int:
        return self._rows.offsets[self._place]

    def timestamp(self) -> tuple[int, int]:
        """Return its kind, 0 for none, and the timestamp."""
        return self._rows.timestamps[self._place]

    def key(self) -> bytes | None:
        return self._rows.keys[self._place]

    def value(self) -> bytes | None:
        return self._rows.values[self._place]

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self._rows.headers[self._place]


def messages_of(rows: pa.StructArray) -> list[RowMessage]:
    """Return the messages in rows.

    Args:
        rows: The rows, with the fields of `COLUMNS`.
    """
    return list(map(RowMessage, repeat(_Rows(rows)), range(len(rows))))
