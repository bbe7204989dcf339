from __future__ import annotations

import re
import subprocess
import sys
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.time import Instant
from penstock.common.typeinfo import (
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    TypeInformation,
    Types,
)
from penstock.common.typeinfo.arrow_types import (
    from_arrow_schema,
    from_arrow_type,
    to_arrow_schema,
    to_arrow_type,
)
from penstock.common.types import row_of
from penstock.errors import UnsupportedTypeError

TimeType = LocalTimeTypeInfo.TimeType

SCALARS: dict[TypeInformation, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    Types.STRING(): (pa.string(), st.text()),
    Types.BYTE(): (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    Types.BOOLEAN(): (pa.bool_(), st.booleans()),
    Types.SHORT(): (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    Types.INT(): (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    Types.LONG(): (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    Types.FLOAT(): (pa.float32(), st.floats(width=32, allow_nan=False)),
    Types.DOUBLE(): (pa.float64(), st.floats(allow_nan=False)),
    Types.CHAR(): (pa.string(), st.characters(exclude_categories=["Cs"])),
    Types.BIG_INT(): (pa.decimal128(38, 0), st.integers(-(10**38) + 1, 10**38 - 1)),
    Types.BIG_DEC(): (
        pa.decimal128(38, 18),
        st.decimals(-(10**19), 10**19, allow_nan=False, places=18),
    ),
    Types.INSTANT(): (
        pa.timestamp("us", tz="UTC"),
        st.integers(-(10**12), 10**12).map(Instant.of_epoch_milli),
    ),
    Types.SQL_DATE(): (pa.date32(), st.dates()),
    Types.SQL_TIME(): (pa.time64("us"), st.times()),
    Types.SQL_TIMESTAMP(): (pa.timestamp("us"), st.datetimes()),
    Types.PICKLED_BYTE_ARRAY(): (pa.binary(), st.frozensets(st.integers())),
    Types.PRIMITIVE_ARRAY(Types.BYTE()): (pa.binary(), st.binary()),
}


def names(count: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.text(min_size=1), min_size=count, max_size=count, unique=True)


KINDS = st.sampled_from(["scalar", "list", "map", "tuple", "row"])
one_of_all = cache(st.sampled_from)


@cache
@st.composite
def typed_values(
    draw: st.DrawFn, depth: int = 2, scalars: tuple[TypeInformation, ...] = tuple(SCALARS)
) -> tuple[TypeInformation, Any]:
    """A type, however nested, and a value of it or None."""
    kind = draw(KINDS) if depth else "scalar"
    if kind == "scalar":
        info = draw(one_of_all(scalars))
        value = draw(SCALARS[info][1])
        return info, value
    if kind == "list":
        element, value = draw(typed_values(depth - 1, scalars))
        return Types.LIST(element), [value] * draw(st.integers(0, 3))
    if kind == "map":
        element, value = draw(typed_values(depth - 1, scalars))
        return Types.MAP(Types.STRING(), element), draw(
            st.dictionaries(st.text(), st.just(value) | st.none(), max_size=3)
        )
    parts = draw(st.lists(typed_values(depth - 1, scalars), min_size=1, max_size=3))
    types, values = [info for info, _ in parts], tuple(value for _, value in parts)
    if kind == "tuple":
        return Types.TUPLE(types), draw(st.just(values) | st.none())
    fields = draw(names(len(parts)))
    return Types.ROW_NAMED(fields, types), row_of(tuple(fields), values)


def stored(array: pa.Array) -> Any:
    """What the only element of a column is when read as it is stored: times as numbers."""
    return as_stored(array.type, array[0])


def as_stored(kind: pa.DataType, scalar: pa.Scalar) -> Any:
    if not scalar.is_valid:
        return None
    if pa.types.is_struct(kind):
        return tuple(as_stored(field.type, scalar[i]) for i, field in enumerate(kind))
    if pa.types.is_map(kind):
        keys, items = scalar.values.field(0), scalar.values.field(1)
        return [
            (as_stored(kind.key_type, key), as_stored(kind.item_type, item))
            for key, item in zip(keys, items, strict=True)
        ]
    if pa.types.is_list(kind):
        return [as_stored(kind.value_type, element) for element in scalar]
    return scalar.value if pa.types.is_temporal(kind) else scalar.as_py()


@given(typed_values())
def test_columns_hold_the_stored_forms(typed: tuple[TypeInformation, Any]) -> None:
    info, value = typed
    info.check(value)
    column = pa.array([info.to_internal_type(value)], type=to_arrow_type(info))

    assert info.from_internal_type(stored(column)) == value


@pytest.mark.parametrize(("info", "arrow_type"), [(i, a) for i, (a, _) in SCALARS.items()])
def test_scalars_have_these_types(info: TypeInformation, arrow_type: pa.DataType) -> None:
    assert to_arrow_type(info) == arrow_type
    assert to_arrow_type(ExternalTypeInfo(info)) == arrow_type


@pytest.mark.parametrize(
    ("info", "arrow_type"),
    [
        (Types.LIST(Types.INT()), pa.list_(pa.int32())),
        (Types.OBJECT_ARRAY(Types.SQL_DATE()), pa.list_(pa.date32())),
        (Types.BASIC_ARRAY(Types.BYTE()), pa.list_(pa.int8())),
        (Types.PRIMITIVE_ARRAY(Types.LONG()), pa.list_(pa.int64())),
        (Types.MAP(Types.STRING(), Types.INT()), pa.map_(pa.string(), pa.int32())),
        (Types.TUPLE([Types.INT()]), pa.struct([("f0", pa.int32())])),
        (Types.ROW([Types.INT()]), pa.struct([("f0", pa.int32())])),
        (Types.ROW_NAMED(["a"], [Types.INT()]), pa.struct([("a", pa.int32())])),
        (LocalTimeTypeInfo(TimeType.LOCAL_DATE), pa.date32()),
        (LocalTimeTypeInfo(TimeType.LOCAL_TIME), pa.time64("us")),
        (LocalTimeTypeInfo(TimeType.LOCAL_DATE_TIME), pa.timestamp("us")),
    ],
)
def test_composites_have_these_types(info: TypeInformation, arrow_type: pa.DataType) -> None:
    assert to_arrow_type(info) == arrow_type


def test_rows_make_a_schema() -> None:
    info = Types.ROW_NAMED(["id", "tags"], [Types.LONG(), Types.LIST(Types.STRING())])
    schema = pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string()))])

    assert to_arrow_schema(info) == schema
    assert repr(from_arrow_schema(schema)) == repr(info)


