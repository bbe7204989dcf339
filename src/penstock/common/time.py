"""Lengths of time and points in time."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from penstock.errors import InvalidDurationError

__all__ = ["Duration", "Instant", "Time"]

_NANOS: Final = {
    "d": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "min": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
_UNIT_NAMES: Final = {
    "": "ms",
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
    **dict.fromkeys(("m", "min", "minute", "minutes"), "min"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "micro", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), "ns"),
}
_CONSTRUCTORS: Final = {
    "d": "of_days",
    "h": "of_hours",
    "min": "of_minutes",
    "s": "of_seconds",
    "ms": "of_millis",
}
_TEXT: Final = re.compile(r"\s*(-?[0-9]+)\s*([a-z\u00b5\u03bc]*)\s*", re.IGNORECASE)
_ISO: Final = re.compile(
    r"\s*P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]{1,9}))?S)?)?\s*",
    re.IGNORECASE,
)
_MU_TO_U: Final = str.maketrans("\u00b5\u03bc", "uu")  # Unicode has two of them


class Duration:
    """A length of time, exact to the nanosecond.

    Durations are made by the methods whose names begin with `of`. They compare by length, and
    their text can be read back by `Duration.of`.

    Args:
        nanos: The length in nanoseconds.

    Example:
        >>> Duration.of_seconds(10) == Duration.of("10 s")
        True
        >>> print(Duration.of_millis(90_000))
        90 s
    """

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int) -> None:
        self._nanos = _whole(nanos)

    @classmethod
    def of(cls, value: Duration | Time | timedelta | str | int) -> Duration:
        """Make a duration of whatever says how long something takes.

        Args:
            value: A duration, a `Time`, a `datetime.timedelta`, a number of milliseconds, or a text
                such as `"10 s"`, `"200ms"` or `"5 min"`. The units are d, h, min (or m), s, ms,
                us and ns and their English names; a number without unit means milliseconds. ISO 8601
                is read too: `"PT1M30S"`.

        Returns:
            The duration.

        Raises:
            InvalidDurationError: If the value is none of these.

        Example:
            >>> Duration.of(timedelta(minutes=5)) == Duration.of("5 min") == Duration.of(300_000)
            True
        """
        if isinstance(value, Duration):
            return value
        if isinstance(value, timedelta):
            return cls(value // timedelta(microseconds=1) * _NANOS["us"])
        if isinstance(value, Time):
            return cls.of_millis(value.to_milliseconds())
        if isinstance(value, str):
            return cls(_parse_nanos(value))
        return cls.of_millis(value)

    @staticmethod
    def of_days(days: int) -> Duration:
        """Make a duration of days of 24 hours.

        Args:
            days: How many.

        Returns:
            The duration.

        Raises:
            InvalidDurationError: If the number is not whole.

        Example:
            >>> Duration.of_days(1).to_millis()
            86400000
        """
        return _of(days, "d")

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Make a duration of hours.

        Args:
            hours: How many.

        Returns:
            The duration.

        Raises:
            InvalidDurationError: If the number is not whole.

        Example:
            >>> Duration.of_hours(1).to_millis()
            3600000
        """
        return _of(hours, "h")

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Make a duration of minutes.

        Args:
            minutes: How many.

        Returns:
            The duration.

        Raises:
            InvalidDurationError: If the number is not whole.

        Example:
            >>> Duration.of_minutes(1).to_millis()
            60000
        """
        return _of(minutes, "min")

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Make a duration of seconds.

        Args:
            seconds: How many.

        Returns:
            The duration.

        Raises:
            InvalidDurationError: If the number is not whole.

        Example:
            >>> Duration.of_seconds(1).to_millis()
            1000
        """
        return _of(seconds, "s")

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Make a duration of milliseconds.

        Args:
            millis: How many.

        Returns:
            The duration.

        Raises:
            InvalidDurationError: If the number is not whole.

        Example:
            >>> Duration.of_millis(200).to_millis()
            200
        """
        return _of(millis, "ms")

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Make a duration of nanoseconds.

        Args:
            nanos: How many.

        Returns:
            The duration.

        Raises:
            InvalidDurationError: If the number is not whole.

        Example:
            >>> Duration.of_nanos(2_000_000).to_millis()
            2
        """
        return _of(nanos, "ns")

    def to_millis(self) -> int:
        """Return the length in whole milliseconds.

        Returns:
            The milliseconds, rounded down.

        Example:
            >>> Duration.of_seconds(10).to_millis()
            10000
        """
        return self._nanos // _NANOS["ms"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __lt__(self, other: Duration) -> bool:
        return self._nanos < other._nanos

    def __le__(self, other: Duration) -> bool:
        return self._nanos <= other._nanos

    def __hash__(self) -> int:
        return hash((Duration, self._nanos))

    def __str__(self) -> str:
        number, unit = self._in_largest_unit()
        return f"{number} {unit}"

    def __repr__(self) -> str:
        number, unit = self._in_largest_unit()
        if unit in _CONSTRUCTORS:
            return f"Duration.{_CONSTRUCTORS[unit]}({number})"
        return f"Duration.of_nanos({self._nanos})"

    def _in_largest_unit(self) -> tuple[int, str]:
        if self._nanos == 0:
            return 0, "ms"
        unit = next(unit for unit, nanos in _NANOS.items() if self._nanos % nanos == 0)
        return self._nanos // _NANOS[unit], unit


