"""Whether a reduce function comes to the same however records are grouped: a look at some of them."""

from __future__ import annotations

import dataclasses
import math
import pickle
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from numbers import Number, Rational
from typing import Any, Final

from penstock.common.types import Row
from penstock.errors import NonAssociativeReduceError
from penstock.runtime.user_code import FAILURES, record_text

SAMPLES: Final = 16
_RECORDS: Final = 20_000
_TOLERANCE: Final = 1e-9
_ROUNDED: Final = (float, complex, Decimal)
_MEASURED: Final = (int, *_ROUNDED)


class AssociativityCheck:
    """Looks whether `f(f(a, b), c)` is `f(a, f(b, c))` for some of the values an operator has.

    Of the records that come, three of one key are looked at, and later three more, up to `SAMPLES`
    times; of the panes that fire, three of one window, as often. Only the first records are searched
    for such. Then the check is over, and costs nothing more.

    The function is called with copies. Results that cannot be compared, or that differ from call to
    call, say nothing.

    Args:
        function: The reduce function.
        operator: The name of the operator, for the message.
    """

    def __init__(self, function: Callable[[Any, Any], Any], operator: str) -> None:
        self._function = function
        self._operator = operator
        self._records_left = _RECORDS
        self._record_samples_left = SAMPLES
        self._pane_samples_left = SAMPLES
        self._seen: dict[Any, list[Any]] = {}

    @property
    def wants_records(self) -> bool:
        """Whether it still looks at records."""
        return self._records_left > 0 and self._record_samples_left > 0

    @property
    def wants_panes(self) -> bool:
        """Whether it still looks at panes."""
        return self._pane_samples_left > 0

    def look_at_records(self, keys: Iterable[Any], values: list[Any]) -> None:
        """Look at three values of some key, if with these there are so many.

        Raises:
            NonAssociativeReduceError: If they come to different results.
        """
        self._records_left -= len(values)
        seen = self._seen
        for key, value in zip(keys, values, strict=True):
            same = seen.setdefault(key, [])
            same.append(value)
            if len(same) == 3:
                self._record_samples_left -= 1
                self._compare(key, seen.pop(key))
                break
        if not self.wants_records:
            seen.clear()

    def look_at_panes(self, key: Any, values: list[Any]) -> None:
        """Look at the first three of what the panes of a window have come to.

        Raises:
            NonAssociativeReduceError: If they come to different results.
        """
        if len(values) >= 3:
            self._pane_samples_left -= 1
            self._compare(key, values[:3])

    def _compare(self, key: Any, values: list[Any]) -> None:
        try:
            pickled = pickle.dumps(values, pickle.HIGHEST_PROTOCOL)
            one_by_one = self._one_by_one(pickled)
            is_steady = _are_alike(one_by_one, self._one_by_one(pickled), values)
        except FAILURES:
            # What cannot be pickled, compared or reduced one by one is told elsewhere, if at all.
            return
        if not is_steady:
            return
        try:
            last_first = self._last_first(pickled)
        except FAILURES as error:
            raise self._error(key, values, one_by_one, f"raises {error!r}") from error
        try:
            are_alike = _are_alike(one_by_one, last_first, values)
        except FAILURES:
            return
        if not are_alike:
            raise self._error(key, values, one_by_one, f"is {record_text(last_first)}")

    def _one_by_one(self, pickled: bytes) -> Any:
        a, b, c = pickle.loads(pickled)
        return self._function(self._function(a, b), c)

    def _last_first(self, pickled: bytes) -> Any:
        a, b, c = pickle.loads(pickled)
        return self._function(a, self._function(b, c))

    def _error(
        self, key: Any, values: list[Any], one_by_one: Any, other: str
    ) -> NonAssociativeReduceError:
        a, b, c = map(record_text, values)
        return NonAssociativeReduceError(
            f"Operator {self._operator!r}, the key {record_text(key)}: the reduce function is not "
            f"associative. With a = {a}, b = {b} and c = {c}, f(f(a, b), c) is "
            f"{record_text(one_by_one)}, and f(a, f(b, c)) {other}.",
            hint="Sliding windows reduce the records of each slide once, and then what these come to. "
            "Either let the function take two results as well as two records, or call "
            "reduce(..., share_panes=False), which reduces each window on its own. To count, "
            "aggregate(Count()) of penstock.datastream.aggregates is faster than both.",
        )


def _are_alike(one: Any, other: Any, operands: Iterable[Any]) -> bool:
    """Whether two results are equal, but for the rounding of floats.

    Args:
        one: A result.
        other: Another.
        operands: What they were made of: sums that nearly cancel are off by a part of that.
    """
    parts, other_parts = _parts(one), _parts(other)
    if parts is None or other_parts is None:
        return _are_alike_alone(one, other, operands)
    if parts.keys() != other_parts.keys():
        return False
    by_place = [_parts(operand) or {} for operand in operands]
    return all(
        _are_alike(part, other_parts[place], [found[place] for found in by_place if place in found])
        for place, part in parts.items()
    )


def _are_alike_alone(one: Any, other: Any, operands: Iterable[Any]) -> bool:
    if isinstance(one, _ROUNDED) and isinstance(other, Number):
        return _are_close(one, other, operands)
    is_of_unknown_precision = isinstance(one, Number) and not isinstance(one, (*_ROUNDED, Rational))
    if is_of_unknown_precision or "__eq__" not in _names_of(type(one)):
        raise TypeError(f"It is not known which {type(one).__name__} are alike.")
    return bool(one == other)


def _names_of(kind: type) -> set[str]:
    """Return the names that a class has beside those that every object has."""
    return {name for base in kind.__mro__ if base is not object for name in vars(base)}


def _are_close(one: Any, other: Any, operands: Iterable[Any]) -> bool:
    if one == other or repr(one) == repr(other):  # or both are no number
        return True
    sizes: list[Any] = [abs(operand) for operand in operands if isinstance(operand, _MEASURED)]
    largest = max([abs(one), abs(other), *sizes])
    return bool(math.isfinite(largest) and abs(one - other) <= _TOLERANCE * float(largest))


def _parts(value: Any) -> Mapping[Any, Any] | None:
    """Return what a value is made of, by place; None if it is not made of other values."""
    if isinstance(value, (tuple, list, Row)):
        return dict(enumerate(value))
    if isinstance(value, dict):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None
