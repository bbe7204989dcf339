"""What crosses an exchange: buffers, each a pickled run of blocks and in-band elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from penstock.errors import RecordTooLargeError, ValueNotSerializableError
from penstock.runtime.exchange.elements import Block, Element
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.user_code import record_text

BUFFER_SIZE: Final = 4096
"""How many records a buffer takes before it is sent."""

BUFFER_BYTES: Final = 1 << 20
"""How many bytes its payload has before it is sent; about, and at most twice that, but for a record that
is larger by itself."""

LARGEST_PAYLOAD: Final = 2_000_000_000
"""How many bytes a payload may have: with what is around it, it has to fit an array of Java's."""

_SHORT: Final = 500
_MOST_DECODED: Final = 4096
_DECODED: dict[bytes, list[Element]] = {}

ABORT: Final = -2
"""Stands where a vertex index stands, for the word that the epoch failed on an earlier level."""


class Buffer(NamedTuple):
    """A run of elements from one sending to one receiving subtask.

    Receivers sort by vertex, subtask, rank, watermark, channel and sequence number: so what they read
    is in the same order on every run, channels advance together, and broadcast inputs come first.

    Attributes:
        carrier: The carrier, so the Spark partition, of the receiving level that takes it.
        vertex: The index of the receiving vertex; `DRIVER` or `ABORT` for what is no vertex's.
        subtask: The receiving subtask.
        rank: 0 on broadcast edges, else 1.
        watermark: The sender's watermark when the buffer was begun, in milliseconds.
        channel: The edge (from bit 20 on) and the sending task (below).
        sequence: The number of the buffer on its channel to this subtask, from 0.
        payload: The elements, pickled.
    """

    carrier: int
    vertex: int
    subtask: int
    rank: int
    watermark: int
    channel: int
    sequence: int
    payload: bytes

    @property
    def order(self) -> tuple[int, ...]:
        """What receivers sort by."""
        return self[1:7]


def channel_number(edge: int, sender: int) -> int:
    """Return the number of the channel from a sending task along an edge."""
    return edge << 20 | sender


def edge_of_channel(channel: int) -> int:
    """Return the number of the edge that a channel belongs to."""
    return channel >> 20


def encode(elements: list[Element], operator: str) -> bytes:
    """Pickle elements.

    Raises:
        ValueNotSerializableError: If a record cannot be pickled.
    """
    try:
        return dumps(elements)
    except Exception as error:
        raise not_serializable(error, elements, operator) from error


def check_size(payload: bytes, operator: str, elements: Iterable[Element]) -> None:
    """Make sure that a payload can go to another process.

    Args:
        payload: The payload.
        operator: The name of the operator that emitted what is in it.
        elements: What is in it.

    Raises:
        RecordTooLargeError: If it cannot.
    """
    if len(payload) <= LARGEST_PAYLOAD:
        return
    values = [value for item in elements if isinstance(item, Block) for value in item.values]
    what = f"the record {record_text(values[0])}" if len(values) == 1 else f"{len(values)} records"
    raise RecordTooLargeError(
        f"Operator {operator!r} emitted {what} with {len(payload):,} bytes in pickled form. No more than "
        f"{LARGEST_PAYLOAD:,} can go from one process to another.",
        hint="Emit smaller records: parts of it, or the path of a file that holds it.",
    )


def cut(elements: list[Element], records: int, pieces: int) -> Iterator[list[Element]]:
    """Yield elements in runs with about as many records each, in order.

    Args:
        elements: The elements.
        records: How many records there are among them.
        pieces: Into how many runs they are cut, at most one for each record.
    """
    if pieces <= 1:
        yield elements
        return
    most = -(-records // pieces)
    run: list[Element] = []
    room = most
    for element in elements:
        if not isinstance(element, Block):
            run.append(element)
            continue
        start, total = 0, len(element)
        while start < total:
            if not room:
                yield run
                run, room = [], most
            end = min(start + room, total)
            run.append(element.part(start, end))
            room -= end - start
            start = end
    yield run


def record_count(elements: list[Element]) -> int:
    """Return how many records there are among elements."""
    return sum(len(element) for element in elements if isinstance(element, Block))


def decode(payload: bytes) -> list[Element]:
    """Return the elements of a payload; callers do not change the list."""
    elements = _DECODED.get(payload)
    if elements is None:
        elements = _unpickled(payload)
        # What has no records is alike for all subtasks of a carrier, and cannot be changed.
        if len(payload) < _SHORT and not any(isinstance(element, Block) for element in elements):
            if len(_DECODED) >= _MOST_DECODED:
                _DECODED.clear()
            _DECODED[payload] = elements
    return elements


def _unpickled(payload: bytes) -> list[Element]:
    try:
        return loads(payload)  # type: ignore[no-any-return]
    except Exception as error:
        raise ValueNotSerializableError(
            f"A record was pickled, but cannot be unpickled: {type(error).__name__}: {error}",
            hint="Emit plain data, or give the record's class a __reduce__ that makes it anew.",
        ) from error


def not_serializable(error: Exception, elements: list[Element], operator: str) -> Exception:
    """Return the error that names the first record which cannot be pickled."""
    for element in elements:
        if isinstance(element, Block):
            for values in (element.values, element.keys or ()):
                for value in values:
                    reason = _pickle_problem(value)
                    if reason is not None:
                        return ValueNotSerializableError(
                            f"Operator {operator!r} emitted a value that cannot be pickled, so it "
                            f"cannot leave its process: {record_text(value)}\n{reason}",
                            hint="Emit plain data; define classes of records at the top level of "
                            "a module, not inside a function.",
                        )
    return ValueNotSerializableError(
        f"Operator {operator!r} emitted what cannot be pickled: {error}",
        hint="Emit plain data from functions whose results cross an exchange.",
    )


def _pickle_problem(value: Any) -> str | None:
    try:
        dumps(value)
    except Exception as error:  # noqa: BLE001 - pickling runs code of the value's class
        return f"{type(error).__name__}: {error}"
    return None