def test_a_type_of_the_users_own_has_none() -> None:
    class Own(TypeInformation):
        def _identity(self) -> object:
            return ()

    with pytest.raises(UnsupportedTypeError, match="has no Arrow type"):
        to_arrow_type(Own())


@pytest.mark.parametrize(
    ("arrow_type", "info"),
    [
        (pa.uint8(), Types.SHORT()),
        (pa.uint16(), Types.INT()),
        (pa.uint32(), Types.LONG()),
        (pa.uint64(), Types.BIG_INT()),
        (pa.float16(), Types.FLOAT()),
        (pa.large_string(), Types.STRING()),
        (pa.string_view(), Types.STRING()),
        (pa.large_binary(), Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (pa.binary(16), Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (pa.decimal128(10, 2), Types.BIG_DEC()),
        (pa.decimal256(60, 2), Types.BIG_DEC()),
        (pa.date64(), Types.SQL_DATE()),
        (pa.time32("ms"), Types.SQL_TIME()),
        (pa.timestamp("ns"), Types.SQL_TIMESTAMP()),
        (pa.timestamp("s", tz="Europe/Berlin"), Types.INSTANT()),
        (pa.dictionary(pa.int32(), pa.string()), Types.STRING()),
        (pa.run_end_encoded(pa.int32(), pa.int64()), Types.LONG()),
        (pa.large_list(pa.int8()), Types.LIST(Types.BYTE())),
        (pa.list_(pa.int8(), 3), Types.LIST(Types.BYTE())),
        (pa.map_(pa.string(), pa.bool_()), Types.MAP(Types.STRING(), Types.BOOLEAN())),
    ],
)
def test_other_arrow_types_become_the_narrowest_that_holds_them(
    arrow_type: pa.DataType, info: TypeInformation
) -> None:
    assert from_arrow_type(arrow_type) == info


@given(typed_values(scalars=tuple(info for info in SCALARS if info != Types.BIG_INT())))
def test_an_arrow_type_survives_the_way_there_and_back(typed: tuple[TypeInformation, Any]) -> None:
    arrow_type = to_arrow_type(typed[0])

    assert to_arrow_type(from_arrow_type(arrow_type)) == arrow_type


@pytest.mark.parametrize("arrow_type", [pa.null(), pa.duration("s"), pa.month_day_nano_interval()])
def test_types_without_counterpart_are_refused(arrow_type: pa.DataType) -> None:
    with pytest.raises(UnsupportedTypeError, match=re.escape(str(arrow_type))):
        from_arrow_schema(pa.schema([("a", arrow_type)]))


def test_pyarrow_is_not_imported_before_it_is_needed() -> None:
    program = "import sys, penstock.common.typeinfo.arrow_types; sys.exit('pyarrow' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_typical_values_are_read_back_by_arrow_as_they_were() -> None:
    info = Types.ROW_NAMED(
        ["day", "at", "clock", "price"],
        [Types.SQL_DATE(), Types.SQL_TIMESTAMP(), Types.SQL_TIME(), Types.BIG_DEC()],
    )
    value = (
        date(2013, 1, 1),
        datetime.fromisoformat("2013-01-01T05:15"),
        time(5, 15),
        Decimal("1.5"),
    )
    column = pa.array([info.to_internal_type(value)], type=to_arrow_type(info))

    assert tuple(column.to_pylist()[0].values()) == value
