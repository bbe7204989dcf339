"""What may be a key: one ladder of types, and for each of them its hash and its bytes.

What may be a key: None, numbers (int, float but NaN, bool, Decimal, Fraction, complex, NumPy scalars), str, bytes,
date, time, datetime, timedelta (pandas' too, but NaT), UUID, enum members, windows, and tuples, lists, frozen sets,
Rows and frozen dataclasses of these. A list has become a `ListKey` before. Equal keys are one key: `1`, `1.0`, `True` and `Decimal(1)`. They have equal
hashes and equal bytes; unequal keys never have equal bytes.

The hash is the same in every process and on every run, as Python's is not: it salts the hash of strings and bytes
per process, and hashes some objects by address. State lies in files by key groups, so hashes never change.

The bytes end where they say they end, so that those of a key, a namespace and more can be written one after the
other. They stand for what a key equals, not for the object: who needs that keeps it beside.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import numbers
import struct
import uuid
import zlib
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

from penstock.common.types import Row, field_names_of
from penstock.errors import InvalidKeyError
from penstock.runtime.keys.list_key import ListKey
from penstock.runtime.keys.window_values import (
    CountWindow,
    GlobalWindow,
    TimeWindow,
    Window,
    attributes,
)

VOID_NAMESPACE: Final = None
"""The namespace of state and timers that have no other, such as a window; namespaces are such as keys are."""


def is_same_namespace(one: Any, other: Any) -> bool:
    """Whether two namespaces are the same. A window of a user's class is compared with other windows alone."""
    if one is VOID_NAMESPACE or other is VOID_NAMESPACE:
        return one is other
    return bool(one == other)


_MASK: Final = 0xFFFFFFFF
_INT64: Final = struct.Struct(">cq").pack
_DOUBLE: Final = struct.Struct(">cd").pack
_LENGTH: Final = struct.Struct(">cI").pack
_TIME_WINDOW: Final = struct.Struct(">cIcqcq").pack
_MICROSECOND: Final = datetime.timedelta(microseconds=1)

