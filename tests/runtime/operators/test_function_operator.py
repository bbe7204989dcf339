"""What holds for all operators that call a function of the user, and for map, filter and flat_map alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import CollectingOutput, Harness, Journal
from tests.runtime.strategies import blocks

from penstock.common.types import Row
from penstock.errors import PenstockError, UserFunctionError
from penstock.runtime.context import RuntimeContext
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.operators.function_operator import (
    FilterOperator,
    FlatMapOperator,
    FunctionOperator,
    MapOperator,
)
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import SinkOperator
from penstock.runtime.task.chained_outputs import CountingOutput

OPERATORS: list[type[FunctionOperator]] = [
    MapOperator,
    FilterOperator,
    FlatMapOperator,
    ProcessOperator,
    ReduceOperator,
    SinkOperator,
]
every_operator = pytest.mark.parametrize("kind", OPERATORS, ids=lambda kind: kind.__name__)
with_and_without_timestamps = pytest.mark.parametrize("timed", [False, True])


def call_with(check: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function for any operator that calls `check` with the record."""

    def function(*arguments: Any) -> Any:
        # A reduce function is given the record last, all others first.
        record = arguments[-1] if len(arguments) == 2 and _is_value(arguments[1]) else arguments[0]
        check(record)
        return [record]

    return function


def _is_value(argument: Any) -> bool:
    return isinstance(argument, (int, str, Row))


def process(harness: Harness, records: list[Any], *, timed: bool = False) -> None:
    # One key for all, and a record before them, so that a reduce calls its function for each.
    is_reduce = isinstance(harness.operator, ReduceOperator)
    if is_reduce:
        harness.process([0], keys=["key"])
    harness.process(
        records,
        timestamps=[5] * len(records) if timed else None,
        keys=["key"] * len(records) if is_reduce else None,
    )


class Function:
    """A function of the user for any operator, with `open` and `close`."""

    def __init__(self, journal: Journal, failing: str = "") -> None:
        self.journal = journal
        self.failing = failing

    def open(self, context: RuntimeContext) -> None:
        self._step("open")
        self.journal.append(context.get_task_name())

    def close(self) -> None:
        self._step("close")

    def _step(self, name: str) -> None:
        self.journal.append(name)
        if name == self.failing:
            raise OSError(f"{name} failed")

    def _call(self, *arguments: Any) -> Any:
        self.journal.append("call")
        return []

    map = filter = flat_map = process_element = reduce = invoke = _call


