from __future__ import annotations

import datetime
import io
import json
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Row
from penstock.datastream.formats.avro import AvroSchema
from penstock.datastream.formats.parquet import AvroParquetWriters
from penstock.errors import InvalidArgumentError, TypeMismatchError, UnsupportedTypeError

AT = datetime.datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001
INNER = {"type": "record", "name": "Inner", "fields": [{"name": "p", "type": ["null", "int"]}]}


def of(*fields: tuple[str, Any], **more: Any) -> AvroSchema:
    listed = [{"name": name, "type": kind, **more} for name, kind in fields]
    return AvroSchema(json.dumps({"type": "record", "name": "R", "fields": listed}))


def written(schema: AvroSchema, records: list[Any]) -> pa.Table:
    factory = pickle.loads(pickle.dumps(AvroParquetWriters.for_generic_record(schema)))
    file = io.BytesIO()
    writer = factory.create(file)
    for record in records:
        writer.add_element(record)
    writer.finish()
    return pq.read_table(file)


def test_records_become_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    fields: dict[str, tuple[Any, Any, str]] = {
        "int": ("int", 1, "int32 not null"),
        "string": (["null", "string"], None, "string"),
        "enum": ({"type": "enum", "name": "E", "symbols": ["A"]}, "A", "string not null"),
        "fixed": (
            {"type": "fixed", "name": "F", "size": 2},
            b"ab",
            "fixed_size_binary[2] not null",
        ),
        "array": (
            {"type": "array", "items": ["null", "long"]},
            [1, None],
            "list<element: int64> not null",
        ),
        "map": (
            {"type": "map", "values": "double"},
            {"a": 1.5},
            "map<string, double> not null",
        ),
        "record": (INNER, {"p": 5}, "struct<p: int32> not null"),
        "again": ("Inner", {"p": None}, "struct<p: int32> not null"),
        "decimal": (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            Decimal("1.50"),
            "decimal128(9, 2) not null",
        ),
        "date": ({"type": "int", "logicalType": "date"}, AT.date(), "date32[day] not null"),
        "time": ({"type": "int", "logicalType": "time-millis"}, AT.time(), "time32[ms] not null"),
        "at": (
            {"type": "long", "logicalType": "timestamp-micros"},
            AT,
            "timestamp[us, tz=UTC] not null",
        ),
        "local": (
            {"type": "long", "logicalType": "local-timestamp-millis"},
            AT,
            "timestamp[ms] not null",
        ),
    }
    schema = of(*((name, kind) for name, (kind, _, _) in fields.items()))
    values = {name: value for name, (_, value, _) in fields.items()}
    found = written(schema, [values, Row(*values.values())])
    columns = [str(field).partition(": ")[2].rstrip(">") for field in found.schema]
    columns[5] = columns[5].replace(" ('map')", "")  # the name that Parquet gives it
    assert columns == [expected for _, _, expected in fields.values()]
    expected = values | {"at": AT.replace(tzinfo=datetime.UTC), "map": [("a", 1.5)]}
    assert found.to_pylist() == [expected] * 2
    assert found.schema.metadata[b"parquet.avro.schema"] == str(schema).encode()


def test_what_is_missing_has_its_default() -> None:
    schema = of(("a", "string"), default="x")
    assert written(schema, [{}, {"a": "y"}]).to_pylist() == [{"a": "x"}, {"a": "y"}]
    assert written(of(("a", "bytes"), default="\u00ff"), [{}]).to_pylist() == [{"a": b"\xff"}]


def test_a_record_not_of_the_schema_is_an_error() -> None:
    for record in [{}, {"a": 1.5}, {"a": None}, "x", (1, 2)]:
        with pytest.raises(TypeMismatchError, match="is no "):
            written(of(("a", "int")), [record])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (of(("a", ["int", "string"])), "A union has several types"),
        (of(("a", ["null", "R"])), "'R' contains itself"),
        (AvroSchema('"long"'), "is no schema of records"),
    ],
)
def test_what_no_column_can_hold_is_refused(schema: AvroSchema, message: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=message):
        AvroParquetWriters.for_generic_record(schema)


def test_a_schema_is_needed() -> None:
    with pytest.raises(InvalidArgumentError, match="'event' is no Avro schema"):
        AvroParquetWriters.for_generic_record("event")  # type: ignore[arg-type]
