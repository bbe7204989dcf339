"""Functions of a record that do no more than read a field of it."""

from __future__ import annotations

import datetime
from typing import Any, Final

from penstock.common.types import Row
from penstock.errors import ColumnNotFoundError, InvalidTimestampError

__all__ = ["ColumnTimestamp", "FieldReader"]

_MILLISECOND: Final = datetime.timedelta(milliseconds=1)
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class FieldReader:
    """Base of the functions that read a field of each record, and say which.

    Args:
        field: The position or name of the field.
    """

    def __init__(self, field: int | str) -> None:
        self.field = field

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.field == other.field

    def __hash__(self) -> int:
        return hash((type(self), self.field))


class ColumnTimestamp(FieldReader):
    """Takes a field of each record as its event time.

    Args:
        field: The name of the field.

    Example:
        >>> ColumnTimestamp("time")({"time": 7}, None)
        7
    """

    def __call__(self, record: Any, record_timestamp: int | None) -> Any:
        """Return the field of a record: of a datetime with a time zone its milliseconds."""
        found = self._read(record)
        if not isinstance(found, datetime.datetime):
            return found
        if found.tzinfo is None:
            raise InvalidTimestampError(
                f"The field {self.field!r} holds {found!r}, and nothing tells its time zone.",
                hint="Give the watermark strategy to from_data_frame(), where the column is still "
                "there as Spark has it.",
            )
        return (found - _EPOCH) // _MILLISECOND

    def _read(self, record: Any) -> Any:
        try:
            if isinstance(self.field, str) and not isinstance(record, (Row, dict)):
                return getattr(record, self.field)
            return record[self.field]
        except (LookupError, AttributeError):
            raise ColumnNotFoundError(
                f"No field {self.field!r} tells the time of the record {record!r:.200}.",
                hint="Give with_timestamp_column() the name of a field that every record has.",
            ) from None
