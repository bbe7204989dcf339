"""Keys as bytes: equal keys have equal bytes, and unequal keys never do.

What may be a key is what `penstock.runtime.stable_hash` says. The bytes end where they say they end,
so that those of a key, a namespace and more can be written one after the other. They stand for what a key equals, not
for the object: `1`, `1.0` and `True` are one key. Who needs the object keeps it beside.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import numbers
import struct
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from penstock.common.types import Row, field_names_of
from penstock.runtime.stable_hash import as_datetime, stable_hash
from penstock.runtime.windowing.window import (
    CountWindow,
    GlobalWindow,
    TimeWindow,
    Window,
    attributes,
)

_INT64: Final = struct.Struct(">cq").pack
_DOUBLE: Final = struct.Struct(">cd").pack
_LENGTH: Final = struct.Struct(">cI").pack
_TIME_WINDOW: Final = struct.Struct(">cIcqcq").pack
_MICROSECOND: Final = datetime.timedelta(microseconds=1)


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
    encode = _BY_TYPE.get(type(key))
    return encode(key) if encode is not None else _other(key)


def _other(key: Any) -> bytes:
    stable_hash(key)  # refuses what cannot be a key
    for base, encode in _BY_BASE:
        if isinstance(key, base):
            return encode(key)
    if dataclasses.is_dataclass(key):
        values = (getattr(key, field.name) for field in dataclasses.fields(key) if field.compare)
        return b"c" + _class_name(key) + _sequence(values)
    return _number(key.item())  # a NumPy truth value, which is no number


def _class_name(key: Any) -> bytes:
    return _text(f"{type(key).__module__}.{type(key).__qualname__}")


def _text(key: str) -> bytes:
    data = key.encode("utf-8", "surrogatepass")
    return _LENGTH(b"s", len(data)) + data


def _bytes(key: bytes) -> bytes:
    return _LENGTH(b"b", len(key)) + key


def _int(key: int) -> bytes:
    if -(2**63) <= key < 2**63:
        return _INT64(b"i", key)
    data = key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True)
    return _LENGTH(b"I", len(data)) + data


def _float(key: float) -> bytes:
    if key.is_integer():
        return _int(int(key))
    if key != key:  # noqa: PLR0124
        stable_hash(key)  # which refuses it with a reason
    return _DOUBLE(b"f", key)


def _number(key: Any) -> bytes:
    if isinstance(key, numbers.Integral):
        return _int(int(key))
    if isinstance(key, numbers.Complex) and not isinstance(key, numbers.Real):
        number = complex(key)
        real = _float(number.real)
        return b"C" + real + _float(number.imag) if number.imag else real
    if not isinstance(key, (float, Decimal, Fraction)):
        key = float(key)
    if isinstance(key, float) or key in {Decimal("Infinity"), Decimal("-Infinity")}:
        return _float(float(key))
    ratio = Fraction(key)
    if ratio.denominator == 1:
        return _int(ratio.numerator)
    try:
        nearest = float(ratio)
    except OverflowError:
        nearest = 0.0
    if nearest == ratio:
        return _DOUBLE(b"f", nearest)
    return b"R" + _int(ratio.numerator) + _int(ratio.denominator)


def _sequence(key: Iterable[Any]) -> bytes:
    items = list(map(key_bytes, key))
    return _LENGTH(b"t", len(items)) + b"".join(items)


def _time_window(key: TimeWindow) -> bytes:
    try:
        return _TIME_WINDOW(
            b"t", 2, b"i", key.start, b"i", key.end
        )  # what _sequence gives, at once
    except struct.error:
        return _sequence(key)


def _set(key: frozenset[Any]) -> bytes:
    return _LENGTH(b"S", len(key)) + b"".join(sorted(map(key_bytes, key)))


def _row(key: Row) -> bytes:
    return b"r" + key_bytes((field_names_of(key), key.get_row_kind().value)) + _sequence(key)


def _window(key: Window) -> bytes:
    return b"W" + _class_name(key) + _sequence(attributes(key))


def _enum(key: enum.Enum) -> bytes:
    return b"E" + _class_name(key) + _text(str(key.name))


def _datetime(key: datetime.datetime) -> bytes:
    return _nanoseconds(getattr(key, "nanosecond", 0)) + _python_datetime(as_datetime(key))


def _timedelta(key: datetime.timedelta) -> bytes:
    return _nanoseconds(getattr(key, "nanoseconds", 0)) + b"L" + _int(key // _MICROSECOND)


def _nanoseconds(count: int) -> bytes:
    """Return what stands before a time of pandas' that has more than microseconds."""
    return b"n" + _int(count) if count else b""


def _python_datetime(key: datetime.datetime) -> bytes:
    if key.utcoffset() is None:
        return b"D" + _text(key.replace(fold=0).isoformat())
    return b"A" + _text(key.astimezone(datetime.UTC).replace(tzinfo=None).isoformat())


def _time(key: datetime.time) -> bytes:
    offset = key.utcoffset()
    since_midnight = datetime.timedelta(
        hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond
    )
    tag = b"T" if offset is None else b"U"
    return tag + _int((since_midnight - (offset or datetime.timedelta())) // _MICROSECOND)


_BY_TYPE: Final[dict[type, Callable[[Any], bytes]]] = {
    str: _text,
    int: _int,
    bool: _int,
    float: _float,
    bytes: _bytes,
    tuple: _sequence,
    TimeWindow: _time_window,
    CountWindow: _sequence,
    GlobalWindow: lambda _: b"g",
    type(None): lambda _: b"N",
}

_BY_BASE: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any], bytes]], ...]] = (
    ((numbers.Number, Decimal), _number),
    (str, _text),
    (bytes, _bytes),
    (enum.Enum, _enum),
    (Row, _row),
    (tuple, _sequence),
    (frozenset, _set),
    (Window, _window),
    (datetime.datetime, _datetime),
    (datetime.date, lambda key: b"d" + _text(key.isoformat())),
    (datetime.time, _time),
    (datetime.timedelta, _timedelta),
    (uuid.UUID, lambda key: b"G" + key.bytes),
)
