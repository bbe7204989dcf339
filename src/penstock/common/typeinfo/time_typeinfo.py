"""Descriptions of dates, times of day and timestamps.

Their stored forms are those of Arrow: days since 1970-01-01, microseconds since midnight,
microseconds since 1970-01-01 00:00. A timestamp without time zone is stored as its clock reads;
the time zone of the machine plays no part, so every process stores the same.
"""

# ruff: noqa: N802 - the names are PyFlink's
from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from typing import Any, Final

from penstock.common.typeinfo.type_information import (
    TypeInformation,
    UnfitError,
    WrappingTypeInfo,
    are_all,
)

__all__ = [
    "DateTypeInfo",
    "LocalTimeTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
]

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001


class SqlTimeTypeInfo(TypeInformation):
    """Gives access to the descriptions of `date`, `time` and `datetime`."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """Return the description of `datetime.date`."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """Return the description of `datetime.time`."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """Return the description of `datetime.datetime`."""
        return TimestampTypeInfo()


class _TemporalTypeInfo(TypeInformation):
    def need_conversion(self) -> bool:
        return True

    def _identity(self) -> object:
        return ()

    def __repr__(self) -> str:
        return type(self).__name__


class DateTypeInfo(_TemporalTypeInfo):
    """Describes dates, stored as days since 1970-01-01.

    Example:
        >>> DateTypeInfo().to_internal_type(date(1970, 1, 31))
        30
    """

    EPOCH_ORDINAL = date(1970, 1, 1).toordinal()

    def to_internal_type(self, d: date | None) -> int | None:
        """See `TypeInformation.to_internal_type`."""
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_internal_type(self, v: int | None) -> date | None:
        """See `TypeInformation.from_internal_type`."""
        return None if v is None else date.fromordinal(v + self.EPOCH_ORDINAL)

    def _converted(self, value: Any) -> date:
        if isinstance(value, datetime):
            if value.tzinfo is not None or value.time() != time.min:
                raise UnfitError(self, value, "Return its date(): a date has no time of day.")
        elif not isinstance(value, date):
            raise UnfitError(self, value)
        return value if type(value) is date else date(value.year, value.month, value.day)

    def misfit(self, value: str) -> str:
        """See `TypeInformation.misfit`."""
        return f"kind({value}) is not date"

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        return are_all(date, values)


class TimeTypeInfo(_TemporalTypeInfo):
    """Describes times of day without time zone, stored as microseconds since midnight.

    Example:
        >>> TimeTypeInfo().to_internal_type(time(0, 1))
        60000000
    """

    EPOCH_ORDINAL = 0
    """When the clock of 1970-01-01 00:00 UTC showed 00:00, in microseconds: no time zone plays a part here."""

    def to_internal_type(self, t: time | None) -> int | None:
        """See `TypeInformation.to_internal_type`."""
        if t is None:
            return None
        return ((t.hour * 60 + t.minute) * 60 + t.second) * 1_000_000 + t.microsecond

    def from_internal_type(self, t: int | None) -> time | None:
        """See `TypeInformation.from_internal_type`."""
        return None if t is None else (_EPOCH + t * _MICROSECOND).time()

    def _converted(self, value: Any) -> time:
        if not isinstance(value, time):
            raise UnfitError(self, value)
        if value.tzinfo is not None:
            raise UnfitError(self, value, "Return it without time zone: replace(tzinfo=None).")
        return value

    def misfit(self, value: str) -> str:
        """See `TypeInformation.misfit`."""
        return f"kind({value}) is not time or {value}.tzinfo is not None"

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        return are_all(time, values) and all(value.tzinfo is None for value in values)


class TimestampTypeInfo(_TemporalTypeInfo):
    """Describes timestamps without time zone, stored as microseconds since 1970-01-01 00:00.

    A `datetime` with time zone is stored as its time in UTC, and read back without time zone.

    Example:
        >>> TimestampTypeInfo().to_internal_type(datetime(1970, 1, 1, 0, 0, 1))
        1000000
    """

    def to_internal_type(self, dt: datetime | None) -> int | None:
        """See `TypeInformation.to_internal_type`."""
        if dt is None:
            return None
        if dt.tzinfo is not None:
            dt = dt.astimezone(UTC).replace(tzinfo=None)
        return (dt - _EPOCH) // _MICROSECOND

    def from_internal_type(self, ts: int | None) -> datetime | None:
        """See `TypeInformation.from_internal_type`."""
        return None if ts is None else _EPOCH + ts * _MICROSECOND

    def _converted(self, value: Any) -> datetime:
        if type(value) is not datetime:
            if not isinstance(value, datetime) or value != value:  # noqa: PLR0124 - pandas' NaT
                raise UnfitError(self, value)
            return datetime.combine(value.date(), value.timetz())
        return value

    def misfit(self, value: str) -> str:
        """See `TypeInformation.misfit`."""
        return f"kind({value}) is not datetime"

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        return are_all(datetime, values)


class LocalTimeTypeInfo(WrappingTypeInfo):
    """Describes dates, times of day or timestamps under the names that Java has for them.

    Args:
        time_type: Which of the three.

    Example:
        >>> LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)
        LocalTimeTypeInfo<LOCAL_DATE>
    """

    class TimeType(Enum):
        """The three kinds."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: TimeType) -> None:
        kinds = [DateTypeInfo, TimeTypeInfo, TimestampTypeInfo]
        super().__init__(kinds[time_type.value]())
        self.time_type = time_type

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self.time_type.name}>"
