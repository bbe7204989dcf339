"""Numbers, dates and other values without parts as text, in the forms that JSON and CSV share."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from penstock.common.time import Instant
from penstock.common.typeinfo.basic_typeinfo import BasicType, BasicTypeInfo, single
from penstock.common.typeinfo.java_text import shortest_single
from penstock.common.typeinfo.time_typeinfo import DateTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types

BYTES: Final = Types.PRIMITIVE_ARRAY(Types.BYTE())

_WHOLE: Final = re.compile(r"[+-]?[0-9]+(?:\.0*)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?")
_POINT_IN_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(.)([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(.?)"
)
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_BITS: Final = {BasicType.BYTE: 7, BasicType.SHORT: 15, BasicType.INT: 31, BasicType.LONG: 63}
_INTEGERS: Final = (*_BITS, BasicType.BIG_INT)


def text_of(kind: TypeInformation) -> Callable[[Any], str] | None:
    """Return what makes text of a type's values; None for types with parts and for times.

    Args:
        kind: The type, of which the values are.
    """
    if kind == BYTES:
        return lambda value: base64.b64encode(value).decode()
    if isinstance(kind, DateTypeInfo):
        return date.isoformat
    if isinstance(kind, BasicTypeInfo):
        return _TEXTS.get(kind.basic_type)
    return None


def value_of(kind: TypeInformation) -> Callable[[str], Any] | None:
    """Return what makes a type's value of a text; None for types with parts and for times.

    What it returns raises a `ValueError` if the text is none of a value.

    Args:
        kind: The type.
    """
    if kind == BYTES:
        return _bytes
    if isinstance(kind, DateTypeInfo):
        return _date
    if not isinstance(kind, BasicTypeInfo):
        return None
    if kind.basic_type in _INTEGERS:
        return lambda text: _whole(text, kind)
    return _VALUES.get(kind.basic_type)


def _text_of_float(value: Any) -> str:
    value = float(value)
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _text_of_single(value: Any) -> str:
    """Return the shortest text that is this number in 32 bits."""
    value = float(value)
    if math.isfinite(value):
        return repr(shortest_single(value))
    return _text_of_float(value)


def _text_of_decimal(value: Any) -> str:
    return format(Decimal(value), "f")


def _whole(text: str, kind: BasicTypeInfo) -> int:
    if text.isascii() and text.isdigit():
        return whole_of(int(text), kind)
    stripped = text.strip()
    if not _WHOLE.fullmatch(stripped):
        raise ValueError(f"{text!r} is no {kind!r}")
    return whole_of(int(stripped.partition(".")[0]), kind)


def whole_of(value: int, kind: BasicTypeInfo) -> int:
    """Return a whole number that is of a type.

    Raises:
        ValueError: If it is too large.
    """
    if kind.basic_type is not BasicType.BIG_INT:
        bits = _BITS[kind.basic_type]
        if not -(1 << bits) <= value < 1 << bits:
            raise ValueError(f"{value} is too large for {kind!r}")
    return value


def _float(text: str) -> float:
    stripped = text.strip()
    if stripped in _SPECIAL:
        return _SPECIAL[stripped]
    value = float(stripped)
    if not math.isfinite(value) or "_" in stripped:
        raise ValueError(f"{text!r} is no number")
    return value


def _single(text: str) -> float:
    try:
        return single(_float(text))
    except OverflowError:
        raise ValueError(f"{text!r} is too large for 32 bits") from None


def _decimal(text: str) -> Decimal:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"{text!r} is no decimal number") from None
    if not value.is_finite() or "_" in text:
        raise ValueError(f"{text!r} is no decimal number")
    return value


def _boolean(text: str) -> bool:
    lower = text.strip().lower()
    if lower not in {"true", "false"}:
        raise ValueError(f"{text!r} is neither true nor false")
    return lower == "true"


def _character(text: str) -> str:
    if len(text) != 1:
        raise ValueError(f"{text!r} is not one character")
    return text


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text!r} is no Base64: {error}") from None


def _date(text: str) -> date:
    if not _DATE.fullmatch(text):
        raise ValueError(f"{text!r} is no date such as 2024-05-17")
    return date.fromisoformat(text)


def text_of_time(value: time) -> str:
    """Return a time of day without the zeros at the end of its fraction."""
    text = value.isoformat()
    return text.rstrip("0") if value.microsecond else text


def time_of(text: str, ends: str) -> time:
    """Return the time of day that a text is; see `instant_of`."""
    if not _TIME.fullmatch(text.removesuffix(ends)) or not text.endswith(ends):
        raise ValueError(f"{text!r} is no time such as 09:30:00{ends}")
    return time.fromisoformat(text.removesuffix(ends))


def text_of_timestamp(value: datetime, between: str) -> str:
    """Return a timestamp, in UTC if it has a zone, without the zeros at the end of its fraction.

    Args:
        value: The timestamp.
        between: What stands between date and time.
    """
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    text = value.isoformat(between)
    return text.rstrip("0") if value.microsecond else text


def text_of_instant(value: Instant, between: str) -> str:
    """Return a point in time in UTC, without the zeros at the end of its fraction.

    Args:
        value: The point in time.
        between: What stands between date and time.
    """
    moment = datetime.fromtimestamp(value.seconds, UTC).replace(tzinfo=None)
    fraction = f".{value.nanos:09d}".rstrip("0") if value.nanos else ""
    return f"{moment.isoformat(between)}{fraction}"


def instant_of(text: str, between: str, ends: str) -> Instant:
    """Return the point in time that a text is, in UTC.

    Args:
        text: The text.
        between: What stands between date and time.
        ends: What it ends with.

    Raises:
        ValueError: If it is none.
    """
    second, fraction = _parts_of(text, between, ends)
    return Instant(int(second.replace(tzinfo=UTC).timestamp()), int(fraction))


def timestamp_of(text: str, between: str, ends: str) -> datetime:
    """Return the timestamp that a text is; see `instant_of`. What is beyond microseconds is cut off."""
    second, fraction = _parts_of(text, between, ends)
    return second.replace(microsecond=int(fraction[:6]))


def _parts_of(text: str, between: str, ends: str) -> tuple[datetime, str]:
    """Return the second of a timestamp, and the nine digits behind it."""
    match = _POINT_IN_TIME.fullmatch(text)
    if match is None or match[2] != between or match[5] != ends:
        example = f"2024-05-17{between}09:30:00.5{ends}"
        raise ValueError(f"{text!r} is no timestamp such as {example}")
    return datetime.fromisoformat(f"{match[1]}T{match[3]}"), (match[4] or "").ljust(9, "0")


_TEXTS: Final[dict[BasicType, Callable[[Any], str]]] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: lambda value: "true" if value else "false",
    BasicType.FLOAT: _text_of_single,
    BasicType.DOUBLE: _text_of_float,
    BasicType.BIG_DEC: _text_of_decimal,
    **dict.fromkeys(_INTEGERS, lambda value: str(int(value))),
}
_VALUES: Final[dict[BasicType, Callable[[str], Any]]] = {
    BasicType.STRING: lambda text: text,
    BasicType.CHAR: _character,
    BasicType.BOOLEAN: _boolean,
    BasicType.FLOAT: _single,
    BasicType.DOUBLE: _float,
    BasicType.BIG_DEC: _decimal,
}
