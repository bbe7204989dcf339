"""Checking what assigners, triggers and evictors are made with."""

from __future__ import annotations

import numbers
import operator
from datetime import timedelta
from decimal import Decimal
from typing import Any

from penstock.common.time import Duration, Time
from penstock.errors import InvalidArgumentError, InvalidDurationError, InvalidFunctionError

TimeLength = Time | Duration | timedelta | str | int
"""A length of time; an int is a number of milliseconds."""

_LIMIT = 2**63


def millis_of(value: TimeLength, what: str, kind: type[InvalidArgumentError]) -> int:
    """Return a length of time in milliseconds.

    Args:
        value: The length.
        what: How a message calls it, as "The size of TumblingEventTimeWindows".
        kind: The error to raise.
    """
    try:
        duration = Duration.of(value)
    except InvalidDurationError as error:
        raise kind(f"{what} is {value!r}, which is no length of time.", hint=_TIME_HINT) from error
    millis = duration.to_millis()
    if Duration.of_millis(millis) != duration:
        raise kind(f"{what} is {duration}: windows count whole milliseconds.", hint=_TIME_HINT)
    if abs(millis) >= _LIMIT:
        raise kind(f"{what} is {millis} ms, which is beyond 64 bits.", hint=_TIME_HINT)
    return millis


def positive_millis(value: TimeLength, what: str, kind: type[InvalidArgumentError]) -> int:
    """Return a length of time above zero in milliseconds; see `millis_of`."""
    millis = millis_of(value, what, kind)
    if millis <= 0:
        raise kind(f"{what} is {millis} ms; it must be above zero.", hint=_TIME_HINT)
    return millis


def count_of(value: Any, what: str, least: int, kind: type[InvalidArgumentError]) -> int:
    """Return a number of records that is not below `least`."""
    try:
        count = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        count = None
    if count is None or count < least:
        raise kind(
            f"{what} is {value!r}.", hint=f"Give a whole number of records, at least {least}."
        )
    return count


def threshold_of(value: Any, what: str, kind: type[InvalidArgumentError]) -> Any:
    """Return a number that deltas can be compared with."""
    is_number = isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool)
    if not is_number or value != value:  # noqa: PLR0124 - NaN is not equal to itself
        raise kind(f"{what} is {value!r}.", hint="Give a number with which deltas are compared.")
    return value


def callable_of(value: Any, what: str, hint: str, method: str = "") -> Any:
    """Return what can be called, itself or by a method of that name.

    Raises:
        InvalidFunctionError: If it cannot.
    """
    if isinstance(value, type) or not callable(getattr(value, method, value)):
        raise InvalidFunctionError(f"{what} is {value!r}, which cannot be called so.", hint=hint)
    return value


_TIME_HINT = "Give a length of time such as Time.seconds(10) or Duration.of_millis(500)."