def _of(number: int, unit: str) -> Duration:
    return Duration(_whole(number) * _NANOS[unit])


def _whole(number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidDurationError(
            f"A duration is made of whole numbers, and {number!r} is none.",
            hint="Use a smaller unit: Duration.of_millis(1500) for one and a half seconds.",
        )
    return number


def _parse_nanos(text: str) -> int:
    iso = _ISO.fullmatch(text)
    if iso is not None and any(iso.groups()):
        whole = zip(("d", "h", "min", "s"), iso.groups(default="0"), strict=False)
        fraction = int(f"{iso[5] or 0:0<9}")
        return sum(int(number) * _NANOS[unit] for unit, number in whole) + fraction
    match = _TEXT.fullmatch(text)
    unit = _UNIT_NAMES.get(match[2].lower().translate(_MU_TO_U)) if match else None
    if match is None or unit is None:
        raise InvalidDurationError(
            f"{text!r} is not a duration.",
            hint="Write a whole number and a unit (d, h, min, s, ms, us, ns), such as '10 s'.",
        )
    return int(match[1]) * _NANOS[unit]


class Instant:
    """A point in time, counted from 1970-01-01 00:00 UTC.

    Args:
        seconds: Whole seconds since then, negative before.
        nanos: Nanoseconds to add.

    Example:
        >>> Instant.of_epoch_milli(1_500)
        Instant<1, 500000000>
        >>> Instant(1, 500_000_000).to_epoch_milli()
        1500
    """

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        carried, self.nanos = divmod(nanos, _NANOS["s"])
        self.seconds = seconds + carried

    def to_epoch_milli(self) -> int:
        """Return the milliseconds since 1970-01-01 00:00 UTC.

        Returns:
            The milliseconds, rounded down.

        Example:
            >>> Instant(-1, 999_000_000).to_epoch_milli()
            -1
        """
        return self.seconds * 1_000 + self.nanos // _NANOS["ms"]

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the point in time so many milliseconds after 1970-01-01 00:00 UTC.

        Args:
            epoch_milli: The milliseconds, negative before.

        Returns:
            The point in time.

        Example:
            >>> Instant.of_epoch_milli(-1)
            Instant<-1, 999000000>
        """
        return Instant(0, epoch_milli * _NANOS["ms"])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Instant)
            and self.seconds == other.seconds
            and self.nanos == other.nanos
        )

    def __lt__(self, other: Instant) -> bool:
        return (self.seconds, self.nanos) < (other.seconds, other.nanos)

    def __le__(self, other: Instant) -> bool:
        return (self.seconds, self.nanos) <= (other.seconds, other.nanos)

    def __hash__(self) -> int:
        return hash((Instant, self.seconds, self.nanos))

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time:
    """A length of time in milliseconds, as windows take it.

    Args:
        milliseconds: The length in milliseconds.

    Example:
        >>> Time.seconds(5).to_milliseconds()
        5000
    """

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def to_milliseconds(self) -> int:
        """Return the length in milliseconds.

        Returns:
            The milliseconds.

        Example:
            >>> Time.minutes(1).to_milliseconds()
            60000
        """
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Make a time of milliseconds.

        Args:
            milliseconds: How many.

        Returns:
            The time.

        Example:
            >>> Time.milliseconds(5)
            Time.milliseconds(5)
        """
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Make a time of seconds.

        Args:
            seconds: How many.

        Returns:
            The time.

        Example:
            >>> Time.seconds(1).to_milliseconds()
            1000
        """
        return _time_of(seconds, "s")

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Make a time of minutes.

        Args:
            minutes: How many.

        Returns:
            The time.

        Example:
            >>> Time.minutes(1).to_milliseconds()
            60000
        """
        return _time_of(minutes, "min")

    @staticmethod
    def hours(hours: int) -> Time:
        """Make a time of hours.

        Args:
            hours: How many.

        Returns:
            The time.

        Example:
            >>> Time.hours(1).to_milliseconds()
            3600000
        """
        return _time_of(hours, "h")

    @staticmethod
    def days(days: int) -> Time:
        """Make a time of days of 24 hours.

        Args:
            days: How many.

        Returns:
            The time.

        Example:
            >>> Time.days(1).to_milliseconds()
            86400000
        """
        return _time_of(days, "d")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash((Time, self._milliseconds))

    def __repr__(self) -> str:
        return f"Time.milliseconds({self._milliseconds})"


def _time_of(number: int, unit: str) -> Time:
    return Time(number * (_NANOS[unit] // _NANOS["ms"]))