@every_operator
class TestEveryFunctionOperator:
    @with_and_without_timestamps
    @settings(max_examples=15)
    @given(failing=st.integers(1, 10))
    def test_an_error_tells_operator_record_and_the_users_traceback(
        self, kind: type[FunctionOperator], timed: bool, failing: int
    ) -> None:
        def fail(value: int) -> None:
            if value == failing:
                raise ZeroDivisionError("by nothing")

        with pytest.raises(UserFunctionError) as raised:
            process(Harness(kind(call_with(fail)), name="Mine"), list(range(1, 11)), timed=timed)

        error = raised.value
        assert (error.operator, error.record) == ("Mine", str(failing))
        first, second, *_ = str(error).splitlines()
        assert first == "Traceback (most recent call last):"
        assert second.startswith(f'  File "{__file__}"')
        assert (
            f"ZeroDivisionError: by nothing\n\nOperator 'Mine' failed on the record {failing}\n\nHint: "
            in str(error)
        )
        assert isinstance(error.__cause__, ZeroDivisionError)

    @with_and_without_timestamps
    @pytest.mark.parametrize("failing", [1, 3, 5])
    def test_a_function_that_raises_stop_iteration_loses_no_record(
        self, kind: type[FunctionOperator], timed: bool, failing: int
    ) -> None:
        def fail(value: int) -> None:
            next(iter([] if value == failing else [value]))

        with pytest.raises(UserFunctionError, match=f"'Mine' failed on the record {failing}"):
            process(Harness(kind(call_with(fail)), name="Mine"), [1, 2, 3, 4, 5], timed=timed)

    @with_and_without_timestamps
    def test_a_field_that_is_not_there_is_told_with_operator_and_record(
        self, kind: type[FunctionOperator], timed: bool
    ) -> None:
        function = call_with(lambda row: row.nam)

        with pytest.raises(PenstockError, match="has no field 'nam'") as raised:
            process(Harness(kind(function), name="Mine"), [Row(name="Ann")], timed=timed)

        assert "'Mine' failed on the record Row(name='Ann')" in str(raised.value)

    def test_opens_and_closes_the_function(self, kind: type[FunctionOperator]) -> None:
        journal = Journal()
        harness = Harness(kind(Function(journal)), name="Mine")
        assert journal == ["open", "Mine"]

        process(harness, [1, 2])
        harness.operator.close()

        assert journal == ["open", "Mine", "call", "call", "close"]

    @pytest.mark.parametrize("step", ["open", "close"])
    def test_tells_when_it_cannot_be_opened_or_closed(
        self, kind: type[FunctionOperator], step: str
    ) -> None:
        with pytest.raises(UserFunctionError) as raised:
            Harness(kind(Function(Journal(), step)), name="Mine").operator.close()

        assert (raised.value.operator, raised.value.record) == ("Mine", None)
        assert str(raised.value).startswith(
            f'Traceback (most recent call last):\n  File "{__file__}"'
        )
        assert f"OSError: {step} failed\n\nOperator 'Mine' failed.\n" in str(raised.value)


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    ("kind", "function"),
    [
        (MapOperator, lambda value: value),
        (FilterOperator, lambda value: True),
        (FlatMapOperator, lambda value: [value] * 2000),
        (ProcessOperator, lambda value, context: [value] * 2000),
        (ReduceOperator, lambda one, other: one),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_error_from_down_the_chain_passes_as_it_is(
    kind: type[FunctionOperator], function: Any, timed: bool
) -> None:
    known = UserFunctionError("From down the chain.")

    class Failing(CollectingOutput):
        def collect(self, block: Block) -> None:
            raise known

    harness = Harness(kind(function), name="Mine")
    harness.operator.output = CountingOutput([Failing()], harness.metrics)
    harness.begin_epoch()

    with pytest.raises(UserFunctionError) as raised:
        process(harness, ["a"], timed=timed)
    assert raised.value is known


def doubled(value: Any) -> Any:
    return value * 2


@given(blocks(with_timestamps=None))
def test_map_emits_one_result_for_each_record_with_its_timestamp(block: Block) -> None:
    harness = Harness(MapOperator(doubled))
    harness.process(block.values, block.timestamps)

    assert harness.output.records() == [
        (record.value * 2, record.timestamp) for record in block.records()
    ]


def test_none_is_a_result_of_map_as_any_other() -> None:
    harness = Harness(MapOperator(lambda value: None))
    harness.process([1, 2])

    assert harness.output.values() == [None, None]


def test_results_of_map_have_no_keys() -> None:
    harness = Harness(MapOperator(doubled))
    harness.process([1], keys=["k"])

    [block] = harness.output.blocks()
    assert block.keys is None


def is_wanted(value: Any) -> bool:
    return len(str(value)) % 2 == 0


@given(blocks(with_timestamps=None))
def test_filter_emits_the_records_that_are_accepted_with_their_timestamps(block: Block) -> None:
    harness = Harness(FilterOperator(is_wanted))
    harness.process(block.values, block.timestamps)

    assert harness.output.records() == [
        (record.value, record.timestamp) for record in block.records() if is_wanted(record.value)
    ]


@pytest.mark.parametrize("timestamps", [None, [1, 2, 3, 4]])
def test_whatever_is_true_is_accepted_by_filter(timestamps: list[int | None] | None) -> None:
    answers = {"a": 0, "b": "yes", "c": None, "d": [0]}
    harness = Harness(FilterOperator(answers.get))
    harness.process(list(answers), timestamps)

    assert harness.output.values() == ["b", "d"]


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
def test_flat_map_emits_all_results_with_the_timestamps_of_their_records(
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
