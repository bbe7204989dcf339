from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import pytest

from penstock.common.typeinfo.arrow_types import to_arrow_type
from penstock.common.typeinfo.basic_typeinfo import PickledBytesTypeInfo
from penstock.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
from penstock.errors import FastavroNotFoundError, InvalidArgumentError

EVENT = {"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}


def test_a_schema_is_its_text(tmp_path: Path) -> None:
    file = tmp_path / "event.avsc"
    file.write_text(json.dumps(EVENT, indent=2))
    schema = AvroSchema.parse_file(str(file))
    assert schema == AvroSchema.parse_string(json.dumps(EVENT)) != AvroSchema('"long"')
    assert hash(schema) == hash(AvroSchema(json.dumps(EVENT)))
    assert json.loads(str(schema)) == schema.definition() == EVENT
    assert pickle.loads(pickle.dumps(schema)) == schema


@pytest.mark.parametrize(
    "text",
    ["", "{", "5", '{"type": "record"}', '{"type": "array", "items": "Unknown"}', '"string '],
)
def test_what_is_no_schema_is_named_at_once(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is no schema of Avro's"):
        AvroSchema.parse_string(text)


def test_a_file_that_cannot_be_read_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"No schema can be read from .*absent.avsc"):
        AvroSchema.parse_file(str(tmp_path / "absent.avsc"))


def test_its_records_may_be_anything() -> None:
    info = GenericRecordAvroTypeInfo(AvroSchema(json.dumps(EVENT)))
    assert info.from_internal_type(info.to_internal_type({"id": 1})) == {"id": 1}
    assert to_arrow_type(info) == to_arrow_type(PickledBytesTypeInfo())
    assert (
        info == pickle.loads(pickle.dumps(info)) != GenericRecordAvroTypeInfo(AvroSchema('"long"'))
    )


def test_fastavro_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(FastavroNotFoundError, match="is not installed"):
        AvroSchema('"long"')
