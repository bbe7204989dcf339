"""A hash of keys that is the same in every process and on every run.

Python salts the hash of strings and bytes per process, and hashes some objects by address. What may be a
key: None, numbers (int, float but NaN, bool, Decimal, Fraction, complex, NumPy scalars), str, bytes,
date, time, datetime, timedelta (pandas' too, but NaT), UUID, enum members, windows, and tuples, frozen sets,
Rows and frozen dataclasses of these. Equal keys have equal hashes: `1`, `1.0`, `True` and `Decimal(1)` are one key.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import numbers
import uuid
import zlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.common.types import Row
from penstock.errors import InvalidKeyError
from penstock.runtime.windowing.window import Window, attributes

_HINT = (
    "A key is None, a number, str, bytes, a date or time, a UUID, an enum member, or a tuple, "
    "Row, frozenset or frozen dataclass of these."
)


def stable_hash(key: Any) -> int:
    """Return a 32-bit hash of a key; equal keys give equal hashes, in every process.

    Raises:
        InvalidKeyError: If the value cannot be a key.

    Example:
        >>> stable_hash("hello"), stable_hash((1, "a")) == stable_hash((1.0, "a"))
        (907060870, True)
    """
    hash_of = _BY_TYPE.get(type(key))
    return hash_of(key) if hash_of is not None else _hash_other(key)


def _hash_text(key: str) -> int:
    return zlib.crc32(key.encode("utf-8", "surrogatepass"))


def _hash_number(key: Any) -> int:
    # Python's numeric hash is unsalted and alike for equal numbers of all types.
    if (isinstance(key, Decimal) and key.is_nan()) or key != key:  # noqa: PLR0124
        raise _equals_nothing("NaN")
    code = hash(key)
    return (code ^ (code >> 32)) & 0xFFFFFFFF


def _hash_sequence(key: Any) -> int:
    code = 1
    for item in key:
        code = (31 * code + stable_hash(item)) & 0xFFFFFFFF
    return code


def _hash_enum(key: enum.Enum) -> int:
    for base, hash_of in _BY_BASE:
        if base is not enum.Enum and isinstance(key, base):
            return hash_of(key)
    return _hash_text(f"{type(key).__qualname__}.{key.name}")


def _hash_set(key: frozenset[Any]) -> int:
    return sum(stable_hash(item) for item in key) & 0xFFFFFFFF


def _hash_window(key: Window) -> int:
    return (_hash_text(type(key).__qualname__) + _hash_sequence(attributes(key))) & 0xFFFFFFFF


def _hash_datetime(key: datetime.datetime) -> int:
    # Aware datetimes of one instant are equal in whatever zone they are given. Which of two equal wall
    # times is meant does not count: as in Python, the first is taken.
    key = key.replace(fold=0)
    offset = key.utcoffset() or datetime.timedelta()
    return _hash_number((key.replace(tzinfo=None) - datetime.datetime.min - offset) // _MICROSECOND)  # noqa: DTZ901


def as_datetime(key: datetime.datetime) -> datetime.datetime:
    """Return a datetime as one of Python's own: without the nanoseconds that pandas' have.

    Raises:
        InvalidKeyError: If it is pandas' `NaT`.
    """
    if key != key:  # noqa: PLR0124
        raise _equals_nothing("NaT")
    convert = getattr(key, "to_pydatetime", None)
    return key if convert is None else convert(warn=False)


def _hash_time(key: datetime.time) -> int:
    offset = key.utcoffset()
    since_midnight = datetime.timedelta(
        hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond
    )
    return _hash_number((since_midnight - (offset or datetime.timedelta())) // _MICROSECOND)


def _hash_other(key: Any) -> int:
    if type(key).__name__ == "timedelta64":
        # NumPy counts it among the numbers, and hashes it by its unit.
        raise _not_stable(key)
    for base, hash_of in _BY_BASE:
        if isinstance(key, base):
            return hash_of(key)
    kind = type(key)
    if kind.__module__ == "numpy" and isinstance(getattr(key, "item", lambda: None)(), bool):
        return _hash_number(key)
    parameters = getattr(kind, "__dataclass_params__", None)
    if parameters is not None and kind.__hash__ is not None and _compares_fields(kind):
        values = (getattr(key, f.name) for f in dataclasses.fields(key) if f.compare)
        return (_hash_text(kind.__qualname__) + _hash_sequence(values)) & 0xFFFFFFFF
    try:
        hash(key)
    except TypeError as error:
        raise InvalidKeyError(
            f"A key cannot be of type {kind.__qualname__}, as it cannot be hashed: {_short(key)}.",
            hint=_HINT,
        ) from error
    raise _not_stable(key)


def _compares_fields(kind: type) -> bool:
    """Whether a dataclass has the equality that was made for it, and not one of its own."""
    code = getattr(kind.__eq__, "__code__", None)
    return code is not None and code.co_filename == "<string>"


def _equals_nothing(name: str) -> InvalidKeyError:
    return InvalidKeyError(
        f"{name} cannot be a key: it equals nothing, not even itself.", hint=_HINT
    )


def _not_stable(key: Any) -> InvalidKeyError:
    return InvalidKeyError(
        f"A key cannot be of type {type(key).__qualname__}, as its hash may differ between processes: "
        f"{_short(key)}.",
        hint=_HINT,
    )


def _short(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 200 else text[:197] + "..."


_MICROSECOND = datetime.timedelta(microseconds=1)

_BY_TYPE: dict[type, Callable[[Any], int]] = {
    str: _hash_text,
    int: _hash_number,
    bool: _hash_number,
    float: _hash_number,
    bytes: zlib.crc32,
    tuple: _hash_sequence,
    type(None): lambda _: 0,
    datetime.datetime: _hash_datetime,
    datetime.date: lambda key: _hash_text(key.isoformat()),
}

_BY_BASE: tuple[tuple[type | tuple[type, ...], Callable[[Any], int]], ...] = (
    ((numbers.Number, Decimal), _hash_number),
    (str, _hash_text),
    (bytes, zlib.crc32),
    # An enum that is also of another type may equal values of that type: it is hashed as one.
    (enum.Enum, _hash_enum),
    (Row, _hash_sequence),
    (tuple, _hash_sequence),
    (frozenset, _hash_set),
    (Window, _hash_window),
    (datetime.datetime, lambda key: _hash_datetime(as_datetime(key))),
    (datetime.date, lambda key: _hash_text(key.isoformat())),
    (datetime.time, _hash_time),
    (datetime.timedelta, lambda key: _hash_number(key // _MICROSECOND)),
    (uuid.UUID, lambda key: _hash_number(key.int)),
)
