"""Taking the event time of records, and checking it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from penstock.common.rows.field_reader import ColumnTimestamp, FieldReader
from penstock.common.typeinfo.with_article import with_article
from penstock.errors import InvalidTimestampError
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block
from penstock.runtime.objects.mutability import copied_if_possible
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.user_code import failing_record, function_failure, record_text

Assigner = Callable[[Any, int | None], int]

_HINT = (
    "Event time is a whole number of milliseconds since the epoch, as an int: of a datetime, "
    "round(d.timestamp() * 1000)."
)


def timed_block(block: Block, assigner: Assigner | None, name: str) -> Block:
    """Return the records of a block with their event timestamps; see `timestamps_of`."""
    if isinstance(block, ColumnBlock):
        if assigner is None and block.times is not None:
            return block
        if isinstance(assigner, ColumnTimestamp):
            timed = _timed_columns(block, assigner, name)
            if timed is not None:
                return timed
    if isinstance(assigner, FieldReader | None) or len(block) == 1 or block.is_immutable:
        return block.with_timestamps(timestamps_of(block, assigner, name))  # type: ignore[arg-type]
    values: list[Any] = []

    def shown(value: Any, timestamp: int | None) -> int:
        """Call the assigner, and keep the record as it is before the next call."""
        found = assigner(value, timestamp)
        values.append(copied_if_possible(value))
        return found

    return Block(values, timestamps_of(block, shown, name), block.keys)  # type: ignore[arg-type]


def lacks_timestamps(block: Block) -> bool:
    """Whether some records of a block have no timestamps."""
    if isinstance(block, ColumnBlock):
        return block.times is None
    return block.timestamps is None or None in block.timestamps


def _timed_columns(block: ColumnBlock, assigner: ColumnTimestamp, name: str) -> Block | None:
    """Return columns with the event timestamps that one of them holds; None if it holds no times."""
    import pyarrow.compute as pc

    from penstock.runtime.exchange.arrow_numbers import milliseconds

    if assigner.field not in block.rows.type.names:
        return None
    times = milliseconds(block.rows.field(assigner.field))
    if times is None:
        return None
    if times.null_count:
        row = pc.index(times.is_null(), True).as_py()
        _checked(None, block.part(row, row + 1).values[0], name)
    if pc.min(times).as_py() <= MIN_TIMESTAMP:
        row = pc.index(times, MIN_TIMESTAMP).as_py()
        _check_range(MIN_TIMESTAMP, block.part(row, row + 1).values[0], name)
    return ColumnBlock(block.rows, times)


def timestamps_of(block: Block, assigner: Assigner | None, name: str) -> list[int]:
    """Return the event timestamp of each record of a block, in milliseconds.

    Args:
        block: The records.
        assigner: Tells the timestamp of a record; None to take those the records have.
        name: The name of the operator, for messages.

    Raises:
        InvalidTimestampError: If a record has no timestamp, or one that is no integer or out of range.
        UserFunctionError: If the assigner raises.
    """
    if assigner is None:
        found: list[Any] = block.timestamps or [None] * len(block.values)
    else:
        rest = iter(block.values)
        try:
            if block.timestamps is None:
                found = [assigner(value, None) for value in rest]
            else:
                found = [
                    assigner(value, timestamp)
                    for value, timestamp in zip(rest, block.timestamps, strict=True)
                ]
        except Exception as error:
            raise function_failure(error, name, failing_record(block, rest)) from error
    if set(map(type, found)) != {int}:
        found = [
            _checked(timestamp, value, name)
            for timestamp, value in zip(found, block.values, strict=True)
        ]
    if min(found) <= MIN_TIMESTAMP or max(found) > MAX_TIMESTAMP:
        for timestamp, value in zip(found, block.values, strict=True):
            _check_range(timestamp, value, name)
    return found


def _checked(timestamp: Any, value: Any, name: str) -> int:
    if timestamp is None:
        raise InvalidTimestampError(
            f"Operator {name!r} needs the timestamp of the record {record_text(value)}, which has "
            "none.",
            hint="Call with_timestamp_assigner() on the watermark strategy.",
        )
    if not isinstance(timestamp, bool):
        try:
            return operator.index(timestamp)
        except TypeError:
            pass
    raise InvalidTimestampError(
        f"Operator {name!r} got {timestamp!r} as the timestamp of the record {record_text(value)}: "
        f"{with_article(type(timestamp).__name__)}, no int.",
        hint=_HINT,
    )


def checked_watermark(timestamp: Any) -> int:
    """Return the integer that a generator's watermark stands for.

    Raises:
        InvalidTimestampError: If it stands for none, or for one beyond 64 bits.
    """
    try:
        found = None if isinstance(timestamp, bool) else operator.index(timestamp)
    except TypeError:
        found = None
    if found is None or found > MAX_TIMESTAMP:
        raise InvalidTimestampError(
            f"A watermark generator emitted {timestamp!r}, which is no 64-bit integer.",
            hint=_HINT,
        )
    return found


def _check_range(timestamp: int, value: Any, name: str) -> None:
    if not MIN_TIMESTAMP < timestamp <= MAX_TIMESTAMP:
        raise InvalidTimestampError(
            f"Operator {name!r} got {timestamp} as the timestamp of the record "
            f"{record_text(value)}: timestamps lie above -2**63 and below 2**63.",
            hint=_HINT,
        )
