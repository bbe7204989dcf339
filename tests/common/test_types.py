from __future__ import annotations

import copy
import pickle
from typing import Any

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.rows.data_frame_row import row_factory
from penstock.common.types import Row, RowKind, field_names_of, row_of, unknown_field
from penstock.errors import PenstockError, RowFieldNamesError, UnknownFieldError

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
keys = st.recursive(scalars, lambda inner: st.tuples(inner, inner), max_leaves=5)
values_of_rows = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)
names = st.text(min_size=1, max_size=5)


@st.composite
def rows(draw: st.DrawFn, values: st.SearchStrategy[Any] = values_of_rows) -> Row:
    """Rows with and without names, of all kinds, of both classes."""
    content = draw(st.lists(values, max_size=4))
    if draw(st.booleans()):
        row = Row(*content)
    else:
        fields = draw(st.lists(names, min_size=len(content), max_size=len(content), unique=True))
        if draw(st.booleans()):
            return row_factory(fields)(content)
        row = row_of(tuple(fields), tuple(content))
    row.set_row_kind(draw(st.sampled_from(RowKind)))
    return row


def test_keyword_arguments_name_the_fields_in_their_order() -> None:
    row = Row(name="Ann", age=42, city="Ulm")

    name, age, city = row
    assert (name, age, city) == ("Ann", 42, "Ulm")
    assert (row[0], row[1:], row["age"], row.city) == ("Ann", [42, "Ulm"], 42, "Ulm")
    assert field_names_of(row) == ("name", "age", "city")
    assert list(row.as_dict()) == ["name", "age", "city"]
    assert repr(row) == "Row(name='Ann', age=42, city='Ulm')"


def test_rows_whose_names_are_in_another_order_are_not_equal() -> None:
    assert Row(name="Ann", age=42) == Row("name", "age")("Ann", 42)
    assert Row(name="Ann", age=42) != Row(age=42, name="Ann")
    assert Row(a=1, b=1) != Row(b=1, a=1)


def test_rows_are_read_as_they_were_pickled_when_keyword_arguments_were_sorted() -> None:
    # What pickle.dumps(Row(name="Ann", age=42), 4) and that of a block gave.
    old = pickle.loads(
        b"\x80\x04\x95A\x00\x00\x00\x00\x00\x00\x00\x8c\x15penstock.common.types\x94\x8c\x06row_of"
        b"\x94\x93\x94\x8c\x03age\x94\x8c\x04name\x94\x86\x94K*\x8c\x03Ann\x94\x86\x94\x86\x94R\x94."
    )

    assert repr(old) == "Row(age=42, name='Ann')"
    assert (old.name, old["age"]) == ("Ann", 42)


def test_a_field_may_be_called_self() -> None:
    assert Row(self=1)["self"] == 1


def test_positional_arguments_make_fields_without_names() -> None:
    row = Row(1, "a")

    assert list(row) == [1, "a"]
    assert field_names_of(row) is None
    assert repr(row) == "<Row(1, 'a')>"


def test_an_empty_row_has_no_fields() -> None:
    assert len(Row()) == 0
    assert repr(Row()) == "<Row()>"


def test_both_kinds_of_arguments_are_refused() -> None:
    with pytest.raises(RowFieldNamesError, match="positional and keyword"):
        Row(1, age=42)


class TestTemplate:
    def test_names_the_fields_in_its_own_order(self) -> None:
        person = Row("name", "age")

        assert repr(person) == "<Row('name', 'age')>"
        assert repr(person("Ann", 42)) == "Row(name='Ann', age=42)"

    def test_makes_rows_of_its_own_kind(self) -> None:
        person = Row("name")
        person.set_row_kind(RowKind.DELETE)

        assert person("Ann").get_row_kind() is RowKind.DELETE

    def test_refuses_more_values_than_names(self) -> None:
        with pytest.raises(RowFieldNamesError, match="3 values"):
            Row("name", "age")("Ann", 42, None)

    def test_fields_without_value_are_not_there(self) -> None:
        person = Row("name", "age")("Ann")

        assert person.as_dict() == {"name": "Ann"}
        with pytest.raises(UnknownFieldError):
            person.age  # noqa: B018
        with pytest.raises(UnknownFieldError):
            person["age"]


