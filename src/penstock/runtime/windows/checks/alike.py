"""Whether two results are the same, as far as that can be told."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from numbers import Number, Rational
from typing import Any, Final

from penstock.common.types import Row

_TOLERANCE: Final = 1e-9
_ROUNDED: Final = (float, complex, Decimal)
_MEASURED: Final = (int, *_ROUNDED)


def are_alike(one: Any, other: Any, operands: Iterable[Any]) -> bool:
    """Whether two results are equal, but for the rounding of floats.

    Args:
        one: A result.
        other: Another.
        operands: What they were made of: sums that nearly cancel are off by a part of that.

    Raises:
        TypeError: If it is not known which values of their class are alike.
    """
    parts, other_parts = _parts(one), _parts(other)
    if parts is None or other_parts is None:
        return _are_alike_alone(one, other, operands)
    if parts.keys() != other_parts.keys():
        return False
    whole = [operand for operand in operands if _parts(operand) is None]
    by_place = [_parts(operand) or {} for operand in operands]
    return all(
        are_alike(
            part, other_parts[place], whole + [found[place] for found in by_place if place in found]
        )
        for place, part in parts.items()
    )


def numbers_in(value: Any) -> Iterator[Any]:
    """Yield the numbers that a value is made of, wherever in it they are."""
    if isinstance(value, _MEASURED):
        yield value
        return
    parts = _parts(value)
    inner = getattr(value, "__dict__", {}) if parts is None else parts
    for part in inner.values():
        yield from numbers_in(part)


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
