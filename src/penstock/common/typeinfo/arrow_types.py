"""The Arrow types of columns, from descriptions of types and back.

pyarrow is imported when one of these is first called, not before.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo.basic_typeinfo import BasicType, BasicTypeInfo, PickledBytesTypeInfo
from penstock.common.typeinfo.composite_typeinfo import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    SequenceTypeInfo,
    TupleTypeInfo,
)
from penstock.common.typeinfo.time_typeinfo import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation, WrappingTypeInfo
from penstock.common.typeinfo.types import Types
from penstock.errors import UnsupportedTypeError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_arrow_schema", "from_arrow_type", "to_arrow_schema", "to_arrow_type"]


def to_arrow_type(type_info: TypeInformation) -> pa.DataType:
    """Return the type of the column that holds such values.

    It holds what `type_info.to_internal_type` returns for them.

    Args:
        type_info: The type of the values.

    Returns:
        The Arrow type. Tuples and rows become structs, pickled objects binary.

    Raises:
        UnsupportedTypeError: If the type information is of a class that is not penstock's.

    Example:
        >>> to_arrow_type(Types.LIST(Types.INT()))
        ListType(list<item: int32>)
    """
    import pyarrow as pa

    if isinstance(type_info, WrappingTypeInfo):
        return to_arrow_type(type_info.type_info)
    if isinstance(type_info, MapTypeInfo):
        return pa.map_(
            to_arrow_type(type_info.key_type_info), to_arrow_type(type_info.value_type_info)
        )
    if isinstance(type_info, RowTypeInfo):
        return pa.struct(_arrow_fields(type_info))
    if isinstance(type_info, TupleTypeInfo):
        return pa.struct(_arrow_fields(RowTypeInfo(type_info.get_field_types())))
    if isinstance(type_info, SequenceTypeInfo) and type_info != _bytes_type_info():
        return pa.list_(to_arrow_type(type_info.element_type))
    if type_info not in _arrow_types_of_scalars():
        raise UnsupportedTypeError(
            f"{type_info!r} has no Arrow type.", hint="Use one of penstock.common.Types."
        )
    return _arrow_types_of_scalars()[type_info]


def to_arrow_schema(type_info: RowTypeInfo) -> pa.Schema:
    """Return the schema of a table that holds such rows, a column for each field.

    Args:
        type_info: The type of the rows.

    Returns:
        The Arrow schema.

    Raises:
        UnsupportedTypeError: If the type of a field is of a class that is not penstock's.

    Example:
        >>> print(to_arrow_schema(Types.ROW_NAMED(["id"], [Types.LONG()])))
        id: int64
    """
    import pyarrow as pa

    return pa.schema(_arrow_fields(type_info))


def from_arrow_type(arrow_type: pa.DataType) -> TypeInformation:
    """Return the description of the values of a column.

    Args:
        arrow_type: The column's type.

    Returns:
        The narrowest type that holds all values: unsigned integers become the next wider type
        with sign, decimals `Types.BIG_DEC()`, timestamps with time zone `Types.INSTANT()` and
        those without `Types.SQL_TIMESTAMP()`, whatever their unit.

    Raises:
        UnsupportedTypeError: If no type has such values.

    Example:
        >>> import pyarrow as pa
        >>> from_arrow_type(pa.uint8())
        Short
    """
    import pyarrow.types as kinds

    if kinds.is_dictionary(arrow_type) or kinds.is_run_end_encoded(arrow_type):
        return from_arrow_type(arrow_type.value_type)
    if kinds.is_map(arrow_type):
        return Types.MAP(
            from_arrow_type(arrow_type.key_type), from_arrow_type(arrow_type.item_type)
        )
    if kinds.is_struct(arrow_type):
        return from_arrow_schema(arrow_type)
    if hasattr(arrow_type, "value_type"):  # lists, large lists, lists of fixed size, list views
        return Types.LIST(from_arrow_type(arrow_type.value_type))
    if kinds.is_timestamp(arrow_type):
        return Types.SQL_TIMESTAMP() if arrow_type.tz is None else Types.INSTANT()
    for belongs, type_info in _scalar_kinds():
        if belongs(arrow_type):
            return type_info
    raise UnsupportedTypeError(
        f"The Arrow type {arrow_type} has no counterpart among penstock's types.",
        hint="Cast the column, or leave it out, before the frame becomes a stream.",
    )


def from_arrow_schema(schema: pa.Schema | pa.StructType) -> RowTypeInfo:
    """Return the description of the rows of a table.

    Args:
        schema: The table's schema, or a struct type.

    Returns:
        A row type with the names of the columns.

    Raises:
        UnsupportedTypeError: If a column has a type that no type information has.

    Example:
        >>> import pyarrow as pa
        >>> from_arrow_schema(pa.schema([("id", pa.int64()), ("name", pa.string())]))
        RowTypeInfo(id: Long, name: String)
    """
    fields = list(schema)
    return Types.ROW_NAMED(
        [field.name for field in fields], [from_arrow_type(field.type) for field in fields]
    )


def _arrow_fields(type_info: RowTypeInfo) -> list[pa.Field]:
    import pyarrow as pa

    fields = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
    return [pa.field(name, to_arrow_type(field_type)) for name, field_type in fields]


def _bytes_type_info() -> PrimitiveArrayTypeInfo:
    return Types.PRIMITIVE_ARRAY(Types.BYTE())


@cache
def _arrow_types_of_scalars() -> dict[TypeInformation, pa.DataType]:
    import pyarrow as pa

    basic = {
        BasicType.STRING: pa.string(),
        BasicType.BYTE: pa.int8(),
        BasicType.BOOLEAN: pa.bool_(),
        BasicType.SHORT: pa.int16(),
        BasicType.INT: pa.int32(),
        BasicType.LONG: pa.int64(),
        BasicType.FLOAT: pa.float32(),
        BasicType.DOUBLE: pa.float64(),
        BasicType.CHAR: pa.string(),
        BasicType.BIG_INT: pa.decimal128(38, 0),
        BasicType.BIG_DEC: pa.decimal128(38, 18),
    }
    return {
        **{BasicTypeInfo(basic_type): arrow_type for basic_type, arrow_type in basic.items()},
        BasicTypeInfo.INSTANT_TYPE_INFO(): pa.timestamp("us", tz="UTC"),
        DateTypeInfo(): pa.date32(),
        TimeTypeInfo(): pa.time64("us"),
        TimestampTypeInfo(): pa.timestamp("us"),
        PickledBytesTypeInfo(): pa.binary(),
        _bytes_type_info(): pa.binary(),
    }


@cache
def _scalar_kinds() -> list[tuple[Any, TypeInformation]]:
    """Return tests of Arrow types, each with the type of the values it stands for."""
    import pyarrow.types as kinds

    return [
        (kinds.is_boolean, Types.BOOLEAN()),
        (kinds.is_int8, Types.BYTE()),
        (lambda kind: kinds.is_int16(kind) or kinds.is_uint8(kind), Types.SHORT()),
        (lambda kind: kinds.is_int32(kind) or kinds.is_uint16(kind), Types.INT()),
        (lambda kind: kinds.is_int64(kind) or kinds.is_uint32(kind), Types.LONG()),
        (kinds.is_uint64, Types.BIG_INT()),
        (lambda kind: kinds.is_float16(kind) or kinds.is_float32(kind), Types.FLOAT()),
        (kinds.is_float64, Types.DOUBLE()),
        (lambda kind: "string" in str(kind), Types.STRING()),  # large ones and views as well
        (lambda kind: "binary" in str(kind), _bytes_type_info()),
        (kinds.is_decimal, Types.BIG_DEC()),
        (kinds.is_date, Types.SQL_DATE()),
        (kinds.is_time, Types.SQL_TIME()),
    ]
