"""Blocks of rows that are still columns."""

from __future__ import annotations

import pickle

import pyarrow as pa

from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block, Partial


def block() -> ColumnBlock:
    rows = pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}])
    return ColumnBlock(rows, pa.array([10, 30, 20]))


def test_has_the_records_that_it_holds() -> None:
    assert len(block()) == 3
    assert [row.as_dict() for row in block().values] == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": "y"},
        {"a": 3, "b": "z"},
    ]
    assert block().timestamps == [10, 30, 20]
    assert block().latest() == 30
    assert ColumnBlock(block().rows).timestamps is None


def test_is_cut_as_other_blocks_are() -> None:
    parts = list(block().cut(2))
    assert [[row.a for row in part.values] for part in parts] == [[1, 2], [3]]
    assert [part.timestamps for part in parts] == [[10, 30], [20]]
    assert [row.a for row in block().part(1, 2).values] == [2]


def test_partials_are_pickled_in_columns() -> None:
    partials = [Partial(3, 1.5), Partial(1, None)]
    found = pickle.loads(pickle.dumps(Block(list(partials), [1, 2], ["a", "b"])))
    assert found.values == partials
    assert [type(value) for value in found.values] == [Partial, Partial]
    assert (found.timestamps, found.keys) == ([1, 2], ["a", "b"])


def test_partials_that_are_rows_of_a_frame_are_pickled_in_columns() -> None:
    rows = block().values
    found = pickle.loads(pickle.dumps(Block([Partial(2, row) for row in rows])))
    assert [value.value for value in found.values] == rows
    single = len(pickle.dumps(Partial(2, rows[0])))
    assert len(pickle.dumps(Block([Partial(2, row) for row in rows * 100]))) < 50 * single
