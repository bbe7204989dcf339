from __future__ import annotations

import gzip
import io
from typing import Any

import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream.connectors.file_system import FileSink, FileSource
from penstock.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvSchema,
    CsvSchemaBuilder,
)
from penstock.errors import InvalidArgumentError, SourceNotReadableError
from penstock.testing import local_environment


def builder() -> CsvSchemaBuilder:
    return CsvSchema.builder().add_number_column("id").add_string_column("name")


def read(schema: CsvSchema | CsvSchemaBuilder, text: str | bytes, path: str = "a.csv") -> list[Any]:
    made = schema.build() if isinstance(schema, CsvSchemaBuilder) else schema
    data = text.encode() if isinstance(text, str) else text
    blocks = CsvReaderFormat.for_schema(made).read(io.BytesIO(data), path)
    return [value for block in blocks for value in block.values]


def rows(*values: tuple[Any, ...]) -> list[Row]:
    return [Row(id=number, name=name) for number, name in values]


def test_rows_have_the_types_of_the_columns() -> None:
    assert read(builder(), '1,a\r\n2,"b, ""c""\nd"\n\n3,\n') == rows(
        (1, "a"), (2, 'b, "c"\nd'), (3, None)
    )
    assert CsvReaderFormat.for_schema(builder().build()).produced_type == Types.ROW_NAMED(
        ["id", "name"], [Types.LONG(), Types.STRING()]
    )


def test_lines_look_as_the_schema_says() -> None:
    schema = builder().add_array_column("tags", ",", Types.INT()).add_boolean_column("is")
    schema.set_column_separator("|").set_escape_char("\\").set_quote_char("'").set_null_value("-")
    assert read(schema, "1|'a|b'|1,2|true\n2|c\\|d|-|false\n") == [
        Row(id=1, name="a|b", tags=[1, 2], **{"is": True}),
        Row(id=2, name="c|d", tags=None, **{"is": False}),
    ]


def test_headers_comments_and_first_rows_are_passed_over() -> None:
    text = '# said\nid,name\n# more\n0,z\n1,"a\n#b"\n#c\n'
    schema = builder().set_use_header().set_strict_headers().set_allow_comments()
    assert read(schema, text) == rows((0, "z"), (1, "a\n#b"))
    assert read(schema.set_skip_first_data_row(), text) == rows((1, "a\n#b"))
    assert read(builder().set_skip_first_data_row(), "0,z\n1,a\n") == rows((1, "a"))
    assert read(builder().set_use_header(), "other,names\n1,a\n") == rows((1, "a"))


def test_what_is_in_no_column_is_in_no_row() -> None:
    assert read(builder().set_any_property_name("rest"), "1,a,b,c\n") == rows((1, "a"))


def test_files_may_be_compressed() -> None:
    assert read(builder(), gzip.compress(b"1,a\n"), "a.csv.gz") == rows((1, "a"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1,a\nx,b\n", "at line 2: field 'id'"),
        ("1,a\n2\n", "at line 2: it has 1 values, not 2"),
        ("1,a,b\n", "at line 1: it has 3 values, not 2"),
        ('1,"a\n', "at line 1: "),
        (b"1,\xff\n", "can't decode"),
    ],
)
def test_what_is_no_such_row_is_told(text: str | bytes, reason: str) -> None:
    with pytest.raises(SourceNotReadableError, match=rf"The file 'a.csv' is not .*{reason}"):
        read(builder(), text)


def test_a_strict_header_has_the_names() -> None:
    schema = builder().set_use_header().set_strict_headers()
    with pytest.raises(SourceNotReadableError, match=r"the header has the names \['id', 'nam'\]"):
        read(schema, "id,nam\n1,a\n")


def test_it_reads_what_the_writer_writes(tmp_path: Any) -> None:
    schema = builder().add_array_column("tags").set_use_header().build()
    records = [(1, "a", ["x", "y"]), (2, 'b "c", d\n', []), (3, None, None)]
    env = local_environment()
    sink = FileSink.for_bulk_format(str(tmp_path), CsvBulkWriters.for_schema(schema)).build()
    env.from_collection(records).sink_to(sink)
    env.execute()
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), tmp_path)
    stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "rows")

    # An empty array is written as nothing, as None is.
    assert list(stream.execute_and_collect()) == [
        Row(id=1, name="a", tags=["x", "y"]),
        Row(id=2, name='b "c", d\n', tags=None),
        Row(id=3, name=None, tags=None),
    ]


def test_what_is_no_schema_is_refused() -> None:
    no_schema: Any = "id,name"
    with pytest.raises(InvalidArgumentError, match="is no schema of CSV"):
        CsvReaderFormat.for_schema(no_schema)
