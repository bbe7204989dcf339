from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import (
    ByteArraySchema,
    DeserializationSchema,
    Row,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringSchema,
    Types,
)
from penstock.errors import InvalidArgumentError, TypeMismatchError


class TestSimpleStringSchema:
    @settings(max_examples=25)
    @given(st.text(), st.sampled_from(["UTF-8", "utf-16"]))
    def test_reads_what_it_wrote(self, text: str, charset: str) -> None:
        schema = pickle.loads(pickle.dumps(SimpleStringSchema(charset)))
        assert schema.deserialize(schema.serialize(text)) == text

    def test_has_the_bytes_of_its_character_set(self) -> None:
        assert SimpleStringSchema().serialize("é") == b"\xc3\xa9"
        assert SimpleStringSchema("latin-1").serialize("é") == b"\xe9"
        assert SimpleStringSchema().get_produced_type() == Types.STRING()

    def test_reads_what_is_not_of_its_character_set(self) -> None:
        assert SimpleStringSchema().deserialize(b"a\xff") == "a\ufffd"

    def test_says_what_it_cannot_write(self) -> None:
        with pytest.raises(
            TypeMismatchError, match="a record to write as a string is no String: 5"
        ):
            SimpleStringSchema().serialize(5)
        with pytest.raises(TypeMismatchError, match="'€' cannot be written in latin-1"):
            SimpleStringSchema("latin-1").serialize("€")
        with pytest.raises(InvalidArgumentError, match="'utf-9' is no character set"):
            SimpleStringSchema("utf-9")


class TestByteArraySchema:
    def test_leaves_bytes_as_they_are(self) -> None:
        schema = ByteArraySchema()
        assert schema.serialize(b"\0\xff") == schema.deserialize(b"\0\xff") == b"\0\xff"
        assert schema.serialize(bytearray(b"a")) == b"a"
        assert schema.get_produced_type() == Types.PRIMITIVE_ARRAY(Types.BYTE())

    @pytest.mark.parametrize("record", ["a", None, 5, [1]])
    def test_takes_nothing_else(self, record: Any) -> None:
        with pytest.raises(TypeMismatchError, match=r"a record to write is .*, which is not made"):
            ByteArraySchema().serialize(record)


class TestRowFieldExtractorSchema:
    @pytest.mark.parametrize("row", [Row(b"a", b"b"), Row(k=b"a", v=b"b"), (b"a", b"b")])
    def test_writes_a_field(self, row: Any) -> None:
        assert [RowFieldExtractorSchema(place).serialize(row) for place in (0, 1)] == [b"a", b"b"]

    @pytest.mark.parametrize("row", [None, Row(None, b"b"), (None,)])
    def test_writes_no_bytes_for_none(self, row: Any) -> None:
        assert RowFieldExtractorSchema(0).serialize(row) == b""

    def test_is_equal_to_one_of_the_same_field(self) -> None:
        assert (
            RowFieldExtractorSchema(1) == RowFieldExtractorSchema(1) != RowFieldExtractorSchema(0)
        )
        assert len({RowFieldExtractorSchema(1), RowFieldExtractorSchema(1)}) == 1

    def test_says_what_is_wrong(self) -> None:
        schema = RowFieldExtractorSchema(1)
        for record in (Row(b"a"), "ab"):
            with pytest.raises(TypeMismatchError, match="is no row with a field 1"):
                schema.serialize(record)
        with pytest.raises(TypeMismatchError, match=r"field 1 of .* is 'b', which is not made"):
            schema.serialize(Row(b"a", "b"))
        with pytest.raises(InvalidArgumentError, match="-1 is no field"):
            RowFieldExtractorSchema(-1)


def test_a_schema_of_ones_own_has_records_of_any_type() -> None:
    class Repr(SerializationSchema, DeserializationSchema):
        def serialize(self, element: Any) -> bytes:
            return repr(element).encode()

        def deserialize(self, message: bytes) -> Any:
            return message.decode()

    assert Repr().get_produced_type() == Types.PICKLED_BYTE_ARRAY()
    assert Repr().deserialize(Repr().serialize(5)) == "5"
