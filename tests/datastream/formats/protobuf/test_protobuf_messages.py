from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import UninterpretedOption
from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from penstock.datastream.formats.protobuf import (
    ProtobufDeserializationSchema,
    ProtobufSerializationSchema,
)
from penstock.errors import InvalidArgumentError, MalformedMessageError, TypeMismatchError
from penstock.runtime.job_pickle import dumps, loads
from penstock.testing import local_environment


def test_a_program_reads_changes_and_writes_messages() -> None:
    reader = ProtobufDeserializationSchema(Timestamp)
    writer = ProtobufSerializationSchema(Timestamp)

    def later(moment: Timestamp) -> Timestamp:
        moment.seconds += 1
        return moment

    written = [Timestamp(seconds=number).SerializeToString() for number in range(5)]
    env = local_environment(2)
    moments = env.from_collection(written).map(reader.deserialize).rebalance().map(later)
    found = [
        Timestamp.FromString(one) for one in moments.map(writer.serialize).execute_and_collect()
    ]
    assert sorted(moment.seconds for moment in found) == [1, 2, 3, 4, 5]


def test_schemas_go_to_workers() -> None:
    reader = loads(dumps(ProtobufDeserializationSchema(Timestamp)))
    writer = loads(dumps(ProtobufSerializationSchema(Timestamp)))
    assert reader.deserialize(writer.serialize(Timestamp(seconds=5))) == Timestamp(seconds=5)


def test_equal_messages_become_equal_bytes() -> None:
    writer = ProtobufSerializationSchema(Struct)
    one, other = Struct(), Struct()
    one.update(dict.fromkeys("abcdefgh", 1))
    other.update(dict.fromkeys("hgfedcba", 1))
    assert writer.serialize(one) == writer.serialize(other)


def test_fields_that_only_a_newer_class_has_are_kept() -> None:
    reader, writer = ProtobufDeserializationSchema(Duration), ProtobufSerializationSchema(Duration)
    newer = b"\x08\x05\x1a\x01x"  # a third field
    assert reader.deserialize(newer).seconds == 5
    assert writer.serialize(reader.deserialize(newer)) == newer


def test_messages_that_are_none() -> None:
    with pytest.raises(
        MalformedMessageError, match=r"none of the class google\.protobuf\.Timestamp"
    ):
        ProtobufDeserializationSchema(Timestamp).deserialize(b"\x08")
    # It has fields that are required.
    part = UninterpretedOption.NamePart
    with pytest.raises(MalformedMessageError, match="it lacks name_part, is_extension"):
        ProtobufDeserializationSchema(part).deserialize(b"")
    with pytest.raises(TypeMismatchError, match="cannot be written"):
        ProtobufSerializationSchema(part).serialize(part())
    with pytest.raises(TypeMismatchError, match="but a Duration"):
        ProtobufSerializationSchema(Timestamp).serialize(Duration())
    with pytest.raises(InvalidArgumentError, match="is no class of Protobuf's messages"):
        ProtobufDeserializationSchema(dict)
