from __future__ import annotations

import io
import json
import pickle
from threading import Event
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest
from tests.servers.schema_registry import FakeSchemaRegistry

from penstock.common import Row, Types
from penstock.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
from penstock.datastream.formats.registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
    schema_registry,
)
from penstock.errors import (
    IncompatibleSchemaError,
    InvalidArgumentError,
    MalformedMessageError,
    NoSchemaIdError,
    SchemaRegistryNotReachableError,
    SchemaRegistryRefusedError,
    TypeMismatchError,
    UnknownSchemaError,
)

Reader = ConfluentRegistryAvroDeserializationSchema
Writer = ConfluentRegistryAvroSerializationSchema


def event(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Event", "fields": list(fields)}


ID = {"name": "id", "type": "long"}
UNIT = {"name": "unit", "type": "string", "default": "ms"}
OLD = event(ID)
NEW = event(ID, UNIT)
AT_ONCE = {"max.retries": 0}
QUICKLY = {"max.retries": 3, "retries.wait.ms": 1, "retries.max.wait.ms": 1}


def schema(definition: Any) -> AvroSchema:
    return AvroSchema(json.dumps(definition))


def message(schema_id: int, definition: Any, record: Any, id_bytes: int = 4) -> bytes:
    stream = io.BytesIO()
    stream.write(b"\0" + schema_id.to_bytes(id_bytes, "big"))
    fastavro.schemaless_writer(stream, definition, record)
    return stream.getvalue()


def test_what_was_written_is_read(registry: FakeSchemaRegistry) -> None:
    writer: Writer = pickle.loads(
        pickle.dumps(Writer.for_generic("events-value", schema(NEW), registry.url))
    )
    reader: Reader = pickle.loads(pickle.dumps(Reader.for_generic(schema(NEW), registry.url)))
    rows = Reader.for_rows(schema(NEW), registry.url)

    written = [writer.serialize(one) for one in ({"id": 1}, Row(2, "s"), Row(unit="h", id=3))]

    assert written[0] == message(100, NEW, {"id": 1, "unit": "ms"})
    assert [reader.deserialize(one) for one in written] == [
        {"id": 1, "unit": "ms"},
        {"id": 2, "unit": "s"},
        {"id": 3, "unit": "h"},
    ]
    assert rows.deserialize(written[1]) == Row(id=2, unit="s")
    assert reader.get_produced_type() == GenericRecordAvroTypeInfo(schema(NEW))
    assert rows.get_produced_type() == Types.ROW_NAMED(
        ["id", "unit"], [Types.LONG(), Types.STRING()]
    )
    # Once each, in all of a process.
    assert registry.requests == ["POST /subjects/events-value/versions", "GET /schemas/ids/100"]


def test_a_reader_knows_older_and_newer_writers(registry: FakeSchemaRegistry) -> None:
    old, new = (registry.register("events-value", one) for one in (OLD, NEW))
    messages = [
        message(old, OLD, {"id": 1}),
        message(new, NEW, {"id": 2, "unit": "s"}),
        message(old, OLD, {"id": 3}),
    ]

    of_new = Reader.for_rows(schema(NEW), registry.url)
    of_old = Reader.for_rows(schema(OLD), registry.url)

    assert [tuple(of_new.deserialize(one)) for one in messages] == [(1, "ms"), (2, "s"), (3, "ms")]
    assert [tuple(of_old.deserialize(one)) for one in messages] == [(1,), (2,), (3,)]
    assert sorted(registry.requests) == [f"GET /schemas/ids/{one}" for one in (old, new)]


def test_what_a_default_gives_belongs_to_each_record_alone(registry: FakeSchemaRegistry) -> None:
    tags = {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []}
    written = message(registry.register("events-value", OLD), OLD, {"id": 1})
    reader = Reader.for_generic(schema(event(ID, tags)), registry.url)
    reader.deserialize(written)["tags"].append("a")
    assert reader.deserialize(written) == {"id": 1, "tags": []}


def test_a_schema_may_refer_to_others(registry: FakeSchemaRegistry) -> None:
    unit = {"type": "enum", "name": "bank.Unit", "symbols": ["EUR", "USD"]}
    money = {
        "type": "record",
        "name": "bank.Money",
        "fields": [{"name": "unit", "type": "bank.Unit"}],
    }
    payment = event({"name": "money", "type": "bank.Money"})
    registry.register("unit", unit)
    registry.register("money", money, references=(_reference("bank.Unit", "unit"),))
    schema_id = registry.register(
        "payment", payment, references=(_reference("bank.Money", "money"),)
    )
    whole = event({"name": "money", "type": {**money, "fields": [{"name": "unit", "type": unit}]}})
    written = message(schema_id, whole, {"money": {"unit": "USD"}})

    for reads in (whole, event({"name": "money", "type": whole["fields"][0]["type"]}, UNIT)):
        reader = Reader.for_generic(schema(reads), registry.url)
        assert reader.deserialize(written)["money"] == {"unit": "USD"}


def _reference(name: str, subject: str) -> dict[str, Any]:
    return {"name": name, "subject": subject, "version": 1}


def test_ids_of_eight_bytes(registry: FakeSchemaRegistry) -> None:
    writer = Writer.for_generic("events-value", schema(OLD), registry.url, id_bytes=8)
    written = writer.serialize({"id": 7})

    assert written == message(100, OLD, {"id": 7}, id_bytes=8)
    reader = Reader.for_generic(schema(OLD), registry.url, id_bytes=8)
    assert reader.deserialize(written) == {"id": 7}
    with pytest.raises(InvalidArgumentError, match="4 bytes or 8, not 5"):
        Reader.for_generic(schema(OLD), registry.url, id_bytes=5)


def test_messages_that_are_none(registry: FakeSchemaRegistry) -> None:
    schema_id = registry.register("events-value", OLD)
    of_json = registry.register("events-json", {"type": "object"}, "JSON")
    of_text = registry.register("names", '"string"')
    reader = Reader.for_generic(schema(OLD), registry.url, 1000, AT_ONCE)
    whole = message(schema_id, OLD, {"id": 300})

    for wrong in (b"", b"\0\0\0", b'{"id": 1}', b"\1" + whole[1:]):
        with pytest.raises(NoSchemaIdError, match="does not begin with the id of a schema"):
            reader.deserialize(wrong)
    with pytest.raises(UnknownSchemaError, match="knows no schema with the id 99"):
        reader.deserialize(message(99, OLD, {"id": 1}))
    for wrong in (whole[:-1], whole + b"!"):
        with pytest.raises(MalformedMessageError, match="is no record of the schema with the id"):
            reader.deserialize(wrong)
    with pytest.raises(MalformedMessageError, match="none of Avro's: it is of the kind JSON"):
        reader.deserialize(message(of_json, OLD, {"id": 1}))
    with pytest.raises(IncompatibleSchemaError, match="cannot be read with"):
        reader.deserialize(message(of_text, "string", "x"))
    assert reader.deserialize(whole) == {"id": 300}


def test_a_registry_that_is_away_for_a_while(registry: FakeSchemaRegistry) -> None:
    schema_id = registry.register("events-value", OLD)
    whole = message(schema_id, OLD, {"id": 1})

    registry.mishaps.extend([503, 500, 429])
    assert Reader.for_generic(schema(OLD), registry.url, 1000, QUICKLY).deserialize(whole)

    patient = Reader.for_generic(schema(OLD), registry.url, 1000, AT_ONCE)
    registry.mishaps.append(503)
    with pytest.raises(SchemaRegistryNotReachableError, match="does not answer"):
        patient.deserialize(whole)
    assert patient.deserialize(whole) == {"id": 1}


def test_a_registry_that_gives_no_answer(
    registry: FakeSchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = Event()
    monkeypatch.setattr(registry, "respond", lambda *request: (int(released.wait()) * 0, b""))
    monkeypatch.setattr(schema_registry, "_TIMEOUT_SECONDS", 0.01)
    reader = Reader.for_generic(schema(OLD), registry.url, 10, AT_ONCE)
    try:
        with pytest.raises(SchemaRegistryNotReachableError, match=r"does not answer: .*timed out"):
            reader.deserialize(message(1, OLD, {"id": 1}))
    finally:
        released.set()


def test_a_registry_that_is_away_for_good() -> None:
    reader = Reader.for_generic(schema(OLD), "http://me:secret@127.0.0.1:1", 10, AT_ONCE)
    with pytest.raises(
        SchemaRegistryNotReachableError, match=r"at http://127.0.0.1:1 does"
    ) as caught:
        reader.deserialize(message(1, OLD, {"id": 1}))
    assert "secret" not in str(caught.value)


def test_who_may_ask(registry: FakeSchemaRegistry) -> None:
    configs = {"basic.auth.user.info": "me:secret", **AT_ONCE}
    reader = Reader.for_generic(schema(OLD), registry.url, 10, configs)
    registry.mishaps.append(401)
    with pytest.raises(SchemaRegistryRefusedError, match="refused the request"):
        reader.deserialize(message(1, OLD, {"id": 1}))
    assert registry.headers["Authorization"] == "Basic bWU6c2VjcmV0"


def test_a_token_may_be_given(registry: FakeSchemaRegistry) -> None:
    token = {
        "bearer.auth.credentials.source": "STATIC_TOKEN",
        "bearer.auth.token": "secret",
        "bearer.auth.logical.cluster": "any",
        "bearer.auth.identity.pool.id": "any",
    }
    schema_id = registry.register("events-value", OLD)
    for url in (registry.url, f"{registry.url}/apis/registry/v3"):
        reader = Reader.for_generic(schema(OLD), url, 10, token)
        assert reader.deserialize(message(schema_id, OLD, {"id": 1})) == {"id": 1}
        assert registry.headers["Authorization"] == "Bearer secret"
    del token["bearer.auth.token"]
    with pytest.raises(InvalidArgumentError, match=r"bearer\.auth\.token"):
        Reader.for_generic(schema(OLD), registry.url, 10, token)


def test_a_schema_that_may_not_be_registered(registry: FakeSchemaRegistry) -> None:
    registry.refuses.add("events-value")
    writer = Writer.for_generic("events-value", schema(NEW), registry.url)
    with pytest.raises(IncompatibleSchemaError, match="refused the schema"):
        writer.serialize({"id": 1})

    looking = Writer.for_generic("units-value", schema(NEW), registry.url, register=False)
    with pytest.raises(UnknownSchemaError, match="under 'units-value'"):
        looking.serialize({"id": 1})
    registry.register("units-value", str(schema(NEW)))
    assert looking.serialize({"id": 1}) == message(100, NEW, {"id": 1})


def test_records_and_settings_that_are_none(registry: FakeSchemaRegistry) -> None:
    writer = Writer.for_generic("events-value", schema(OLD), registry.url)
    with pytest.raises(TypeMismatchError, match="is no record of the Avro schema"):
        writer.serialize({"id": "x"})
    with pytest.raises(InvalidArgumentError, match=r"Unrecognized properties: max\.tries"):
        Writer.for_generic("events-value", schema(OLD), registry.url, {"max.tries": 1})
    with pytest.raises(InvalidArgumentError, match="'localhost' cannot be asked"):
        Writer.for_generic("events-value", schema(OLD), "localhost")


@pytest.mark.parametrize("api", ["v2", "v3"])
def test_apicurios_own_api_knows_content_ids_and_global_ids(
    registry: FakeSchemaRegistry, api: str
) -> None:
    unit = {"type": "enum", "name": "Unit", "symbols": ["ms", "s"]}
    registry.register("unit", unit)
    new = event(ID, {"name": "unit", "type": "Unit"})
    reference = {"name": "Unit", "subject": "unit", "version": 1}
    content_id = registry.register("events", new, references=(reference,))
    definition = event(ID, {"name": "unit", "type": unit})
    whole, datum = schema(definition), message(content_id, definition, {"id": 1, "unit": "s"})
    url = f"{registry.url}/apis/registry/{api}"
    found = {"id": 1, "unit": "s"}

    reader = pickle.loads(pickle.dumps(Reader.for_generic(whole, url)))
    assert [reader.deserialize(datum) for _ in range(2)] == [found] * 2
    header = ("apicurio.value.globalId", (content_id + 1000).to_bytes(8, "big"))
    assert reader.deserialize_with_headers(datum[5:], [header]) == found
    old = Reader.for_generic(whole, url, id_bytes=8, use_id="globalId")
    assert old.deserialize(b"\0" + header[1] + datum[5:]) == found
    place = f"GET /apis/registry/{api}/ids"
    assert [one for one in registry.requests if one.startswith(place)] == [
        f"{place}/contentIds/{content_id}",
        f"{place}/contentIds/{content_id}/references",
        f"{place}/globalIds/{content_id + 1000}",
        f"{place}/globalIds/{content_id + 1000}/references",
    ]
    with pytest.raises(UnknownSchemaError, match="knows no schema with the contentId 99"):
        reader.deserialize(message(99, OLD, {"id": 1}))
    with pytest.raises(MalformedMessageError, match="written as JSON"):
        reader.deserialize_with_headers(b"{}", [header, ("apicurio.value.encoding", b"JSON")])
    with pytest.raises(InvalidArgumentError, match="use_id is 'id'"):
        Reader.for_generic(whole, url, use_id="id")
    with pytest.raises(InvalidArgumentError, match="not registered by Apicurio's own API"):
        Writer.for_generic("events", whole, url).serialize({"id": 1})


def test_ids_in_headers_are_those_of_the_registry_that_is_asked(
    registry: FakeSchemaRegistry,
) -> None:
    schema_id = registry.register("events-value", OLD)
    body = message(schema_id, OLD, {"id": 1})[5:]
    reader = Reader.for_generic(schema(OLD), registry.url, 10, AT_ONCE)
    of_keys = Reader.for_generic(schema(OLD), registry.url, 10, AT_ONCE, is_key=True)

    def confluent(part: str, number: int) -> list[tuple[str, bytes]]:
        return [(f"__{part}_schema_id", b"\1" + number.to_bytes(16, "big"))]

    assert reader.deserialize_with_headers(body, confluent("value", schema_id)) == {"id": 1}
    assert of_keys.deserialize_with_headers(body, confluent("key", schema_id)) == {"id": 1}
    content = [("apicurio.value.contentId", schema_id.to_bytes(8, "big"))]
    assert reader.deserialize_with_headers(body, content) == {"id": 1}
    with pytest.raises(UnknownSchemaError, match="the guid 00000000-0000-0000-0000-000000000009"):
        reader.deserialize_with_headers(body, confluent("value", 9))
    with pytest.raises(SchemaRegistryRefusedError, match="asked for the globalId 5"):
        reader.deserialize_with_headers(body, [("apicurio.value.globalId", bytes(7) + b"\5")])
    native = Reader.for_generic(schema(OLD), f"{registry.url}/apis/registry/v3")
    with pytest.raises(SchemaRegistryRefusedError, match="asked for the guid"):
        native.deserialize_with_headers(body, confluent("value", 9))


def test_what_confluents_own_serializer_writes_is_read(registry: FakeSchemaRegistry) -> None:
    from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    with SchemaRegistryClient({"url": registry.url}) as client:
        for part, is_key in ((MessageField.VALUE, False), (MessageField.KEY, True)):
            reader = Reader.for_generic(schema(OLD), registry.url, is_key=is_key)
            for conf in ({}, {"schema.id.serializer": header_schema_id_serializer}):
                headers: list[Any] = []
                write = AvroSerializer(client, json.dumps(OLD), conf=conf)
                written = write({"id": 5}, SerializationContext("events", part, headers))
                assert bool(headers) == bool(conf)
                assert reader.deserialize_with_headers(written, headers) == {"id": 5}


def test_a_registry_that_goes_away_is_not_missed_for_what_is_known(
    registry: FakeSchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = message(registry.register("events-value", OLD), OLD, {"id": 1})
    reader = Reader.for_generic(schema(OLD), registry.url, 10, AT_ONCE)
    assert reader.deserialize(known) == {"id": 1}
    now = 1000.0
    monkeypatch.setattr(schema_registry, "time", SimpleNamespace(monotonic=lambda: now))
    for _ in range(3):
        with pytest.raises(UnknownSchemaError):
            reader.deserialize(message(99, OLD, {"id": 1}))
    assert registry.requests.count("GET /schemas/ids/99") == 1
    now += 2
    registry.mishaps.append(503)
    with pytest.raises(SchemaRegistryNotReachableError):
        reader.deserialize(message(99, OLD, {"id": 1}))

    # As after a restart in the same worker.
    again = pickle.loads(pickle.dumps(reader))
    registry.mishaps.extend([503] * 5)
    assert [one.deserialize(known) for one in (reader, again)] == [{"id": 1}] * 2


def test_what_answers_like_no_registry_is_named(
    registry: FakeSchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader.for_generic(schema(OLD), registry.url, 10, AT_ONCE)
    monkeypatch.setattr(registry, "respond", lambda *request: (200, b"<html>Log in</html>"))
    with pytest.raises(SchemaRegistryRefusedError, match="answers what none does"):
        reader.deserialize(message(1, OLD, {"id": 1}))
    no_schema = registry.register("events", {"type": "object"})
    monkeypatch.undo()
    with pytest.raises(MalformedMessageError, match=r"the id 100, .* is none of Avro's: "):
        reader.deserialize(message(no_schema, OLD, {"id": 1}))
