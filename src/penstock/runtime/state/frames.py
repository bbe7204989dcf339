"""State as bytes: what changelogs and snapshots are made of, the same for all backends.

A frame is a run of pickled parts. A part holds entries of one table and namespace, or timers of one
queue, or says of what type the values of a table are.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from penstock.errors import ValueNotSerializableError
from penstock.runtime.job_pickle import UNPICKLER, dumps
from penstock.runtime.state.tables import ABSENT, not_serializable

_FRAME_SIZE: Final = 1 << 20
_PART_SIZE: Final = 1 << 18
_PART_ENTRIES: Final = 128


Change = tuple[Any, Any, bool, Any]
"""What became of one key: namespace, key, whether what was there is gone, what is new.

In maps, the key is a pair of the key and the key in the map. What is new is a value, or the elements that
were added; `ABSENT` if there is nothing.
"""


class TablePart(NamedTuple):
    """Changes of one table in one namespace; removals come first.

    Attributes:
        table: The name of the table.
        kind: Its kind.
        namespace: The namespace.
        removed: Keys whose values, or lists, are gone.
        keys: Keys that have a value, or a longer list.
        values: The values, or the elements that were added.
        are_pickled: Whether the values are bytes: each the pickle of a value, or the pickles of
            elements one after the other.
    """

    table: str
    kind: str
    namespace: Any
    removed: list[Any]
    keys: list[Any]
    values: list[Any]
    are_pickled: bool


class TimerPart(NamedTuple):
    """A frame of a timer queue."""

    queue: str
    frame: bytes


class TypeNote(NamedTuple):
    """The type of the values of one table; comes before its parts.

    Attributes:
        table: The name of the table.
        kind: Its kind.
        type_name: The type that the program gave it, as text.
    """

    table: str
    kind: str
    type_name: str


Part = TablePart | TimerPart | TypeNote
"""What frames are made of."""


_PARTS: Final[dict[int, Callable[..., Part]]] = {
    len(kind._fields): kind for kind in (TablePart, TimerPart, TypeNote)
}


def table_parts(
    table: str, kind: str, changes: Iterable[Change], *, are_pickled: bool
) -> Iterator[TablePart]:
    """Gather changes of one table to parts."""
    part = TablePart(table, kind, None, [], [], [], are_pickled)
    count = size = 0
    for namespace, key, is_removed, value in changes:
        if count and (namespace != part.namespace or count >= _PART_ENTRIES or size >= _PART_SIZE):
            yield part
            count = size = 0
        if not count:
            part = TablePart(table, kind, namespace, [], [], [], are_pickled)
        count += 1
        if is_removed:
            part.removed.append(key)
        if value is not ABSENT:
            part.keys.append(key)
            part.values.append(value)
            if are_pickled:
                size += len(value)
    if count:
        yield part


def write_frames(parts: Iterable[Part], operator: str) -> Iterator[bytes]:
    """Yield frames that hold the parts, of about a megabyte each.

    Raises:
        ValueNotSerializableError: If a value cannot be pickled.
    """
    pending: list[bytes] = []
    size = 0
    for part in parts:
        try:
            pickled = dumps(tuple(part))
        except Exception as error:
            if isinstance(part, TablePart):
                raise _not_serializable(part, operator, error) from error
            raise
        pending.append(pickled)
        size += len(pickled)
        if size >= _FRAME_SIZE:
            yield b"".join(pending)
            pending.clear()
            size = 0
    if pending:
        yield b"".join(pending)


def read_frame(frame: bytes) -> Iterator[Part]:
    """Yield the parts of a frame."""
    for part in read_pickles(frame):
        yield _PARTS[len(part)](*part)


def read_pickles(data: bytes) -> Iterator[Any]:
    """Yield what is pickled one after the other."""
    unpickler = UNPICKLER.get()
    stream = io.BytesIO(data)
    while stream.tell() < len(data):
        yield unpickler(stream).load()


def pickle_value(value: Any, operator: str, state: str, key: Any) -> bytes:
    """Pickle a value of a state.

    Raises:
        ValueNotSerializableError: If it cannot be pickled.
    """
    try:
        return dumps(value)
    except Exception as error:
        raise not_serializable(value, operator, state, key, error) from error


def _not_serializable(part: TablePart, operator: str, error: Exception) -> Exception:
    for key, value in zip(part.keys, part.values, strict=True):
        try:
            pickle_value(value, operator, part.table, key)
        except ValueNotSerializableError as named:
            return named
    return not_serializable((part.namespace, part.keys), operator, part.table, None, error)
