from __future__ import annotations

import datetime
import io
import json
import pickle
from typing import Any

import fastavro
import pytest

from penstock.common import Row
from penstock.datastream.formats.avro import AvroBulkWriters, AvroSchema
from penstock.errors import InvalidArgumentError, TypeMismatchError

EVENT = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
    ],
}
AT = datetime.datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001


def written(records: list[Any]) -> list[Any]:
    schema = AvroSchema(json.dumps(EVENT))
    factory = pickle.loads(pickle.dumps(AvroBulkWriters.for_generic_record(schema)))
    file = io.BytesIO()
    writer = factory.create(file)
    for record in records:
        writer.add_element(record)
    writer.finish()
    file.seek(0)
    reader = fastavro.reader(file)
    assert reader.codec == "null"
    return list(reader)


def test_records_are_read_by_anyone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    records = [
        {"id": 1, "tags": ["a", "b"], "at": AT},
        Row(id=2, tags=[], at=None),
        Row(f0=3, f1=["c"], f2=AT),
        (4, [], None),
    ]
    assert written(records) == [
        {"id": 1, "tags": ["a", "b"], "at": AT.replace(tzinfo=datetime.UTC)},
        {"id": 2, "tags": [], "at": None},
        {"id": 3, "tags": ["c"], "at": AT.replace(tzinfo=datetime.UTC)},
        {"id": 4, "tags": [], "at": None},
    ]


def test_a_record_not_of_the_schema_is_an_error() -> None:
    with pytest.raises(TypeMismatchError, match="is no record of the Avro schema"):
        written([{"id": 1.5, "tags": [], "at": None}])


def test_a_schema_is_needed() -> None:
    with pytest.raises(InvalidArgumentError, match="'event' is no Avro schema"):
        AvroBulkWriters.for_generic_record("event")  # type: ignore[arg-type]
