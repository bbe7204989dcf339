"""What a database is given for a value of a declared type."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, Final

from penstock.common.typeinfo.basic_typeinfo import BasicType, BasicTypeInfo, InstantTypeInfo
from penstock.common.typeinfo.composite_typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    SequenceTypeInfo,
)
from penstock.common.typeinfo.time_typeinfo import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.connectors.databases.client import DatabaseClient
from penstock.errors import UnsupportedTypeError

Conversion = Callable[[Any], Any]

# A number of another kind, as NumPy's, becomes Python's: no client knows the others.
_BASIC: Final[dict[BasicType, Conversion]] = {
    BasicType.BOOLEAN: bool,
    BasicType.BYTE: int,
    BasicType.SHORT: int,
    BasicType.INT: int,
    BasicType.LONG: int,
    BasicType.FLOAT: float,
    BasicType.DOUBLE: float,
}
_ARRAYS: Final = (BasicArrayTypeInfo, PrimitiveArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)


def conversion(type_info: TypeInformation, client: DatabaseClient) -> Conversion:
    """Return what turns a value that is not None into a parameter of a client.

    Raises:
        UnsupportedTypeError: If no column of a database has such a type.
    """
    if isinstance(type_info, LocalTimeTypeInfo):
        return conversion(type_info.type_info, client)
    if type_info == BasicTypeInfo.BIG_INT_TYPE_INFO():
        return lambda value: client.parameter(int(value))
    if isinstance(type_info, BasicTypeInfo) and not isinstance(type_info, InstantTypeInfo):
        to_python = _BASIC.get(type_info.basic_type)
        return client.parameter if to_python is None else to_python
    if isinstance(type_info, DateTypeInfo):
        return lambda value: client.parameter(_date(value))
    if isinstance(type_info, TimeTypeInfo | TimestampTypeInfo):
        return client.parameter
    if type_info == PrimitiveArrayTypeInfo(BasicTypeInfo.BYTE_TYPE_INFO()):
        return bytes
    if isinstance(type_info, _ARRAYS):
        return _array(type_info, client)
    raise UnsupportedTypeError(
        f"A column of a database cannot be of the type {type_info!r}.",
        hint="Declare basic types, dates, times, timestamps, and arrays of them; turn all else into one of "
        "them in a map() before the sink.",
    )


def _array(type_info: SequenceTypeInfo, client: DatabaseClient) -> Conversion:
    if not client.has_arrays:
        raise UnsupportedTypeError(
            f"The database has no arrays, as {type_info!r} would be.",
            hint="Turn the array into a text in a map() before the sink, as by json.dumps.",
        )
    convert = conversion(type_info.element_type, client)
    return lambda values: [None if value is None else convert(value) for value in values]


def _date(value: datetime.date) -> datetime.date:
    return value.date() if isinstance(value, datetime.datetime) else value
