from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
from penstock.datastream.formats.parquet import AvroParquetReaders, AvroParquetWriters
from penstock.errors import InvalidArgumentError, SourceNotReadableError, UnsupportedTypeError

SCHEMA = AvroSchema.parse_string(
    """
    {"type": "record", "name": "Event", "fields": [
        {"name": "id", "type": "int"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": ["null", {"type": "map", "values": "long"}]},
        {"name": "unit", "type": "string", "default": "ms"}
    ]}
    """
)
RECORDS = [
    {"id": 1, "tags": ["a"], "counts": {"x": 1}, "unit": "s"},
    {"id": 2, "tags": [], "counts": None, "unit": "ms"},
]


def read(file: io.BytesIO, schema: AvroSchema = SCHEMA) -> list[Any]:
    file.seek(0)
    blocks = AvroParquetReaders.for_generic_record(schema).read(file, "a.parquet")
    return [value for block in blocks for value in block.values]


def test_it_reads_what_the_writer_writes() -> None:
    file = io.BytesIO()
    writer = AvroParquetWriters.for_generic_record(SCHEMA).create(file)
    for record in RECORDS:
        writer.add_element(record)
    writer.finish()

    assert read(io.BytesIO(file.getvalue())) == RECORDS
    assert AvroParquetReaders.for_generic_record(SCHEMA).produced_type == GenericRecordAvroTypeInfo(
        SCHEMA
    )


def test_a_field_that_is_not_there_has_its_default() -> None:
    file = io.BytesIO()
    tags = pa.array([["a"]], pa.list_(pa.string()))
    counts = pa.array([None], pa.map_(pa.string(), pa.int64()))
    pq.write_table(pa.table({"tags": tags, "more": [1], "counts": counts, "id": [1]}), file)

    (record,) = read(file)
    assert record == {"id": 1, "tags": ["a"], "counts": None, "unit": "ms"}


def test_each_record_has_defaults_of_its_own() -> None:
    schema = AvroSchema.parse_string(
        """
        {"type": "record", "name": "Event", "fields": [
            {"name": "id", "type": "int"},
            {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["a"]},
            {"name": "data", "type": "bytes", "default": "\\u00ff"}
        ]}
        """
    )
    file = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2]}), file)

    first, second = read(file, schema)
    assert first == {"id": 1, "tags": ["a"], "data": b"\xff"}
    assert first["tags"] is not second["tags"]


def test_a_field_may_be_always_null() -> None:
    fields = '[{"name": "id", "type": "int"}, {"name": "none", "type": "null"}]'
    schema = AvroSchema.parse_string(f'{{"type": "record", "name": "R", "fields": {fields}}}')
    file = io.BytesIO()
    writer = AvroParquetWriters.for_generic_record(schema).create(file)
    writer.add_element({"id": 1, "none": None})
    writer.finish()
    of_flink = io.BytesIO()
    pq.write_table(pa.table({"id": [1]}), of_flink)

    expected = [{"id": 1, "none": None}]
    assert read(io.BytesIO(file.getvalue()), schema) == expected == read(of_flink, schema)


@pytest.mark.parametrize("columns", [{"unit": ["s"]}, {"id": ["x"]}])
def test_what_holds_no_such_records_is_told(columns: dict[str, list[Any]]) -> None:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)

    with pytest.raises(SourceNotReadableError, match=r"The file 'a.parquet' holds no records"):
        read(file)


def test_what_no_column_holds_is_refused_at_once() -> None:
    with pytest.raises(UnsupportedTypeError):
        AvroParquetReaders.for_generic_record(AvroSchema.parse_string('"long"'))
    no_schema: Any = "long"
    with pytest.raises(InvalidArgumentError, match="'long' is no Avro schema"):
        AvroParquetReaders.for_generic_record(no_schema)
