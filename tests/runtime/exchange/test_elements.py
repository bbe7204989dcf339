from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import records_of
from tests.runtime.strategies import blocks

from penstock.common.rows.data_frame_row import row_factory
from penstock.common.types import Row, field_names_of
from penstock.runtime.exchange.elements import (
    BLOCK_SIZE,
    Block,
    CheckpointBarrier,
    EndOfInput,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

any_blocks = blocks(with_timestamps=None, with_keys=None)
schemas = st.lists(st.sampled_from(["a", "b", "_c", "count"]), max_size=3)


def columns_of(block: Block) -> tuple[bool, bool]:
    return block.timestamps is not None, block.keys is not None


def test_timestamps_have_the_limits_of_a_java_long() -> None:
    assert (MIN_TIMESTAMP, MAX_TIMESTAMP) == (-9223372036854775808, 9223372036854775807)


class TestCut:
    @given(any_blocks, st.integers(1, 25))
    def test_gives_the_same_records_in_blocks_of_the_size(self, block: Block, size: int) -> None:
        parts = list(block.cut(size))

        assert [record for part in parts for record in records_of(part)] == records_of(block)
        assert all(columns_of(part) == columns_of(block) for part in parts)
        *full, last = parts
        assert all(len(part) == size for part in full)
        assert len(last) <= size
        assert last.values or not block.values

    @given(any_blocks)
    def test_copies_nothing_that_is_small_enough(self, block: Block) -> None:
        [part] = block.cut(max(len(block), 1))

        assert part is block

    def test_gives_blocks_of_the_usual_size(self) -> None:
        sizes = [len(part) for part in Block(list(range(2 * BLOCK_SIZE + 1))).cut()]

        assert sizes == [BLOCK_SIZE, BLOCK_SIZE, 1]


@given(any_blocks, st.integers(0, 25), st.integers(0, 25))
def test_a_part_is_a_slice_of_all_columns(block: Block, start: int, end: int) -> None:
    before = records_of(block)

    part = block.part(start, end)

    assert records_of(part) == before[start:end]
    assert columns_of(part) == columns_of(block)
    part.values.append("later")
    assert records_of(block) == before


@given(any_blocks)
def test_records_are_values_with_their_timestamps(block: Block) -> None:
    assert list(block.records()) == [
        StreamRecord(value, timestamp) for value, timestamp, _ in records_of(block)
    ]


class TestPickling:
    @given(any_blocks)
    def test_keeps_all_columns(self, block: Block) -> None:
        copy = pickle.loads(pickle.dumps(block))

        assert records_of(copy) == records_of(block)
        assert columns_of(copy) == columns_of(block)

    @given(schemas, schemas, st.data())
    def test_keeps_rows_of_data_frames(
        self, names: list[str], other_names: list[str], data: st.DataObject
    ) -> None:
        def rows(names: list[str]) -> st.SearchStrategy[Any]:
            return st.tuples(*[st.integers()] * len(names)).map(row_factory(names))

        block = data.draw(
            blocks(rows(names), with_timestamps=None, with_keys=None)
            | blocks(rows(names) | rows(other_names) | st.none(), with_timestamps=None)
        )

        copy = pickle.loads(pickle.dumps(block))

        assert records_of(copy) == records_of(block)
        assert list(map(type, copy.values)) == list(map(type, block.values))
        assert columns_of(copy) == columns_of(block)

    def test_writes_the_names_of_rows_once(self) -> None:
        rows = row_factory(["a_name_that_is_long"]).rows([range(100)])

        assert pickle.dumps(Block(list(rows))).count(b"a_name_that_is_long") == 1

    def test_leaves_rows_of_the_program_as_they_are(self) -> None:
        [row] = pickle.loads(pickle.dumps(Block([Row(b=1, a=2)]))).values

        assert (field_names_of(row), list(row)) == (("b", "a"), [1, 2])

    def test_keeps_in_band_elements_apart(self) -> None:
        elements = [
            Watermark(1),
            EndOfInput(),
            CheckpointBarrier(1, "a"),
            WatermarkStatus.ACTIVE,
            WatermarkStatus.IDLE,
        ]

        copies = pickle.loads(pickle.dumps(elements))

        assert copies == elements
        assert list(map(type, copies)) == list(map(type, elements))


def test_shows_its_columns() -> None:
    assert repr(Block([1], [2], ["k"])) == "Block([1], [2], ['k'])"
