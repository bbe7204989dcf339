"""What writers stage for Kafka: records column by column, in one piece of bytes."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import repeat
from typing import Any

Fields = tuple[Any, ...]
"""A `KafkaRecord`, or what one has in it."""


def staged(records: Sequence[Fields]) -> bytes:
    """Return records as bytes; a column that has the same in each of them is there once.

    Args:
        records: The records, at least one. What is in them is strings, bytes and integers.
    """
    columns = [_compact(column) for column in zip(*records, strict=True)]
    content = BytesIO()
    pickler = pickle.Pickler(content, pickle.HIGHEST_PROTOCOL)
    pickler.fast = True  # Nothing is in it twice that would be worth finding.
    pickler.dump((len(records), columns))
    return content.getvalue()


def _compact(column: tuple[Any, ...]) -> tuple[Any, ...] | list[Any]:
    first = column[0]
    if first == column[-1] and column.count(first) == len(column):
        return (first,)
    return list(column)


def unstaged(data: bytes) -> Iterable[Fields]:
    """Return the records that `staged` made bytes of, one by one."""
    count, columns = pickle.loads(data)
    return zip(
        *(repeat(one[0], count) if isinstance(one, tuple) else one for one in columns), strict=True
    )
