from __future__ import annotations

import copy
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, RowKind, Types
from penstock.common.rows.data_frame_row import row_factory
from penstock.datastream.functions.record_fields import (
    FieldKey,
    Projection,
    check_field,
    read_field,
    replace_field,
)
from penstock.errors import ColumnNotFoundError, InvalidArgumentError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.row_block import RowBlock


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any


@dataclass(slots=True)
class Slotted:
    a: Any
    b: Any


def framed(a: Any, b: Any) -> Row:
    return row_factory(["a", "b"])((a, b))


def named(a: Any, b: Any) -> Row:
    return Row("a", "b")(a, b)


POSITIONAL: dict[str, Callable[[Any, Any], Any]] = {
    "tuple": lambda a, b: (a, b),
    "list": lambda a, b: [a, b],
    "row": Row,
}
NAMED: dict[str, Callable[[Any, Any], Any]] = {
    "named row": named,
    "frame row": framed,
    "named tuple": Pair,
}
BY_NAME: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda a, b: {"a": a, "b": b},
    "frozen dataclass": Frozen,
    "slotted dataclass": Slotted,
}


@pytest.mark.parametrize("kind", [*POSITIONAL, *NAMED])
@given(a=st.integers(), b=st.integers(), new=st.text())
def test_fields_by_position(kind: str, a: int, b: int, new: str) -> None:
    make = {**POSITIONAL, **NAMED}[kind]
    record = make(a, b)
    before = copy.deepcopy(record)
    assert (read_field(record, 0), read_field(record, 1)) == (a, b)
    changed = replace_field(record, 1, new)
    assert changed == make(a, new)
    assert type(changed) is type(record)
    assert record == before


@pytest.mark.parametrize("kind", [*NAMED, *BY_NAME])
@given(a=st.integers(), b=st.integers(), new=st.text())
def test_fields_by_name(kind: str, a: int, b: int, new: str) -> None:
    make = {**NAMED, **BY_NAME}[kind]
    record = make(a, b)
    before = copy.deepcopy(record)
    assert (read_field(record, "a"), read_field(record, "b")) == (a, b)
    changed = replace_field(record, "a", new)
    assert changed == make(new, b)
    assert type(changed) is type(record)
    assert record == before


@pytest.mark.parametrize("value", [3, 2.5, "text", None, b"x"])
def test_field_0_of_a_plain_value_is_the_value(value: Any) -> None:
    assert read_field(value, 0) is value
    assert replace_field(value, 0, 7) == 7


def test_the_kind_of_a_row_stays() -> None:
    row = Row(1, 2)
    row.set_row_kind(RowKind.DELETE)
    assert replace_field(row, 0, 5).get_row_kind() is RowKind.DELETE


def test_names_of_methods_are_not_taken_for_fields() -> None:
    Counted = namedtuple("Counted", ["count", "index"])
    assert read_field(Counted(4, 5), "count") == 4
    assert read_field(row_factory(["count"])((6,)), "count") == 6
    for record in ((1, 2), [1, 2], Pair(1, 2)):
        with pytest.raises(LookupError):
            read_field(record, "count")


@pytest.mark.parametrize(
    ("record", "field", "hint"),
    [
        ((1, 2), 2, "It has 2 fields, counted from 0"),
        ((1, 2), "a", "It has 2 fields, counted from 0"),
        (named(1, 2), "c", "Its fields are: a, b."),
        (framed(1, 2), "c", "Its fields are: a, b."),
        (Row(1, 2), "a", "It has 2 fields"),
        ({"a": 1}, "b", "Its fields are: a."),
        (Frozen(1, 2), "c", "It is of the type Frozen"),
        (5, 1, "It is of the type int; field 0 is the record itself."),
        (5, "a", "It is of the type int"),
        ("text", 1, "It is of the type str"),
    ],
)
def test_a_missing_field_is_named_with_its_record(record: Any, field: Any, hint: str) -> None:
    with pytest.raises(ColumnNotFoundError) as caught:
        FieldKey(field)(record)
    assert f"key_by({field!r}) found no field {field!r} in {record!r}." in caught.value.message
    assert hint in str(caught.value.hint)
    with pytest.raises(ColumnNotFoundError, match=r"^project\("):
        Projection((field,))(record)


def test_projection_keeps_names_of_rows_and_makes_tuples_of_the_rest() -> None:
    assert Projection((1, 0))(named(1, 2)) == Row("b", "a")(2, 1)
    assert Projection(("b",))(framed(1, 2)) == Row(b=2)
    assert Projection((1,))(Row(1, 2)) == Row(2)
    assert Projection((1, 1))([1, 2]) == (2, 2)
    assert Projection(("b", "a"))({"a": 1, "b": 2}) == (2, 1)


@pytest.mark.parametrize("field", [None, 1.0, "", True, (1,), -1])
def test_only_positions_and_names_are_fields(field: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^sum\(\) "):
        check_field(field, "sum()", None)


ROWS = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()])
TUPLES = Types.TUPLE([Types.INT(), Types.INT()])


@pytest.mark.parametrize(
    ("field", "kind"), [("a", ROWS), (1, ROWS), (1, TUPLES), (7, None), ("x", Types.STRING())]
)
def test_fields_of_the_declared_type_pass(field: Any, kind: Any) -> None:
    check_field(field, "sum()", kind)


@pytest.mark.parametrize(("field", "kind"), [("c", ROWS), (2, ROWS), (2, TUPLES), ("a", TUPLES)])
def test_fields_that_the_declared_type_has_not_are_found_early(field: Any, kind: Any) -> None:
    with pytest.raises(ColumnNotFoundError, match="which the stream's records do not have"):
        check_field(field, "sum()", kind)


@pytest.mark.parametrize("field", [0, 1, 2, "a", "b", "c"])
@given(
    records=st.lists(
        st.builds(
            lambda make, a, b: make(a, b),
            st.sampled_from([framed, Pair, lambda a, b: (a, b), lambda a, _: (a,)]),
            st.integers(),
            st.integers(),
        ),
        max_size=4,
    )
)
def test_keys_of_many_records_are_those_of_each(field: int | str, records: list[Any]) -> None:
    key = FieldKey(field)
    found = key.of_block(Block(records))
    assert found is None or found == list(map(key, records))


@pytest.mark.parametrize(("field", "make"), [(1, framed), ("b", framed), (1, lambda a, b: (a, b))])
def test_keys_of_rows_and_tuples_are_read_at_once(field: int | str, make: Any) -> None:
    assert FieldKey(field).of_block(Block([make(1, 2), make(3, 4)])) == [2, 4]


def test_fields_that_are_missing_are_left_to_the_one_who_names_the_record() -> None:
    assert FieldKey("c").of_block(Block([framed(1, 2)])) is None
    assert FieldKey(2).of_block(Block([(1, 2, 3), (1, 2)])) is None


@pytest.mark.parametrize(("field", "found"), [(1, [2, 4]), ("b", [2, 4]), (2, None), ("c", None)])
def test_keys_of_columns_are_a_column(field: int | str, found: Any) -> None:
    block = RowBlock(row_factory(["a", "b"]), [[1, 3], [2, 4]])
    assert FieldKey(field).of_block(block) == found
    assert block._rows is None
