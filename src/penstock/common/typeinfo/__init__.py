"""Descriptions of types: `Types`, the classes behind it, and what they are in Arrow.

Programs import from here, as from PyFlink's module of that name.
"""

from __future__ import annotations

from penstock.common.typeinfo.basic_typeinfo import (
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    InstantTypeInfo,
    PickledBytesTypeInfo,
)
from penstock.common.typeinfo.composite_typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from penstock.common.typeinfo.time_typeinfo import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "ExternalTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]