class TestReading:
    def test_by_position_and_slice(self) -> None:
        row = Row(1, "a", None)

        assert row[0] == 1
        assert row[-2] == "a"
        assert row[0:2] == [1, "a"]
        with pytest.raises(IndexError):
            row[3]

    def test_by_name(self) -> None:
        row = Row(id=1, name="a")

        assert row["name"] == row.name == "a"

    def test_methods_hide_fields_of_their_name_but_not_by_subscript(self) -> None:
        row = Row(as_dict=1, _id=2)

        assert callable(row.as_dict)
        assert row["as_dict"] == 1
        assert row["_id"] == 2
        with pytest.raises(AttributeError):
            row._id  # noqa: B018

    def test_in_looks_among_the_names_if_there_are_any(self) -> None:
        for named in (Row(id=1), row_factory(["id"])((1,))):
            assert "id" in named
            assert 1 not in named
        assert "name" in Row("name", "age")

    def test_fields_are_read_by_several_names(self) -> None:
        for row in (Row(id=1, name="a", age=2), row_factory(["id", "name", "age"])((1, "a", 2))):
            assert row.get_fields_by_names(["age", "id"]) == [2, 1]
            with pytest.raises(UnknownFieldError, match="'size'"):
                row.get_fields_by_names(["id", "size"])
        assert Row(1, "a").get_fields_by_names(["any"]) == [1, "a"]

    def test_a_row_is_made_with_its_kind(self) -> None:
        for row in (Row.of_kind(RowKind.DELETE, 1, "a"), Row.of_kind(RowKind.DELETE, id=1)):
            assert row.get_row_kind() is RowKind.DELETE
        assert Row.of_kind(RowKind.INSERT, id=1) == Row(id=1)
        assert list(map(str, RowKind)) == ["+I", "-U", "+U", "-D"]
        with pytest.raises(RowFieldNamesError):
            Row.of_kind(RowKind.INSERT, 1, id=1)

    @pytest.mark.parametrize("error", [AttributeError, KeyError, ValueError, PenstockError])
    def test_an_unknown_name_is_an_error_that_lists_the_fields(
        self, error: type[Exception]
    ) -> None:
        with pytest.raises(error) as by_attribute:
            Row(id=1, name="a").nam  # noqa: B018
        with pytest.raises(error) as by_name:
            Row(id=1, name="a")["nam"]

        expected = "The row has no field 'nam'.\n\nHint: Its fields are: id, name."
        assert str(by_attribute.value) == str(by_name.value) == expected

    def test_an_unknown_name_without_any_names_says_so(self) -> None:
        with pytest.raises(UnknownFieldError, match="have no names"):
            Row(1).name  # noqa: B018
        assert not hasattr(Row(1), "name")

    def test_the_error_can_be_pickled(self) -> None:
        error = pickle.loads(pickle.dumps(unknown_field("a", ["b"])))

        assert isinstance(error, UnknownFieldError)
        assert str(error) == str(unknown_field("a", ["b"]))


class TestChanging:
    def test_a_value_by_position_slice_and_name(self) -> None:
        row = Row(a=1, b=2, c=3)
        row[0] = 10
        row["b"] = 20
        row[2:] = [30]

        assert row == Row(a=10, b=20, c=30)

    def test_an_unknown_field_is_refused(self) -> None:
        row = Row(a=1)
        with pytest.raises(UnknownFieldError):
            row["b"] = 2
        with pytest.raises(AttributeError):
            row.b = 2  # type: ignore[attr-defined]
        assert row == Row(a=1)

    def test_changing_one_row_leaves_its_values_elsewhere_alone(self) -> None:
        values = (1, 2)
        row = row_of(None, values)
        row[0] = 10

        assert values == (1, 2)

    def test_the_names(self) -> None:
        row = Row(1, "a")
        row.set_field_names(["id", "name"])

        assert row == row_of(("id", "name"), (1, "a"))
        with pytest.raises(RowFieldNamesError, match="2 values"):
            row.set_field_names(["id"])

    def test_the_kind(self) -> None:
        row = Row(1)
        assert row.get_row_kind() is RowKind.INSERT
        row.set_row_kind(RowKind.UPDATE_AFTER)
        assert row.get_row_kind() is RowKind.UPDATE_AFTER


