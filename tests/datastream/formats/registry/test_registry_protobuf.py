from __future__ import annotations

import base64

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st
from tests.servers.schema_registry import FakeSchemaRegistry

from penstock.datastream.formats.registry import (
    ConfluentRegistryProtobufDeserializationSchema,
    ConfluentRegistryProtobufSerializationSchema,
)
from penstock.datastream.formats.registry import registry_protobuf as module
from penstock.errors import MalformedMessageError, NoSchemaIdError, UnknownSchemaError
from penstock.runtime.job_pickle import dumps, loads

Reader = ConfluentRegistryProtobufDeserializationSchema
Writer = ConfluentRegistryProtobufSerializationSchema

RANGE = DescriptorProto.ExtensionRange
"""The first message within the third of its file, descriptor.proto."""


@pytest.mark.parametrize(
    ("record", "place"),
    [
        (FileDescriptorSet(), b"\0"),
        (FileDescriptorProto(name="a"), b"\2\2"),
        (RANGE(start=5), b"\4\4\0"),
        (AnyMessage(type_url="a"), b"\0"),
    ],
)
def test_what_was_written_is_read(
    registry: FakeSchemaRegistry, record: AnyMessage, place: bytes
) -> None:
    writer = loads(dumps(Writer(type(record), "parts-value", registry.url)))
    reader = loads(dumps(Reader(type(record))))

    written = [writer.serialize(record) for _ in range(2)][1]

    assert written == b"\0\0\0\0\x64" + place + record.SerializeToString()
    assert reader.deserialize(written) == record
    assert registry.requests == ["POST /subjects/parts-value/versions"]
    assert registry.schemas[100]["schemaType"] == "PROTOBUF"
    file = FileDescriptorProto.FromString(base64.b64decode(registry.schemas[100]["schema"]))
    assert file.name == record.DESCRIPTOR.file.name


def test_imported_files_are_registered_before(registry: FakeSchemaRegistry) -> None:
    pool = DescriptorPool()
    for name, imports in {
        "unit.proto": [],
        "money.proto": ["unit.proto"],
        "payment.proto": ["money.proto", "unit.proto"],
    }.items():
        file = FileDescriptorProto(name=name, dependency=imports, syntax="proto3", package="bank")
        file.message_type.add(name=name.removesuffix(".proto"))
        pool.AddSerializedFile(file.SerializeToString())
    payment = GetMessageClass(pool.FindMessageTypeByName("bank.payment"))

    with pytest.raises(UnknownSchemaError, match=r"under 'unit\.proto'"):
        Writer(payment, "payments-value", registry.url, register=False).serialize(payment())
    written = Writer(payment, "payments-value", registry.url).serialize(payment())

    schema_id = int.from_bytes(written[1:5], "big")
    assert list(registry.subjects) == ["unit.proto", "money.proto", "payments-value"]
    assert registry.schemas[schema_id]["references"] == [
        {"name": name, "subject": name, "version": 1} for name in ("money.proto", "unit.proto")
    ]
    again = Writer(payment, "payments-value", registry.url, register=False).serialize(payment())
    assert again == written


def test_messages_that_are_none() -> None:
    reader = Reader(FileDescriptorProto)
    whole = b"\0\0\0\0\1\2\2\x0a\1a"
    assert reader.deserialize(whole).name == "a"
    with pytest.raises(NoSchemaIdError):
        reader.deserialize(b"\x0a\1a")
    endless = b"\0\0\0\0\1" + b"\xff" * 1_000_000
    for short in (whole[:5], whole[:6], b"\0\0\0\0\1\x80", b"\0\0\0\0\1\4\2", endless):
        with pytest.raises(MalformedMessageError, match="ends before it says which message"):
            reader.deserialize(short)
    with pytest.raises(MalformedMessageError, match="is none of the class"):
        reader.deserialize(whole[:-1])


def test_a_message_of_another_place_in_the_file_is_another_one() -> None:
    first = b"\0\0\0\0\1\0\x0a\1a"
    with pytest.raises(
        MalformedMessageError, match=r"has the place \[0\], and the class has \[1\]"
    ):
        Reader(FileDescriptorProto).deserialize(first)
    assert Reader(FileDescriptorProto, any_place=True).deserialize(first).name == "a"


@given(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=4), st.binary(max_size=3))
def test_any_place_is_read_as_it_was_written(indexes: list[int], rest: bytes) -> None:
    written = module._written(indexes)
    assert module._read(b"\0" * 5 + written + rest, 5) == (indexes, 5 + len(written))


@pytest.mark.parametrize("record", [FileDescriptorProto(name="a"), RANGE(start=5)])
def test_apicurios_name_of_the_message_is_read_too(record: AnyMessage) -> None:
    reader, data = Reader(type(record)), record.SerializeToString()
    name = type(record).DESCRIPTOR.name.encode()
    ref = bytes([len(name) + 2, 10, len(name)]) + name
    header = ("apicurio.value.globalId", bytes(8))

    assert reader.deserialize(bytes(5) + ref + data) == record
    assert Reader(type(record), id_bytes=8).deserialize(bytes(9) + ref + data) == record
    assert reader.deserialize_with_headers(ref + data, [header]) == record
    assert reader.deserialize_with_headers(data, [header]) == record


def test_confluents_header_has_the_place_behind_the_id() -> None:
    reader = Reader(FileDescriptorProto)
    guid = b"\1" + bytes(16)
    for value in (guid + b"\2\2", b"\0\0\0\0\5\2\2"):
        headers = [("__value_schema_id", value)]
        assert reader.deserialize_with_headers(b"\x0a\1a", headers).name == "a"
    with pytest.raises(
        MalformedMessageError, match=r"has the place \[0\], and the class has \[1\]"
    ):
        reader.deserialize_with_headers(b"\x0a\1a", [("__value_schema_id", guid + b"\0")])
    with pytest.raises(MalformedMessageError, match="ends before it says which message"):
        reader.deserialize_with_headers(b"\x0a\1a", [("__value_schema_id", guid)])
