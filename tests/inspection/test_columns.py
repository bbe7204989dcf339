from __future__ import annotations

import dataclasses
import datetime
import enum
import pickle
import uuid
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row
from penstock.datastream.window import CountWindow, GlobalWindow, TimeWindow
from penstock.inspection.columns import columns_of


class Size(enum.Enum):
    BIG = 3


class Pair(NamedTuple):
    left: int
    right: str


@dataclasses.dataclass
class Order:
    number: int
    tags: list[str]


class Plain:
    def __repr__(self) -> str:
        return "Plain()"


DAY = datetime.date(2024, 2, 29)
ID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1, None, 3], [1, None, 3]),
        ([1, 2.5], [1.0, 2.5]),
        ([True, False], [True, False]),
        ([b"a", b""], [b"a", b""]),
        ([DAY], [DAY]),
        ([Decimal("1.50")], [Decimal("1.50")]),
        ([ID], [str(ID)]),
        ([Size.BIG], ["BIG"]),
        ([("a", 1), ("b", 2)], [{"f0": "a", "f1": 1}, {"f0": "b", "f1": 2}]),
        ([Pair(1, "a")], [{"left": 1, "right": "a"}]),
        ([Row(id=1, name="a")], [{"id": 1, "name": "a"}]),
        ([Row(1, "a")], [{"f0": 1, "f1": "a"}]),
        ([Order(7, ["x"])], [{"number": 7, "tags": ["x"]}]),
        ([TimeWindow(0, 10)], [{"start": 0, "end": 10}]),
        ([CountWindow(3)], [{"id": 3}]),
        ([[1, 2], []], [[1, 2], []]),
        ([{"count": 1, "sum": 2.5}], [{"count": 1, "sum": 2.5}]),
        ([{1: "a", 2: "b"}], [[{"key": 1, "value": "a"}, {"key": 2, "value": "b"}]]),
        ([("a", ("b", DAY))], [{"f0": "a", "f1": {"f0": "b", "f1": DAY}}]),
        ([], []),
    ],
)
def test_values_with_an_arrow_form(values: list[Any], shown: list[Any]) -> None:
    columns = columns_of("value", values)

    assert list(columns) == ["value"]
    assert columns["value"].to_pylist() == shown


@pytest.mark.parametrize(
    "values", [[1, "a"], [2**70], [True, 1, "x"], [Plain()], [1, Order(1, [])], [["a", 1]]]
)
def test_others_are_texts_and_pickles(values: list[Any]) -> None:
    columns = columns_of("value", values)

    assert columns["value"].to_pylist() == [repr(value) for value in values]
    pickles = columns["value_pickled"].to_pylist()
    assert [repr(pickle.loads(data)) for data in pickles] == columns["value"].to_pylist()


def test_what_cannot_be_pickled_has_its_text() -> None:
    columns = columns_of("value", [lambda: 1, Plain()])

    assert columns["value_pickled"].to_pylist()[0] is None
    assert columns["value"].to_pylist()[0].startswith("<function")


def test_global_windows_are_no_obstacle() -> None:
    (column, *_) = columns_of("namespace", [GlobalWindow()]).values()

    assert len(column) == 1


@given(
    values=st.lists(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False)
            | st.text()
            | st.text(alphabet=st.characters(categories=["Cs"]))
            | st.binary(),
            lambda inner: (
                st.lists(inner)
                | st.tuples(inner, inner)
                | st.dictionaries(st.text() | st.integers(), inner)
                | st.frozensets(st.integers())
            ),
            max_leaves=6,
        ),
        max_size=4,
    )
)
def test_any_values_become_columns(values: list[Any]) -> None:
    columns = columns_of("value", values)

    assert all(len(column) == len(values) for column in columns.values())
    pa.table(columns).to_pylist()


def test_bytes_among_texts_are_no_texts() -> None:
    assert list(columns_of("value", [["", b"\x80"]])) == ["value", "value_pickled"]
