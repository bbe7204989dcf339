"""What gauges show: what users' functions return, as far as it can be shown, and however they fail."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final, NamedTuple

_LOG: Final = logging.getLogger("penstock")
_LONGEST: Final = 1_000


class Reading(NamedTuple):
    """What a gauge showed: a later reading takes its place, where counts are summed."""

    value: Any


class Gauge:
    """A function of the user's that is asked when an epoch ends. What is wrong with it is no reason to end the job.

    Args:
        name: Its full name.
        function: The function.

    Example:
        >>> Gauge("size", lambda: 5).read()
        Reading(value=5)
    """

    __slots__ = ("_function", "_has_failed", "_name")

    def __init__(self, name: str, function: Callable[[], Any]) -> None:
        self._name = name
        self._function = function
        self._has_failed = False

    def read(self) -> Reading:
        """Return what it shows now: None if the function fails, of which the log is told the first time."""
        try:
            return Reading(_shown(self._function()))
        except Exception:  # noqa: BLE001 - a function may raise anything
            if not self._has_failed:
                self._has_failed = True
                _LOG.warning(
                    "The gauge %r has no value: its function failed.", self._name, exc_info=True
                )
            return Reading(None)


def _shown(value: Any) -> Any:
    """Return a number, a text or small data as it is, and as text what cannot be sent to wherever it is shown."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _shortened(value)
    if isinstance(value, Real | Decimal):
        return _number(value)
    if isinstance(value, list | tuple | dict):
        try:
            if len(json.dumps(value)) <= _LONGEST:
                return value
        except (TypeError, ValueError, RecursionError):
            pass
    return _shortened(str(value))


def _number(value: Any) -> int | float:
    """Return a number as one of Python's own; as infinity, if it is larger than those of others can be."""
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return int(value) if isinstance(value, Integral) else number


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
