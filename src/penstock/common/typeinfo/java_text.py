"""The texts that Java gives to values of declared types, which PyFlink prints."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from penstock.common.time import Instant
from penstock.common.typeinfo.basic_typeinfo import (
    BasicType,
    BasicTypeInfo,
    PickledBytesTypeInfo,
    single,
)
from penstock.common.typeinfo.composite_typeinfo import (
    MapTypeInfo,
    RowTypeInfo,
    SequenceTypeInfo,
    TupleTypeInfo,
)
from penstock.common.typeinfo.time_typeinfo import TimestampTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation, without_wrappers
from penstock.common.types import Row

__all__ = ["java_text_of", "shortest_single"]


def java_text_of(type_info: TypeInformation | None) -> Callable[[Any], str]:
    """Return what makes the text of a value, as Java's `toString` does.

    A value that is none of the type, such as `reduce` may give, has its `str`.

    Args:
        type_info: The type; None if none is declared, where the text is Python's.

    Example:
        >>> from penstock.common import Types
        >>> java_text_of(Types.TUPLE([Types.STRING(), Types.BOOLEAN()]))(("a", None))
        '(a,null)'
    """
    declared = without_wrappers(type_info)
    if declared is None or isinstance(declared, PickledBytesTypeInfo):
        return str
    text_of = _text_of(declared)
    return lambda value: "null" if value is None else text_of(value)


def shortest_single(value: float) -> float:
    """Return the number with the shortest text that is the same in 32 bits.

    Args:
        value: A finite number.

    Raises:
        OverflowError: If it is too large for 32 bits.

    Example:
        >>> shortest_single(0.10000000149011612)
        0.1
    """
    kept = single(value)
    texts = (f"{value:.{digits}g}" for digits in range(6, 10))
    return next(shorter for shorter in map(float, texts) if single(shorter) == kept)


def _text_of(type_info: TypeInformation) -> Callable[[Any], str]:
    if isinstance(type_info, BasicTypeInfo):
        return _TEXTS.get(type_info.basic_type, str)
    if isinstance(type_info, RowTypeInfo):
        return _of_row(type_info)
    if isinstance(type_info, TupleTypeInfo):
        return _of_tuple(type_info)
    if isinstance(type_info, SequenceTypeInfo):
        return _of_sequence(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _of_map(type_info)
    return _of_timestamp if isinstance(type_info, TimestampTypeInfo) else str


def _of_row(type_info: RowTypeInfo) -> Callable[[Any], str]:
    fields = [java_text_of(field) for field in type_info.get_field_types()]

    def text(value: Any) -> str:
        if not isinstance(value, Row) or len(value) != len(fields):
            return str(value)
        texts = [text_of(field) for text_of, field in zip(fields, value, strict=True)]
        return f"{value.get_row_kind()}[{', '.join(texts)}]"

    return text


def _of_tuple(type_info: TupleTypeInfo) -> Callable[[Any], str]:
    fields = [java_text_of(field) for field in type_info.get_field_types()]

    def text(value: Any) -> str:
        if not isinstance(value, (tuple, list)) or len(value) != len(fields):
            return str(value)
        return (
            f"({','.join([text_of(field) for text_of, field in zip(fields, value, strict=True)])})"
        )

    return text


def _of_sequence(type_info: SequenceTypeInfo) -> Callable[[Any], str]:
    element = java_text_of(type_info.element_type)

    def text(value: Any) -> str:
        if isinstance(value, bytes):
            value = [byte - 256 if byte > 127 else byte for byte in value]
        return f"[{', '.join(map(element, value))}]" if isinstance(value, list) else str(value)

    return text


def _of_map(type_info: MapTypeInfo) -> Callable[[Any], str]:
    key_text, item_text = map(java_text_of, (type_info.key_type_info, type_info.value_type_info))

    def text(value: Any) -> str:
        if not isinstance(value, dict):
            return str(value)
        return f"{{{', '.join([f'{key_text(key)}={item_text(item)}' for key, item in value.items()])}}}"

    return text


def _of_boolean(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_double(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, *rest = map(str, digits)
    fraction = "".join(rest) or "0"
    return f"{'-' * sign}{first}.{fraction}E{exponent + len(rest)}"


def _of_single(value: Any) -> str:
    if not isinstance(value, float) or not math.isfinite(value):
        return _of_double(value)
    try:
        return _of_double(shortest_single(value))
    except OverflowError:
        return _of_double(value)


def _of_timestamp(value: Any) -> str:
    if not isinstance(value, datetime):
        return str(value)
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    text = value.isoformat(" ")
    return text.rstrip("0") if value.microsecond else f"{text}.0"


def _of_instant(value: Any) -> str:
    if not isinstance(value, Instant):
        return str(value)
    moment = datetime.fromtimestamp(value.seconds, UTC).replace(tzinfo=None)
    fraction = f"{value.nanos:09d}"
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{moment.isoformat()}{'.' * bool(fraction)}{fraction}Z"


_TEXTS: Final[dict[BasicType, Callable[[Any], str]]] = {
    BasicType.BOOLEAN: _of_boolean,
    BasicType.FLOAT: _of_single,
    BasicType.DOUBLE: _of_double,
    BasicType.INSTANT: _of_instant,
}
