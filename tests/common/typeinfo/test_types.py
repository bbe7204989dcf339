from __future__ import annotations

import pickle

import pytest

from penstock.common import typeinfo
from penstock.common.typeinfo import Types

SIMPLE = {
    "STRING": "String",
    "BYTE": "Byte",
    "BOOLEAN": "Boolean",
    "SHORT": "Short",
    "INT": "Integer",
    "LONG": "Long",
    "FLOAT": "Float",
    "DOUBLE": "Double",
    "CHAR": "Char",
    "BIG_INT": "BigInteger",
    "BIG_DEC": "BigDecimal",
    "INSTANT": "Instant",
    "SQL_DATE": "DateTypeInfo",
    "SQL_TIME": "TimeTypeInfo",
    "SQL_TIMESTAMP": "TimestampTypeInfo",
    "PICKLED_BYTE_ARRAY": "PickledByteArrayTypeInfo",
}


@pytest.mark.parametrize(("name", "text"), SIMPLE.items())
def test_makes_the_type_of_that_name(name: str, text: str) -> None:
    info = getattr(Types, name)()

    assert repr(info) == text
    assert info == getattr(Types, name)()


def test_makes_types_of_types() -> None:
    info = Types.ROW_NAMED(
        ["a", "b"],
        [Types.TUPLE([Types.INT()]), Types.MAP(Types.STRING(), Types.LIST(Types.ROW([])))],
    )

    assert repr(info) == (
        "RowTypeInfo(a: TupleTypeInfo(Integer), "
        "b: MapTypeInfo<String, ListTypeInfo<RowTypeInfo()>>)"
    )
    assert pickle.loads(pickle.dumps(info)) == info
    assert repr(pickle.loads(pickle.dumps(info))) == repr(info)


def test_all_names_are_there() -> None:
    assert all(hasattr(typeinfo, name) for name in typeinfo.__all__)
