from __future__ import annotations

import copy
import keyword
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from operator import setitem
from typing import Any

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.rows.data_frame_row import DataFrameRow, row_factory
from penstock.common.types import Row, RowKind, field_names_of, row_of
from penstock.errors import ImmutableRowError, RowFieldNamesError, UnknownFieldError

COLUMN_NAMES = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["count", "index", "as_dict", "class", "two words", "_id", "__len__", "_names", "_factory"]
)


def person(name: str = "Ann", age: int = 42) -> Row:
    return row_factory(["name", "age"])((name, age))


def test_passes_for_a_row_and_is_a_tuple() -> None:
    row = person()

    assert isinstance(row, Row)
    assert isinstance(row, tuple)
    assert issubclass(type(row), DataFrameRow)
    assert not isinstance(("Ann", 42), Row)


def test_is_read_by_name_position_and_slice() -> None:
    row = person()

    assert row.name == row["name"] == row[0] == row[-2] == "Ann"
    assert row[0:2] == ["Ann", 42]
    name, age = row
    assert (name, age) == ("Ann", 42)
    assert list(row) == ["Ann", 42]
    assert "age" in row
    assert 42 not in row
    assert len(row) == 2
    with pytest.raises(IndexError):
        row[2]


def test_an_unknown_field_is_an_error_that_lists_the_fields() -> None:
    expected = "The row has no field 'nam'.\n\nHint: Its fields are: name, age."
    with pytest.raises(UnknownFieldError) as by_attribute:
        person().nam  # noqa: B018
    with pytest.raises(UnknownFieldError) as by_name:
        person()["nam"]

    assert str(by_attribute.value) == str(by_name.value) == expected
    assert not hasattr(person(), "_fields")


def test_answers_as_a_row_does() -> None:
    row = person()

    assert repr(row) == "Row(name='Ann', age=42)"
    assert row.as_dict() == {"name": "Ann", "age": 42}
    assert row.get_row_kind() is RowKind.INSERT
    assert field_names_of(row) == ("name", "age")
    assert Row(inner=row).as_dict(recursive=True) == {"inner": {"name": "Ann", "age": 42}}


def test_can_be_a_template() -> None:
    template = row_factory(["first", "second"])(("a", "b"))

    assert template(1, 2) == Row(a=1, b=2)
    with pytest.raises(RowFieldNamesError):
        template(1, 2, 3)


def test_equals_rows_of_the_same_names_and_values_only() -> None:
    ordinary = row_of(("name", "age"), ("Ann", 42))
    deleted = row_of(("name", "age"), ("Ann", 42))
    deleted.set_row_kind(RowKind.DELETE)

    assert person() == ordinary
    assert ordinary == person()
    assert {person(): 1}[ordinary] == 1
    assert person() == person()
    assert person() != person("Bob")
    assert person() != row_factory(["name", "years"])(("Ann", 42))
    assert person() != Row("Ann", 42)
    assert person() != deleted
    assert deleted != person()
    assert person() != ("Ann", 42)
    assert person() != ("Ann", 42)


@pytest.mark.parametrize(
    "change",
    [
        lambda row: setitem(row, "name", "Bob"),
        lambda row: setitem(row, 0, "Bob"),
        lambda row: row.set_field_names(["a", "b"]),
        lambda row: row.set_row_kind(RowKind.DELETE),
    ],
)
def test_cannot_be_changed(change: Callable[[Row], None]) -> None:
    row = person()
    with pytest.raises(ImmutableRowError, match=r"Row\('name', 'age'\)\(\*row\)"):
        change(row)
    assert row == person() == Row("name", "age")(*row)


def test_has_no_attributes_to_set() -> None:
    row = person()
    with pytest.raises(AttributeError):
        row.name = "Bob"  # type: ignore[attr-defined]
    assert row == person()


def test_needs_no_more_memory_than_a_tuple() -> None:
    assert not hasattr(person(), "__dict__")
    assert sys.getsizeof(person()) == sys.getsizeof(("Ann", 42))


@given(st.lists(COLUMN_NAMES, max_size=6))
def test_any_names_do(names: Sequence[str]) -> None:
    values = tuple(range(len(names)))
    row = row_factory(names)(values)

    assert tuple(row) == values
    assert row == row_of(tuple(names), values)
    assert field_names_of(row) == tuple(names)
    assert row.get_row_kind() is RowKind.INSERT
    assert callable(row.as_dict)
    assert pickle.loads(pickle.dumps(row)) == row
    for name in names:
        assert row[name] == names.index(name)
        if not name.startswith("_") and name != "as_dict":
            assert getattr(row, name) == names.index(name)


@pytest.mark.parametrize("name", ["count", "index", *keyword.kwlist[:3]])
def test_fields_hide_the_methods_of_tuples(name: str) -> None:
    assert getattr(row_factory([name])((7,)), name) == 7


class TestPickling:
    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_gives_a_row_of_the_same_class(self, protocol: int) -> None:
        again = pickle.loads(pickle.dumps(person(), protocol))

        assert again == person()
        assert type(again) is type(person())

    def test_a_block_holds_the_schema_once(self) -> None:
        factory = row_factory(["a_long_name_of_a_field", "another_long_name"])
        block = pickle.dumps(factory.rows([range(100), range(100)]))

        assert block.count(b"a_long_name_of_a_field") == 1
        assert block.count(b"data_frame_row") == 1
        assert len(block) < 100 * 15

    def test_another_process_reads_it(self) -> None:
        program = (
            "import pickle, sys; row = pickle.load(sys.stdin.buffer); print(row.name, row.age)"
        )
        for pickled in (pickle.dumps(person()), cloudpickle.dumps(person())):
            done = subprocess.run(
                [sys.executable, "-c", program], input=pickled, capture_output=True, check=True
            )
            assert done.stdout.split() == [b"Ann", b"42"]

    def test_cloudpickle_and_copies_keep_the_class(self) -> None:
        row = row_factory(["values"])(([1],))
        copied = copy.deepcopy(row)
        copied["values"].append(2)

        assert type(cloudpickle.loads(cloudpickle.dumps(row))) is type(row)
        assert type(copied) is type(row)
        assert row.values == [1]


class TestFactory:
    def test_is_one_for_each_schema(self) -> None:
        assert row_factory(["a", "b"]) is row_factory(("a", "b"))
        assert row_factory(["a", "b"]) is not row_factory(["b", "a"])
        assert pickle.loads(pickle.dumps(row_factory(["a"]))) is row_factory(["a"])

    @given(st.lists(st.tuples(st.integers(), st.text()), max_size=20))
    def test_turns_columns_into_rows(self, records: list[tuple[int, str]]) -> None:
        factory = row_factory(["id", "name"])
        columns: list[list[Any]] = [[r[0] for r in records], [r[1] for r in records]]
        rows = factory.rows(columns)

        assert rows == [row_of(("id", "name"), record) for record in records]
        assert [list(column) for column in zip(*rows, strict=True)] == (columns if rows else [])

    def test_makes_rows_that_do_not_share_their_tuple(self) -> None:
        rows = row_factory(["id"]).rows([range(3)])

        assert [row.id for row in rows] == [0, 1, 2]

    def test_refuses_columns_of_different_length(self) -> None:
        with pytest.raises(ValueError, match="shorter"):
            row_factory(["a", "b"]).rows([[1, 2], [1]])