_HINT: Final = (
    "A key is None, a number, str, bytes, a date or time, a UUID, an enum member, or a tuple, list, "
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
    hash_of = _HASHES.get(type(key))
    return hash_of(key) if hash_of is not None else _rung_of(key).hash_of(key)


def key_bytes(key: Any) -> bytes:
    """Return the bytes of a key.

    Raises:
        InvalidKeyError: If the value cannot be a key.

    Example:
        >>> key_bytes(1) == key_bytes(1.0) == key_bytes(True)
        True
        >>> key_bytes(("a", "b")) == key_bytes(("ab", ""))
        False
    """
    bytes_of = _BYTES.get(type(key))
    return bytes_of(key) if bytes_of is not None else _rung_of(key).bytes_of(key)


class _Rung(NamedTuple):
    """What keys of a type have for a hash, and for bytes."""

    hash_of: Callable[[Any], int]
    bytes_of: Callable[[Any], bytes]


def _rung_of(key: Any) -> _Rung:
    """Return where on the ladder a key is whose type is none of the plain ones.

    Raises:
        InvalidKeyError: If it is nowhere.
    """
    kind = type(key)
    if kind.__name__ == "timedelta64":
        # NumPy counts it among the numbers, and hashes it by its unit.
        raise _not_stable(key)
    for base, rung in _LADDER:
        if isinstance(key, base):
            return rung
    if kind.__module__ == "numpy" and isinstance(getattr(key, "item", lambda: None)(), bool):
        return _NUMPY_BOOL  # which is no number
    parameters = getattr(kind, "__dataclass_params__", None)
    if parameters is not None and kind.__hash__ is not None and _compares_fields(kind):
        return _DATACLASS
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


def _not_stable(key: Any) -> InvalidKeyError:
    return InvalidKeyError(
        f"A key cannot be of type {type(key).__qualname__}, as its hash may differ between processes: "
        f"{_short(key)}.",
        hint=_HINT,
    )


def _equals_nothing(name: str) -> InvalidKeyError:
    return InvalidKeyError(
        f"{name} cannot be a key: it equals nothing, not even itself.", hint=_HINT
    )


def _short(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 200 else text[:197] + "..."


# Text and bytes


def _hash_text(key: str) -> int:
    return zlib.crc32(key.encode("utf-8", "surrogatepass"))


def _text(key: str) -> bytes:
    data = key.encode("utf-8", "surrogatepass")
    return _LENGTH(b"s", len(data)) + data


def _bytes(key: bytes) -> bytes:
    return _LENGTH(b"b", len(key)) + key


# Numbers


def _hash_int(key: int) -> int:
    # Python's numeric hash is unsalted and alike for equal numbers of all types.
    code = hash(key)
    return (code ^ (code >> 32)) & _MASK


def _hash_number(key: Any) -> int:
    if (isinstance(key, Decimal) and key.is_nan()) or key != key:  # noqa: PLR0124
        raise _equals_nothing("NaN")
    code = hash(key)
    return (code ^ (code >> 32)) & _MASK


def _int(key: int) -> bytes:
    if -(2**63) <= key < 2**63:
        return _INT64(b"i", key)
    data = key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True)
    return _LENGTH(b"I", len(data)) + data


def _float(key: float) -> bytes:
    if key.is_integer():
        return _int(int(key))
    if key != key:  # noqa: PLR0124
        raise _equals_nothing("NaN")
    return _DOUBLE(b"f", key)


def _number(key: Any) -> bytes:
    if isinstance(key, numbers.Integral):
        return _int(int(key))
    if isinstance(key, numbers.Complex) and not isinstance(key, numbers.Real):
        number = complex(key)
        real = _float(number.real)
        return b"C" + real + _float(number.imag) if number.imag else real
    if isinstance(key, Decimal) and not key.is_finite():
        return _float(float("nan") if key.is_nan() else float(key))
    if not isinstance(key, (float, Decimal, Fraction)):
        key = float(key)
    return _float(float(key)) if isinstance(key, float) else _fraction(Fraction(key))


def _fraction(key: Fraction) -> bytes:
    if key.denominator == 1:
        return _int(key.numerator)
    try:
        nearest = float(key)
    except OverflowError:
        nearest = 0.0
    if nearest == key:
        return _DOUBLE(b"f", nearest)
    return b"R" + _int(key.numerator) + _int(key.denominator)


# Dates and times


def _date(key: datetime.date) -> bytes:
    return b"d" + _text(key.isoformat())


def _hash_datetime(key: datetime.datetime) -> int:
    # Aware datetimes of one instant are equal in whatever zone they are given. Which of two equal wall
    # times is meant does not count: as in Python, the first is taken.
    return _hash_int(_microseconds_of(key.replace(fold=0)))


def _microseconds_of(key: datetime.datetime) -> int:
    """Return how long a datetime is after the first, in UTC where it has an offset from that."""
    offset = key.utcoffset() or datetime.timedelta()
    return (key.replace(tzinfo=None) - datetime.datetime.min - offset) // _MICROSECOND  # noqa: DTZ901


def _datetime(key: datetime.datetime) -> bytes:
    key = key.replace(fold=0)
    if key.utcoffset() is None:
        return b"D" + _text(key.isoformat())
    try:
        text = key.astimezone(datetime.UTC).replace(tzinfo=None).isoformat()
    except OverflowError:  # in UTC it is before the first or after the last day of the calendar
        text = str(_microseconds_of(key))
    return b"A" + _text(text)


def _other_datetime(key: datetime.datetime) -> bytes:
    plain = _datetime(_as_datetime(key))
    return _nanoseconds(getattr(key, "nanosecond", 0)) + plain


def _as_datetime(key: datetime.datetime) -> datetime.datetime:
    """Return a datetime as one of Python's own: without the nanoseconds that pandas' have.

    Raises:
        InvalidKeyError: If it is pandas' `NaT`.
    """
    if key != key:  # noqa: PLR0124
        raise _equals_nothing("NaT")
    convert = getattr(key, "to_pydatetime", None)
    return key if convert is None else convert(warn=False)


def _nanoseconds(count: int) -> bytes:
    """Return what stands before a time of pandas' that has more than microseconds."""
    return b"n" + _int(count) if count else b""


def _microseconds_of_day(key: datetime.time) -> int:
    """Return when a time of day is, in UTC where it has an offset from that."""
    since_midnight = datetime.timedelta(
        hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond
    )
    return (since_midnight - (key.utcoffset() or datetime.timedelta())) // _MICROSECOND


def _time(key: datetime.time) -> bytes:
    return (b"T" if key.utcoffset() is None else b"U") + _int(_microseconds_of_day(key))


def _timedelta(key: datetime.timedelta) -> bytes:
    return _nanoseconds(getattr(key, "nanoseconds", 0)) + b"L" + _int(key // _MICROSECOND)


# What consists of other keys


def _hash_sequence(key: Iterable[Any]) -> int:
    code = 1
    for item in key:
        code = (31 * code + stable_hash(item)) & _MASK
    return code


def _sequence(key: Iterable[Any]) -> bytes:
    items = list(map(key_bytes, key))
    return _LENGTH(b"t", len(items)) + b"".join(items)


def _hash_list(key: Iterable[Any]) -> int:
    # Not that of the tuple with the same items, which is another key.
    return (_hash_sequence(key) + 1) & _MASK


def _list(key: Iterable[Any]) -> bytes:
    return b"l" + _sequence(key)


def _hash_set(key: frozenset[Any]) -> int:
    return sum(stable_hash(item) for item in key) & _MASK


def _set(key: frozenset[Any]) -> bytes:
    return _LENGTH(b"S", len(key)) + b"".join(sorted(map(key_bytes, key)))


def _row(key: Row) -> bytes:
    return b"r" + key_bytes((field_names_of(key), key.get_row_kind().value)) + _sequence(key)


def _hash_dataclass(key: Any) -> int:
    return (_hash_text(type(key).__qualname__) + _hash_sequence(_compared(key))) & _MASK


def _dataclass(key: Any) -> bytes:
    return b"c" + _class_name(key) + _sequence(_compared(key))


def _compared(key: Any) -> Iterable[Any]:
    return (getattr(key, field.name) for field in dataclasses.fields(key) if field.compare)


def _class_name(key: Any) -> bytes:
    return _text(f"{type(key).__module__}.{type(key).__qualname__}")


# Windows and members of enums


def _time_window(key: TimeWindow) -> bytes:
    try:
        return _TIME_WINDOW(
            b"t", 2, b"i", key.start, b"i", key.end
        )  # what _sequence gives, at once
    except struct.error:
        return _sequence(key)


def _hash_window(key: Window) -> int:
    return (_hash_text(type(key).__qualname__) + _hash_sequence(attributes(key))) & _MASK


def _window(key: Window) -> bytes:
    return b"W" + _class_name(key) + _sequence(attributes(key))


def _hash_enum(key: enum.Enum) -> int:
    return _hash_text(f"{type(key).__qualname__}.{key.name}")


def _enum(key: enum.Enum) -> bytes:
    return b"E" + _class_name(key) + _text(str(key.name))


# The ladder

_PLAIN: Final[dict[type, _Rung]] = {
    str: _Rung(_hash_text, _text),
    int: _Rung(_hash_int, _int),
    bool: _Rung(_hash_int, _int),
    float: _Rung(_hash_number, _float),
    bytes: _Rung(zlib.crc32, _bytes),
    tuple: _Rung(_hash_sequence, _sequence),
    ListKey: _Rung(_hash_list, _list),
    type(None): _Rung(lambda _: 0, lambda _: b"N"),
    datetime.datetime: _Rung(_hash_datetime, _datetime),
    datetime.date: _Rung(lambda key: _hash_text(key.isoformat()), _date),
    TimeWindow: _Rung(_hash_sequence, _time_window),
    CountWindow: _Rung(_hash_sequence, _sequence),
    GlobalWindow: _Rung(_hash_window, lambda _: b"g"),
}
"""The types of which most keys are: found at once, without their subclasses."""

_LADDER: Final[tuple[tuple[type | tuple[type, ...], _Rung], ...]] = (
    ((numbers.Number, Decimal), _Rung(_hash_number, _number)),
    (str, _PLAIN[str]),
    (bytes, _PLAIN[bytes]),
    (Row, _Rung(_hash_sequence, _row)),
    (tuple, _PLAIN[tuple]),
    (frozenset, _Rung(_hash_set, _set)),
    (Window, _Rung(_hash_window, _window)),
    (
        datetime.datetime,
        _Rung(lambda key: _hash_datetime(_as_datetime(key)), _other_datetime),
    ),
    (datetime.date, _PLAIN[datetime.date]),
    (datetime.time, _Rung(lambda key: _hash_int(_microseconds_of_day(key)), _time)),
    (datetime.timedelta, _Rung(lambda key: _hash_int(key // _MICROSECOND), _timedelta)),
    (uuid.UUID, _Rung(lambda key: _hash_int(key.int), lambda key: b"G" + key.bytes)),
    # An enum that is also of another type may equal values of that type: it has been found above.
    (enum.Enum, _Rung(_hash_enum, _enum)),
)
"""All others, the first that fits: an instance of it, or of a subclass."""

_NUMPY_BOOL: Final = _Rung(_hash_number, lambda key: _int(key.item()))
_DATACLASS: Final = _Rung(_hash_dataclass, _dataclass)

_HASHES: Final = {kind: rung.hash_of for kind, rung in _PLAIN.items()}
_BYTES: Final = {kind: rung.bytes_of for kind, rung in _PLAIN.items()}
