from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.task.sorted_records import SortedRecords

Record = tuple[int, str, int | None]
"""Input, key and timestamp; the value is the place in the input."""

records = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from("abc"), st.none() | st.integers(-3, 3))
)


def given_out(sorted_records: SortedRecords) -> list[tuple[int, Any, Any, Any]]:
    found = []
    for number, block in sorted_records.take():
        assert len(block.values) <= BLOCK_SIZE
        assert block.timestamps is not None
        assert block.keys is not None
        found += [
            (number, value, timestamp, key)
            for value, timestamp, key in zip(
                block.values, block.timestamps, block.keys, strict=True
            )
        ]
    return found


@given(records)
def test_records_come_key_by_key_and_by_timestamp(taken: list[Record]) -> None:
    held = SortedRecords()
    for place, (number, key, timestamp) in enumerate(taken):
        held.add(number, Block([{"place": place}], [timestamp], [key]))

    found = given_out(held)

    keys = [key for *_, key in found]
    assert [key for place, key in enumerate(keys) if keys[place - 1 : place] != [key]] == list(
        dict.fromkeys(key for _, key, _ in taken)
    )
    for key in set(keys):
        own = [
            (place, number, timestamp)
            for place, (number, other, timestamp) in enumerate(taken)
            if other == key
        ]
        own.sort(key=lambda record: (record[2] is not None, record[2] or 0, record[1], record[0]))
        assert [
            (value["place"], number, timestamp)
            for number, value, timestamp, other in found
            if other == key
        ] == own


def test_records_without_timestamps_are_taken_too() -> None:
    held = SortedRecords()
    held.add(1, Block([7, 8], None, ["a", "b"]))

    assert given_out(held) == [(1, 7, None, "a"), (1, 8, None, "b")]


def test_blocks_are_no_larger_than_a_block() -> None:
    held = SortedRecords()
    many = list(range(3 * BLOCK_SIZE))
    held.add(0, Block(many, None, [0] * len(many)))

    assert [value for _, value, _, _ in given_out(held)] == many


def test_what_was_given_out_does_not_come_again() -> None:
    held = SortedRecords()
    held.add(0, Block([1], None, ["a"]))
    given_out(held)

    assert given_out(held) == []
