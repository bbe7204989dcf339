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
from penstock.runtime.state.tables import Shape, TablePart, not_serializable, shape_of
from penstock.runtime.timers.internal_timer import read_timers, write_timers

_FRAME_SIZE: Final = 1 << 20


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


def only_of(part: TablePart | TimerPart, is_wanted: Callable[[Any], bool]) -> TablePart | TimerPart:
    """Return a part without the entries or timers of other keys.

    Args:
        part: The part.
        is_wanted: Says of a key whether it counts.
    """
    if isinstance(part, TimerPart):
        wanted = (change for change in read_timers(part.frame) if is_wanted(change[0].key))
        return TimerPart(part.queue, b"".join(write_timers(wanted)))
    is_map = shape_of(part.kind) is Shape.MAP
    removed = [key for key in part.removed if is_wanted(key[0] if is_map else key)]
    kept = [
        (key, value)
        for key, value in zip(part.keys, part.values, strict=True)
        if is_wanted(key[0] if is_map else key)
    ]
    return part._replace(
        removed=removed, keys=[key for key, _ in kept], values=[value for _, value in kept]
    )
