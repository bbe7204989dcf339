from __future__ import annotations

from array import array
from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pytest

from penstock.common.rows.data_frame_row import row_factory
from penstock.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from penstock.common.typeinfo.composite_typeinfo import SequenceTypeInfo
from penstock.common.types import Row, RowKind, row_of
from penstock.errors import TypeMismatchError, UnknownFieldError, UnsupportedTypeError

PERSON = Types.ROW_NAMED(["name", "born"], [Types.STRING(), Types.SQL_DATE()])
BORN = date(1970, 1, 11)


@dataclass
class Person:
    name: str
    born: date


class NamedPair(NamedTuple):
    name: str
    born: date


class TestSequences:
    @pytest.mark.parametrize(
        "info",
        [Types.LIST(Types.INT()), Types.OBJECT_ARRAY(Types.INT()), Types.BASIC_ARRAY(Types.INT())],
    )
    @pytest.mark.parametrize("value", [[1, None], (1, 2), array("i", [1]), np.array([1]), []])
    def test_take_anything_in_order(self, info: TypeInformation, value: Any) -> None:
        info.check(value)

    @pytest.mark.parametrize(
        ("value", "expected"),
        [((1, 2), [1, 2]), (array("i", [1]), [1]), (np.array([1]), [1]), (range(2), [0, 1])],
    )
    def test_make_lists_of_it(self, value: Any, expected: list[int]) -> None:
        for info in (Types.LIST(Types.INT()), Types.PRIMITIVE_ARRAY(Types.INT())):
            assert info.convert(value) == expected
            assert [type(element) for element in info.convert(value)] == [int] * len(expected)

    def test_know_their_element_type_by_pyflinks_name(self) -> None:
        assert Types.LIST(Types.INT()).elem_type == Types.INT()

    def test_leave_lists_as_they_are(self) -> None:
        plain, strange = [1, None], [1, True]

        assert Types.LIST(Types.INT()).convert(plain) is plain
        assert repr(Types.LIST(Types.INT()).convert(strange)) == "[1, 1]"
        assert repr(strange) == "[1, True]"

    def test_refuse_sets_which_have_no_order(self) -> None:
        with pytest.raises(TypeMismatchError, match=r"return sorted\(\.\.\.\) of it"):
            Types.LIST(Types.INT()).convert({1, 2})

    @pytest.mark.parametrize("value", ["text", b"bytes", {1: 2}, iter([1]), 1])
    def test_refuse_what_is_no_sequence(self, value: Any) -> None:
        with pytest.raises(TypeMismatchError, match="no ListTypeInfo<Integer>"):
            Types.LIST(Types.INT()).check(value)

    def test_name_the_element_that_does_not_fit(self) -> None:
        with pytest.raises(TypeMismatchError, match=r"^the value\[1\]\[0\] is no Integer: 'x'"):
            Types.LIST(Types.LIST(Types.INT())).check([[1], ["x"]])

    def test_convert_their_elements_if_need_be(self) -> None:
        plain, dates = Types.LIST(Types.INT()), Types.LIST(Types.SQL_DATE())
        value = [1, 2]

        assert not plain.need_conversion()
        assert plain.to_internal_type(value) is value
        assert dates.need_conversion()
        assert dates.to_internal_type([BORN, None]) == [10, None]
        assert dates.from_internal_type([10, None]) == [BORN, None]
        assert dates.to_internal_type(None) is None

    def test_of_bytes_are_bytes_if_primitive(self) -> None:
        info = Types.PRIMITIVE_ARRAY(Types.BYTE())

        for value in (b"ab", bytearray(b"ab"), memoryview(b"ab")):
            assert info.convert(value) == Types.LIST(Types.BYTE()).convert(value) == b"ab"
            assert type(info.convert(value)) is bytes
        with pytest.raises(TypeMismatchError):
            info.check([97, 98])
        assert Types.LIST(Types.BYTE()).convert([97, 98]) == [97, 98]

    def test_have_all_their_elements_if_primitive(self) -> None:
        Types.PRIMITIVE_ARRAY(Types.INT()).check([1, 2])
        with pytest.raises(TypeMismatchError):
            Types.PRIMITIVE_ARRAY(Types.INT()).check([1, None])

    @pytest.mark.parametrize("element", [Types.STRING(), Types.BIG_INT(), Types.SQL_DATE()])
    def test_of_objects_are_not_primitive(self, element: TypeInformation) -> None:
        with pytest.raises(UnsupportedTypeError, match=r"Types.OBJECT_ARRAY takes any type"):
            Types.PRIMITIVE_ARRAY(element)

    def test_of_strings_are_basic_but_those_of_lists_are_not(self) -> None:
        Types.BASIC_ARRAY(Types.STRING()).check(["a", None])
        with pytest.raises(UnsupportedTypeError):
            Types.BASIC_ARRAY(Types.LIST(Types.INT()))

    @pytest.mark.parametrize(
        ("info", "text"),
        [
            (Types.LIST(Types.INT()), "ListTypeInfo<Integer>"),
            (Types.OBJECT_ARRAY(Types.SQL_DATE()), "ObjectArrayTypeInfo<DateTypeInfo>"),
            (Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
            (Types.PRIMITIVE_ARRAY(Types.BYTE()), "PrimitiveArrayTypeInfo<Byte>"),
        ],
    )
    def test_are_shown_with_their_element(self, info: SequenceTypeInfo, text: str) -> None:
        assert repr(info) == text

    def test_compare_by_class_and_element(self) -> None:
        assert Types.LIST(Types.INT()) == Types.LIST(Types.INT())
        assert Types.LIST(Types.INT()) != Types.LIST(Types.LONG())
        assert Types.LIST(Types.INT()) != Types.OBJECT_ARRAY(Types.INT())


class TestMap:
    INFO = Types.MAP(Types.STRING(), Types.SQL_DATE())

    def test_stores_pairs(self) -> None:
        assert self.INFO.to_internal_type({"a": BORN, "b": None}) == [("a", 10), ("b", None)]
        assert self.INFO.from_internal_type([("a", 10)]) == {"a": BORN}
        assert self.INFO.to_internal_type(None) is None
        assert self.INFO.from_internal_type(None) is None
        assert self.INFO.need_conversion()

    def test_takes_mappings(self) -> None:
        plain = {"a": BORN}
        assert self.INFO.convert(plain) is plain
        assert type(self.INFO.convert(OrderedDict(plain))) is dict
        assert self.INFO.convert(OrderedDict(plain)) == plain
        with pytest.raises(TypeMismatchError, match="no MapTypeInfo<String, DateTypeInfo>"):
            self.INFO.check([("a", BORN)])

    def test_names_the_key_or_value_that_does_not_fit(self) -> None:
        with pytest.raises(TypeMismatchError, match=r"^the value\['a'\] is no DateTypeInfo"):
            self.INFO.check({"a": 1})
        with pytest.raises(TypeMismatchError, match=r"^the key 1 of the value is no String"):
            self.INFO.check({1: BORN})

    def test_compares_by_both_types(self) -> None:
        assert Types.MAP(Types.STRING(), Types.SQL_DATE()) == self.INFO
        assert Types.MAP(Types.STRING(), Types.INT()) != self.INFO
        assert Types.MAP(Types.INT(), Types.SQL_DATE()) != self.INFO


class TestTuple:
    INFO = Types.TUPLE([Types.STRING(), Types.SQL_DATE()])

    @pytest.mark.parametrize("value", [("a", BORN), ["a", BORN], Row("a", BORN)])
    def test_stores_tuples(self, value: Any) -> None:
        self.INFO.check(value)
        assert self.INFO.to_internal_type(value) == ("a", 10)

    def test_makes_tuples(self) -> None:
        pair = ("a", BORN)

        assert self.INFO.convert(pair) is pair
        for value in (["a", BORN], Row("a", BORN), Row(x="a", y=BORN), NamedPair("a", BORN)):
            assert self.INFO.convert(value) == pair
            assert type(self.INFO.convert(value)) is tuple

    def test_reads_tuples(self) -> None:
        assert self.INFO.from_internal_type(("a", 10)) == ("a", BORN)
        assert self.INFO.from_internal_type(None) is None

    @pytest.mark.parametrize("value", [("a",), ("a", BORN, 1), {"a": BORN}, "ab"])
    def test_refuses_other_values(self, value: Any) -> None:
        with pytest.raises(TypeMismatchError, match=r"no TupleTypeInfo\(String, DateTypeInfo\)"):
            self.INFO.check(value)
        with pytest.raises(TypeMismatchError):
            self.INFO.to_internal_type(value)

    def test_names_the_field_that_does_not_fit(self) -> None:
        with pytest.raises(
            TypeMismatchError, match=r"^the value\[1\] is no DateTypeInfo"
        ) as caught:
            self.INFO.check(("a", 1))
        assert caught.value.__context__ is None

    def test_compares_by_its_types(self) -> None:
        assert TupleTypeInfo([Types.STRING(), Types.SQL_DATE()]) == self.INFO
        assert TupleTypeInfo([Types.STRING()]) != self.INFO
        assert Types.ROW(self.INFO.get_field_types()) != self.INFO
        assert self.INFO.get_field_types() == [Types.STRING(), Types.SQL_DATE()]


class TestRow:
    def test_is_shown_with_the_names_it_was_given(self) -> None:
        assert repr(PERSON) == "RowTypeInfo(name: String, born: DateTypeInfo)"
        assert repr(Types.ROW([Types.INT(), Types.LONG()])) == "RowTypeInfo(Integer, Long)"

    def test_names_its_fields_unless_told(self) -> None:
        assert PERSON.get_field_names() == ["name", "born"]
        assert Types.ROW([Types.INT(), Types.LONG()]).get_field_names() == ["f0", "f1"]
        assert PERSON.get_field_types() == [Types.STRING(), Types.SQL_DATE()]

    def test_knows_the_position_of_a_field(self) -> None:
        assert PERSON.get_field_index("born") == 1
        with pytest.raises(UnknownFieldError, match="Its fields are: name, born"):
            PERSON.get_field_index("age")

    def test_compares_by_types_as_in_flink(self) -> None:
        assert RowTypeInfo([Types.INT()], ["a"]) == RowTypeInfo([Types.INT()], ["b"])
        assert hash(RowTypeInfo([Types.INT()], ["a"])) == hash(RowTypeInfo([Types.INT()]))
        assert RowTypeInfo([Types.INT()], ["a"]) != RowTypeInfo([Types.LONG()], ["a"])

    @pytest.mark.parametrize(
        "value",
        [
            Row("Ann", BORN),
            Row(name="Ann", born=BORN),
            Row(name="Ann", born=BORN, more=1),
            row_factory(["born", "name"])((BORN, "Ann")),
            ("Ann", BORN),
            ["Ann", BORN],
            {"born": BORN, "name": "Ann"},
            Person("Ann", BORN),
        ],
    )
    def test_takes_all_that_has_these_fields(self, value: Any) -> None:
        converted = PERSON.convert(value)
        assert converted == Row(name="Ann", born=BORN)
        assert (converted is value) == (repr(value) == repr(converted))
        assert PERSON.to_internal_type(value) == ("Ann", 10)

    def test_without_names_has_those_of_flink(self) -> None:
        info = Types.ROW([Types.SQL_DATE(), Types.STRING()])

        for value in (Row(BORN, "Ann"), Row(f1="Ann", f0=BORN), (BORN, "Ann")):
            assert repr(info.convert(value)) == f"Row(f0={BORN!r}, f1='Ann')"
        with pytest.raises(TypeMismatchError, match=r"are: f0, f1. Types.ROW_NAMED gives them"):
            info.convert(Row(born=BORN, name="Ann"))

    def test_keeps_the_kind_of_a_row_and_does_not_change_it(self) -> None:
        row = Row(born=BORN, name="Ann")
        row.set_row_kind(RowKind.DELETE)

        assert PERSON.convert(row).get_row_kind() is RowKind.DELETE
        assert list(PERSON.convert(row)) == ["Ann", BORN]
        assert list(row) == [BORN, "Ann"]

    def test_converts_what_is_inside(self) -> None:
        team = Types.ROW([Types.FLOAT(), Types.LIST(PERSON), Types.MAP(Types.INT(), PERSON)])
        ann = ("Ann", BORN)

        assert repr(team.convert((0.1, [ann, None], {True: ann}))) == (
            f"Row(f0=0.10000000149011612, f1=[Row(name='Ann', born={BORN!r}), None], "
            f"f2={{1: Row(name='Ann', born={BORN!r})}})"
        )

    def test_a_key_that_a_dict_lacks_is_a_missing_value(self) -> None:
        assert PERSON.to_internal_type({"name": "Ann"}) == ("Ann", None)

    @pytest.mark.parametrize(
        "value", [Row("Ann"), Row(name="Ann", age=1), ("Ann", BORN, 1), [], 1, object()]
    )
    def test_refuses_other_values(self, value: Any) -> None:
        with pytest.raises(TypeMismatchError, match=r"no RowTypeInfo\(name: String"):
            PERSON.check(value)
        with pytest.raises(TypeMismatchError):
            PERSON.to_internal_type(value)

    def test_names_the_field_that_does_not_fit(self) -> None:
        team = Types.ROW_NAMED(["members"], [Types.LIST(PERSON)])

        with pytest.raises(
            TypeMismatchError, match=r"^the record\.members\[1\]\.name is no String"
        ):
            team.check(Row(members=[("Ann", None), (1, None)]), "the record")

    def test_reads_rows(self) -> None:
        read = PERSON.from_internal_type(("Ann", 10))

        assert read == row_of(("name", "born"), ("Ann", BORN))
        assert Types.ROW([Types.INT()]).from_internal_type((1,)) == Row(f0=1)
        assert PERSON.from_internal_type(None) is None
        assert PERSON.to_internal_type(None) is None

    def test_can_have_no_fields(self) -> None:
        assert Types.ROW([]).to_internal_type(()) == ()
        assert repr(Types.ROW_NAMED([], [])) == "RowTypeInfo()"

    def test_needs_a_name_for_each_type(self) -> None:
        with pytest.raises(UnsupportedTypeError, match="2 field types and 1 field names"):
            Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()])

    def test_needs_descriptions_of_types(self) -> None:
        with pytest.raises(UnsupportedTypeError, match="a field of a RowTypeInfo"):
            Types.ROW([int])  # type: ignore[list-item]