class TestAsDict:
    def test_keeps_the_order_of_the_fields(self) -> None:
        assert list(Row("b", "a")(1, 2).as_dict().items()) == [("b", 1), ("a", 2)]

    def test_leaves_inner_rows_alone_unless_told(self) -> None:
        inner = Row(x=1)
        row = Row(one=inner, many=[inner], by_name={"k": inner}, other=(1,))

        assert row.as_dict()["one"] is inner
        assert row.as_dict(recursive=True) == {
            "one": {"x": 1},
            "many": [{"x": 1}],
            "by_name": {"k": {"x": 1}},
            "other": (1,),
        }

    def test_needs_names(self) -> None:
        with pytest.raises(RowFieldNamesError, match="no names"):
            Row(1).as_dict()


class TestEquality:
    def test_needs_the_same_values_names_and_kind(self) -> None:
        other_kind = Row(1, 2)
        other_kind.set_row_kind(RowKind.DELETE)

        assert Row(1, 2) == Row(1, 2)
        assert Row(1, 2) != Row(1, 3)
        assert Row(a=1, b=2) != Row(1, 2)
        assert Row(a=1, b=2) != Row(a=1, c=2)
        assert Row("b", "a")(2, 1) != Row(a=1, b=2)
        assert Row(1, 2) != other_kind

    def test_a_tuple_is_no_row(self) -> None:
        assert Row(1, 2) != (1, 2)
        assert Row(1, 2) != (1, 2)

    @given(rows(keys), rows(keys))
    def test_equal_rows_have_equal_hashes(self, one: Row, other: Row) -> None:
        assert (one == other) == (other == one)
        assert (one != other) is not (one == other)
        if one == other:
            assert hash(one) == hash(other)

    @given(st.lists(st.tuples(names, keys), max_size=4, unique_by=lambda field: field[0]))
    def test_the_way_a_row_is_made_does_not_matter(self, fields: list[tuple[str, Any]]) -> None:
        fields.sort()
        field_names = tuple(name for name, _ in fields)
        values = tuple(value for _, value in fields)
        made = [
            Row(*field_names)(*values),
            row_of(field_names, values),
            row_factory(field_names)(values),
            pickle.loads(pickle.dumps(row_of(field_names, values))),
        ]
        if fields:
            made.append(Row(**dict(fields)))

        assert all(one == other for one in made for other in made)
        assert len({hash(row) for row in made}) == 1
        assert len({repr(row) for row in made}) == 1
        assert len(set(made)) == 1

    def test_a_row_of_values_without_hash_has_none(self) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            hash(Row([1]))


class TestPickling:
    @given(rows(), st.sampled_from(range(pickle.HIGHEST_PROTOCOL + 1)))
    def test_gives_an_equal_row(self, row: Row, protocol: int) -> None:
        again = pickle.loads(pickle.dumps(row, protocol))

        assert again == row
        assert type(again) is type(row)
        assert field_names_of(again) == field_names_of(row)
        assert again.get_row_kind() is row.get_row_kind()

    @given(rows())
    def test_so_do_cloudpickle_and_copies(self, row: Row) -> None:
        assert cloudpickle.loads(cloudpickle.dumps(row)) == row
        assert copy.copy(row) == row
        assert copy.deepcopy(row) == row

    def test_a_deep_copy_shares_nothing_that_can_change(self) -> None:
        row = Row(values=[1])
        copied = copy.deepcopy(row)
        copied["values"].append(2)

        assert row == Row(values=[1])

    def test_a_block_holds_the_names_once(self) -> None:
        person = Row("a_long_name_of_a_field", "another_long_name")
        block = pickle.dumps([person(number, number) for number in range(100)])

        assert block.count(b"a_long_name_of_a_field") == 1
        assert len(block) < 100 * 20


def test_row_of_shares_names_and_values() -> None:
    field_names, values = ("a",), (1,)
    row = row_of(field_names, values)

    assert field_names_of(row) is field_names
    assert row == Row(a=1)


def test_a_row_is_no_bigger_than_its_parts() -> None:
    assert not hasattr(Row(1), "__dict__")
