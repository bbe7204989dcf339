from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.common.rows.data_frame_row import row_factory
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.row_block import RowBlock

FACTORY = row_factory(["id", "name"])
numbers = st.integers(0, 9)


def parts_of(block: Block) -> tuple[Any, ...]:
    return block.values, block.timestamps, block.keys


@st.composite
def twins(draw: st.DrawFn, *, timed: bool | None = None, keyed: bool | None = None) -> Any:
    """The same rows as a block of columns and as a block of rows."""
    rows = draw(st.lists(st.tuples(numbers, st.text(max_size=2)), max_size=6))
    columns: list[list[Any]] = [[row[0] for row in rows], [row[1] for row in rows]]
    has_times = draw(st.booleans()) if timed is None else timed
    has_keys = draw(st.booleans()) if keyed is None else keyed
    times: list[int | None] | None = [*range(len(rows))] if has_times else None
    keys = columns[0] if has_keys else None
    by_row = Block([FACTORY(row) for row in rows], times, keys)
    return RowBlock(FACTORY, columns, times, keys), by_row


@given(twins(), st.data())
def test_whatever_is_done_to_columns_is_as_if_done_to_rows(pair: Any, data: st.DataObject) -> None:
    columns, rows = pair
    assert parts_of(columns) == parts_of(rows)
    assert len(columns) == len(rows)
    start, end = sorted(data.draw(st.tuples(numbers, numbers)))
    assert parts_of(columns.part(start, end)) == parts_of(rows.part(start, end))
    mask = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    assert parts_of(columns.chosen(mask)) == parts_of(rows.chosen(mask))
    order = data.draw(st.permutations(range(len(rows))))
    assert parts_of(columns.reordered(order)) == parts_of(rows.reordered(order))
    keys = [*range(len(rows))]
    assert parts_of(columns.with_keys(keys)) == parts_of(rows.with_keys(keys))
    assert parts_of(pickle.loads(pickle.dumps(columns))) == parts_of(rows)
    assert [parts_of(part) for part in columns.cut(2)] == [parts_of(part) for part in rows.cut(2)]


@given(st.booleans(), st.booleans(), st.data())
def test_what_is_added_to_a_copy_leaves_the_block_alone(
    timed: bool, keyed: bool, data: st.DataObject
) -> None:
    (first, first_rows), (second, second_rows) = (
        data.draw(twins(timed=timed, keyed=keyed)) for _ in range(2)
    )
    joined, joined_rows = first.copy(), first_rows.copy()
    assert joined.is_like(second)
    assert joined.values == first.values
    joined.extend(second)
    joined_rows.extend(second_rows)
    assert parts_of(joined) == parts_of(joined_rows)
    assert len(joined) == len(first) + len(second)
    assert parts_of(first) == parts_of(first_rows)


def test_only_rows_of_one_frame_are_alike() -> None:
    block = RowBlock(FACTORY, [[1], ["a"]])
    assert block.is_like(RowBlock(FACTORY, [[2], ["b"]]))
    assert not block.is_like(RowBlock(row_factory(["id", "age"]), [[2], [3]]))
    assert not block.is_like(RowBlock(FACTORY, [[2], ["b"]], [5]))
    assert not block.is_like(Block([(2, "b")]))
    assert not Block([(2, "b")]).is_like(block)
