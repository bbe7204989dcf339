from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.datastream.formats.csv import CsvBulkWriters, CsvSchema, CsvSchemaBuilder
from penstock.errors import InvalidArgumentError, TypeMismatchError

ROWS = [
    (1, "a b", ["x", "y"], True, 1.5),
    Row(None, None, None, None, None),
    {"name": "", "id": 3, "list": [], "flag": False, "f": 0.5},
    Row(f0=4, f1='q"q,', f2=["a;b", ""], f3=False, f4=-0.0),
]


def some() -> CsvSchemaBuilder:
    return (
        CsvSchema.builder()
        .add_number_column("id", number_type=Types.INT())
        .add_string_column("name")
        .add_array_column("list", ",")
        .add_boolean_column("flag")
        .add_number_column("f", number_type=Types.DOUBLE())
    )


def written(builder: CsvSchemaBuilder, rows: list[Any]) -> str:
    factory = pickle.loads(pickle.dumps(CsvBulkWriters.for_schema(builder.build())))
    file = io.BytesIO()
    writer = factory.create(file)
    for row in rows:
        writer.add_element(row)
    writer.finish()
    return file.getvalue().decode()


PLAIN = '1,"a b","x,y",true,1.5\n,,,,\n3,,,false,0.5\n4,"q""q,","a;b,",false,-0.0\n'
PIPES = (
    '1|"a b"|"x,y"|true|1.5\r\nNULL|NULL|NULL|NULL|NULL\r\n3|||false|0.5\r\n'
    '4|"q""q,"|"a;b,"|false|-0.0\r\n'
)


# What PyFlink 2.3 writes for the same.
@pytest.mark.parametrize(
    ("builder", "expected"),
    [
        (some(), PLAIN),
        (some().set_use_header(), f"id,name,list,flag,f\n{PLAIN}"),
        (some().set_array_element_separator("/"), PLAIN),
        (
            some().set_column_separator("|").set_null_value("NULL").set_line_separator("\r\n"),
            PIPES,
        ),
    ],
)
def test_files_are_as_flink_writes_them(builder: CsvSchemaBuilder, expected: str) -> None:
    assert written(builder, ROWS) == expected


def test_arrays_need_something_between_their_elements() -> None:
    builder = some().remove_array_element_separator(2).disable_array_element_separator()
    with pytest.raises(TypeMismatchError, match="'' cannot stand between its elements"):
        written(builder, ROWS[:1])


def test_a_factory_tells_its_columns() -> None:
    assert CsvBulkWriters.for_schema(some().build()).get_row_type() == some().build().type_info
    with pytest.raises(InvalidArgumentError, match="'id' is no schema of CSV"):
        CsvBulkWriters.for_schema("id")  # type: ignore[arg-type]
