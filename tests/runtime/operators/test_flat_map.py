from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Harness, Journal
from tests.runtime.strategies import blocks

from penstock.errors import UserFunctionError
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.operators.flat_map import FlatMapOperator

FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "generator": lambda results: (result for result in results),
    "None for nothing": lambda results: results or None,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@settings(max_examples=30)
@given(block=blocks(st.lists(st.integers(), max_size=3), with_timestamps=None))
def test_emits_all_results_with_the_timestamps_of_their_records(
    form: Callable[[list[Any]], Any], block: Block
) -> None:
    harness = Harness(FlatMapOperator(form))
    harness.process(block.values, block.timestamps)

    assert harness.output.records() == [
        (result, record.timestamp) for record in block.records() for result in record.value
    ]


@pytest.mark.parametrize("form", [range, lambda size: list(range(size))], ids=["range", "list"])
@settings(max_examples=30)
@given(
    sizes=st.lists(st.integers(0, 3 * BLOCK_SIZE) | st.just(BLOCK_SIZE // 2), max_size=6),
    timed=st.booleans(),
)
def test_many_results_are_cut_into_blocks(
    form: Callable[[int], Any], sizes: list[int], timed: bool
) -> None:
    harness = Harness(FlatMapOperator(form))
    harness.process(sizes, list(range(len(sizes))) if timed else None)

    assert harness.output.records() == [
        (result, place if timed else None)
        for place, size in enumerate(sizes)
        for result in range(size)
    ]
    lengths = [len(block) for block in harness.output.blocks()]
    assert all(length == BLOCK_SIZE for length in lengths[:-1])
    assert all(length <= BLOCK_SIZE for length in lengths)
    assert len({id(block.values) for block in harness.output.blocks()}) == len(lengths)


def test_an_endless_generator_is_asked_for_a_block_at_a_time() -> None:
    asked = Journal()

    def count(value: Any) -> Iterator[int]:
        number = 0
        while True:
            asked.append(number)
            yield number
            number += 1

    harness = Harness(FlatMapOperator(count))

    class EnoughError(Exception):
        pass

    def stop(block: Block) -> None:
        raise EnoughError

    harness.output.collect = stop  # type: ignore[method-assign]
    with pytest.raises(EnoughError):
        harness.process(["x"])
    assert asked == list(range(BLOCK_SIZE))


def test_a_generator_that_raises_half_way_tells_its_record() -> None:
    def results(value: int) -> Iterator[int]:
        yield value
        if value == 2:
            raise ZeroDivisionError("half way")
        yield value

    harness = Harness(FlatMapOperator(results), name="Mine")
    with pytest.raises(UserFunctionError) as raised:
        harness.process([1, 2, 3])

    assert (raised.value.operator, raised.value.record) == ("Mine", "2")
    assert str(raised.value).startswith(f'Traceback (most recent call last):\n  File "{__file__}"')
    assert "ZeroDivisionError: half way" in str(raised.value)


def test_results_that_are_none_are_told_with_their_record() -> None:
    harness = Harness(FlatMapOperator(lambda value: value))
    with pytest.raises(UserFunctionError, match="'int' object is not iterable") as raised:
        harness.process([[1], 5, [2]])

    assert raised.value.record == "5"
