"""JSON of values whose type is known, and values of JSON, in the forms that Flink has for them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

from penstock.common.rows.row_values import row_fields
from penstock.common.typeinfo.basic_typeinfo import BasicType, BasicTypeInfo
from penstock.common.typeinfo.composite_typeinfo import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    SequenceTypeInfo,
)
from penstock.common.typeinfo.java_text import java_text_of
from penstock.common.typeinfo.time_typeinfo import TimestampTypeInfo, TimeTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation, WrappingTypeInfo
from penstock.common.types import row_of
from penstock.datastream.formats.scalars import (
    BYTES,
    instant_of,
    text_of,
    text_of_time,
    text_of_timestamp,
    time_of,
    timestamp_of,
    value_of,
    whole_of,
)
from penstock.errors import UnsupportedTypeError

Write = Callable[[Any], str]
Read = Callable[[Any], Any]

_string: Final = json.JSONEncoder(ensure_ascii=False).encode
_COMPACT: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False
).encode
_LIMITED: Final = {BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG}
_BARE: Final = {*_LIMITED, BasicType.BOOLEAN, BasicType.BIG_INT, BasicType.BIG_DEC}
_FLOATS: Final = (BasicType.FLOAT, BasicType.DOUBLE)
_LONGEST: Final = 40
"""How many digits a whole number may have that is written with an exponent."""
_AS_IT_IS: Final[dict[BasicType, type]] = {
    BasicType.STRING: str,
    BasicType.BOOLEAN: bool,
    BasicType.DOUBLE: float,
    BasicType.BIG_INT: int,
    BasicType.BIG_DEC: Decimal,
}


def writer_of(kind: TypeInformation) -> Write:
    """Return what makes JSON of a type's values, which are of that type, or None.

    Raises:
        UnsupportedTypeError: If JSON has nothing for the type.
    """
    write = _writer_of(kind)
    return lambda value: "null" if value is None else write(value)


def _writer_of(kind: TypeInformation) -> Write:
    if isinstance(kind, RowTypeInfo):
        return object_writer(kind)
    if isinstance(kind, MapTypeInfo):
        return _map_writer(kind)
    if isinstance(kind, SequenceTypeInfo) and kind != BYTES:
        element = writer_of(kind.element_type)
        return lambda value: f"[{','.join(map(element, value))}]"
    if isinstance(kind, TimestampTypeInfo):
        return lambda value: f'"{text_of_timestamp(value, "T")}Z"'
    if isinstance(kind, TimeTypeInfo):
        return lambda value: f'"{text_of_time(value)}Z"'
    if isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.INSTANT:
        text_of_instant = java_text_of(kind)
        return lambda value: f'"{text_of_instant(value)}"'
    if isinstance(kind, WrappingTypeInfo):
        return _writer_of(kind.type_info)
    text = text_of(kind)
    if text is None:
        raise _unsupported(kind)
    if isinstance(kind, BasicTypeInfo) and kind.basic_type in _FLOATS:
        # JSON has no NaN, and no infinities.
        return lambda value: text(value) if math.isfinite(value) else _string(text(value))
    if isinstance(kind, BasicTypeInfo) and kind.basic_type in _BARE:
        return text
    return lambda value: _string(text(value))


def object_writer(kind: RowTypeInfo) -> Write:
    """Return what makes a JSON object of rows. Their fields are checked."""
    names, kinds = kind.get_field_names(), kind.get_field_types()
    fields = [
        (f"the field {name!r}", f"{_string(name)}:", field, writer_of(field))
        for name, field in zip(names, kinds, strict=True)
    ]

    def write(row: Any) -> str:
        parts = []
        for value, (where, label, field, writer) in zip(
            row_fields(row, names), fields, strict=True
        ):
            field.check(value, where)
            parts.append(label + writer(value))
        return f"{{{','.join(parts)}}}"

    return write


def _map_writer(kind: MapTypeInfo) -> Write:
    key, item = text_of(kind.key_type_info), writer_of(kind.value_type_info)
    if key is None:
        raise _unsupported(kind.key_type_info, "the keys of a JSON object")

    def write(value: Any) -> str:
        pairs = [f"{_string(key(name))}:{item(value)}" for name, value in value.items()]
        return f"{{{','.join(pairs)}}}"

    return write


def reader_of(
    kind: TypeInformation, *, fails_on_missing: bool = False, ignores_errors: bool = False
) -> Read:
    """Return what makes a type's value of what `json` reads, or None of None.

    It raises a `ValueError` if that is none of the type's values.

    Args:
        kind: The type.
        fails_on_missing: Whether an object has to have all fields of a row.
        ignores_errors: Whether a field of a row is None whose value is none of its type's.

    Raises:
        UnsupportedTypeError: If JSON has nothing for the type.
    """
    read = _reader_of(kind, fails_on_missing=fails_on_missing, ignores_errors=ignores_errors)
    as_it_is = _AS_IT_IS.get(kind.basic_type) if isinstance(kind, BasicTypeInfo) else None
    if as_it_is is None:
        return lambda node: None if node is None else read(node)
    return lambda node: node if node is None or type(node) is as_it_is else read(node)


def _reader_of(kind: TypeInformation, **options: bool) -> Read:
    if isinstance(kind, RowTypeInfo):
        return _object_reader(kind, **options)
    if isinstance(kind, MapTypeInfo):
        return _map_reader(kind, **options)
    if isinstance(kind, SequenceTypeInfo) and kind != BYTES:
        return _list_reader(kind, **options)
    if isinstance(kind, TimestampTypeInfo):
        return _of_string(lambda text: timestamp_of(text, "T", "Z"), kind)
    if isinstance(kind, TimeTypeInfo):
        return _of_string(lambda text: time_of(text, "Z"), kind)
    if isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.INSTANT:
        return _of_string(lambda text: instant_of(text, "T", "Z"), kind)
    if isinstance(kind, WrappingTypeInfo):
        return _reader_of(kind.type_info, **options)
    value = value_of(kind)
    if value is None:
        raise _unsupported(kind)
    return (
        _scalar_reader(kind, value) if isinstance(kind, BasicTypeInfo) else _of_string(value, kind)
    )


def _scalar_reader(kind: BasicTypeInfo, value: Read) -> Read:
    is_text = kind.basic_type in {BasicType.STRING, BasicType.CHAR}
    is_limited = kind.basic_type in _LIMITED

    def read(node: Any) -> Any:
        if is_limited and type(node) is int:
            return whole_of(node, kind)
        if isinstance(node, str):
            return value(node)
        if is_text:
            return value(_COMPACT(node) if not isinstance(node, Decimal) else str(node))
        if isinstance(node, (dict, list, bool)):
            raise _mismatch(node, repr(kind))
        return value(_plain(node))

    return read


def _plain(node: Any) -> str:
    """Return a number as text that has no exponent if it is whole."""
    if not isinstance(node, int) and math.isfinite(node) and Decimal(node).adjusted() < _LONGEST:
        whole = int(node)
        return str(whole) if whole == node else str(node)
    return str(node)


def _of_string(value: Callable[[str], Any], kind: TypeInformation) -> Read:
    def read(node: Any) -> Any:
        if not isinstance(node, str):
            raise _mismatch(node, repr(kind))
        return value(node)

    return read


def _list_reader(kind: SequenceTypeInfo, **options: bool) -> Read:
    element = reader_of(kind.element_type, **options)
    needs_all = isinstance(kind, PrimitiveArrayTypeInfo)

    def read(node: Any) -> Any:
        if not isinstance(node, list) or (needs_all and None in node):
            raise _mismatch(node, repr(kind))
        return [element(item) for item in node]

    return read


def _map_reader(kind: MapTypeInfo, **options: bool) -> Read:
    key, item = value_of(kind.key_type_info), reader_of(kind.value_type_info, **options)
    if key is None:
        raise _unsupported(kind.key_type_info, "the keys of a JSON object")

    def read(node: Any) -> Any:
        if not isinstance(node, dict):
            raise _mismatch(node, repr(kind))
        return {key(name): item(value) for name, value in node.items()}

    return read


def _object_reader(kind: RowTypeInfo, *, fails_on_missing: bool, ignores_errors: bool) -> Read:
    names = tuple(kind.get_field_names())
    readers = [
        reader_of(field, fails_on_missing=fails_on_missing, ignores_errors=ignores_errors)
        for field in kind.get_field_types()
    ]

    def field(node: dict[str, Any], name: str, read: Read) -> Any:
        if fails_on_missing and name not in node:
            raise ValueError(f"it has no field {name!r}")
        try:
            return read(node.get(name))
        except ValueError as error:
            if ignores_errors:
                return None
            raise ValueError(f"field {name!r}: {error}") from None

    pairs = list(zip(names, readers, strict=True))

    def read(node: Any) -> Any:
        if not isinstance(node, dict):
            raise _mismatch(node, "JSON object")
        if not fails_on_missing:
            with suppress(ValueError):
                return row_of(names, tuple([one(node.get(name)) for name, one in pairs]))
        # Once more, for a field that is none, or for what is wrong with it.
        return row_of(names, tuple([field(node, name, one) for name, one in pairs]))

    return read


def holds_decimals(kind: TypeInformation) -> bool:
    """Whether a type has decimal numbers in it, which a float would not hold exactly."""
    if isinstance(kind, RowTypeInfo):
        return any(map(holds_decimals, kind.get_field_types()))
    if isinstance(kind, MapTypeInfo):
        return holds_decimals(kind.value_type_info)
    if isinstance(kind, SequenceTypeInfo):
        return holds_decimals(kind.element_type)
    if isinstance(kind, WrappingTypeInfo):
        return holds_decimals(kind.type_info)
    return isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.BIG_DEC


def _mismatch(node: Any, what: str) -> ValueError:
    return ValueError(f"{_COMPACT(node)} is no {what}")


def _unsupported(kind: TypeInformation, what: str = "a value in JSON") -> UnsupportedTypeError:
    return UnsupportedTypeError(
        f"{kind!r} cannot be the type of {what}.",
        hint="Give rows, maps with scalar keys, lists, arrays, strings, numbers, booleans, dates and times.",
    )
