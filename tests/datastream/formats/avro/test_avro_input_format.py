from __future__ import annotations

from pathlib import Path
from typing import Any

import fastavro
import pytest

from penstock.common import Types
from penstock.datastream.formats.avro import (
    AvroInputFormat,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from penstock.errors import InvalidArgumentError, SourceNotReadableError
from penstock.testing import local_environment

OLD = AvroSchema.parse_string(
    '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "int"}]}'
)
NEW = AvroSchema.parse_string(
    """
    {"type": "record", "name": "Event", "fields": [
        {"name": "id", "type": "long"}, {"name": "unit", "type": "string", "default": "ms"}
    ]}
    """
)


def write(path: Path, schema: AvroSchema, *records: Any) -> None:
    with path.open("wb") as file:
        fastavro.writer(file, schema.parsed(), records, codec="deflate")


def read(path: Path, schema: AvroSchema) -> list[Any]:
    records = local_environment(2).create_input(AvroInputFormat(path, schema))
    return sorted(records.execute_and_collect(), key=str)


def test_the_files_of_a_folder_may_have_been_written_with_another_schema(tmp_path: Path) -> None:
    write(tmp_path / "old", OLD, {"id": 1}, {"id": 2})
    write(tmp_path / "new", NEW, {"id": 3, "unit": "s"})

    assert read(tmp_path, NEW) == [
        {"id": 1, "unit": "ms"},
        {"id": 2, "unit": "ms"},
        {"id": 3, "unit": "s"},
    ]
    assert read(tmp_path / "old", OLD) == [{"id": 1}, {"id": 2}]


def test_a_default_that_a_function_changes_is_its_record_s_alone(tmp_path: Path) -> None:
    schema = AvroSchema.parse_string(
        """
        {"type": "record", "name": "Event", "fields": [
            {"name": "id", "type": "int"},
            {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []}
        ]}
        """
    )
    write(tmp_path / "old", OLD, {"id": 1}, {"id": 2})

    def tagged(record: dict[str, Any]) -> dict[str, Any]:
        record["tags"].append("x")
        return record

    records = local_environment().create_input(AvroInputFormat(tmp_path, schema)).map(tagged)
    assert [record["tags"] for record in records.execute_and_collect()] == [["x"], ["x"]]


def test_it_knows_the_type_of_its_records(tmp_path: Path) -> None:
    reader = AvroInputFormat(str(tmp_path), OLD)
    env = local_environment()

    assert env.create_input(reader).get_type() == GenericRecordAvroTypeInfo(OLD)
    assert env.create_input(reader, Types.STRING()).get_type() == Types.STRING()


def test_what_holds_no_such_records_is_told(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no record")
    write(tmp_path / "other", AvroSchema.parse_string('"string"'), "x")

    for name in ("text", "other"):
        with pytest.raises(SourceNotReadableError, match=f"{name}' holds no records of the Avro"):
            read(tmp_path / name, OLD)


def test_what_is_none_is_refused() -> None:
    anything: Any = 7
    for path, schema in ((anything, OLD), ("path", anything)):
        with pytest.raises(InvalidArgumentError, match="AvroInputFormat was given"):
            AvroInputFormat(path, schema)
    with pytest.raises(InvalidArgumentError, match="7, which is no InputFormat"):
        local_environment().create_input(anything)
