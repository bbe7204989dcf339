from __future__ import annotations

import pickle

import pytest
from tests.servers.schema_registry import FakeSchemaRegistry

from penstock.common import Row, Types
from penstock.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.datastream.formats.registry import (
    ConfluentRegistryJsonDeserializationSchema,
    ConfluentRegistryJsonSerializationSchema,
)
from penstock.errors import InvalidArgumentError, MalformedMessageError, NoSchemaIdError

IDS = Types.ROW_NAMED(["id"], [Types.INT()])
TEXT = '{"type": "object", "properties": {"id": {"type": "integer"}}}'
WRITER = JsonRowSerializationSchema.builder().with_type_info(IDS).build()
READER = JsonRowDeserializationSchema.builder().type_info(IDS).build()


@pytest.mark.parametrize("id_bytes", [4, 8])
def test_what_was_written_is_read(registry: FakeSchemaRegistry, id_bytes: int) -> None:
    writer: ConfluentRegistryJsonSerializationSchema = pickle.loads(
        pickle.dumps(
            ConfluentRegistryJsonSerializationSchema(
                WRITER, "ids-value", TEXT, registry.url, id_bytes=id_bytes
            )
        )
    )
    reader: ConfluentRegistryJsonDeserializationSchema = pickle.loads(
        pickle.dumps(ConfluentRegistryJsonDeserializationSchema(READER, id_bytes=id_bytes))
    )

    written = [writer.serialize(Row(id=number)) for number in range(2)]

    assert written[1] == b"\0" + (100).to_bytes(id_bytes, "big") + b'{"id":1}'
    assert [reader.deserialize(one) for one in written] == [Row(id=0), Row(id=1)]
    assert reader.get_produced_type() == IDS
    assert registry.schemas[100]["schemaType"] == "JSON"
    assert registry.schemas[100]["schema"] == TEXT
    assert registry.requests == ["POST /subjects/ids-value/versions"]


def test_messages_and_schemas_that_are_none(registry: FakeSchemaRegistry) -> None:
    reader = ConfluentRegistryJsonDeserializationSchema(READER)
    with pytest.raises(NoSchemaIdError):
        reader.deserialize(b'{"id": 1}')
    with pytest.raises(MalformedMessageError, match="is no JSON object of the declared type"):
        reader.deserialize(b"\0\0\0\0\1?")
    with pytest.raises(InvalidArgumentError, match="is no JSON Schema"):
        ConfluentRegistryJsonSerializationSchema(WRITER, "ids-value", "{", registry.url)
