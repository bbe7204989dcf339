"""What an operator gives whose results have a declared type: the same wherever, and however, it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect, epochs

from penstock.common import Configuration, Row, Time, Types, WatermarkStrategy
from penstock.common.typeinfo import TypeInformation
from penstock.datastream import AsyncDataStream, DataStream, OutputTag
from penstock.datastream.functions import (
    AggregateFunction,
    CoMapFunction,
    CoProcessFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import InvalidArgumentError, TypeMismatchError
from penstock.testing import local_environment

PAIR = Types.ROW_NAMED(["key", "value"], [Types.STRING(), Types.DOUBLE()])
LATE = OutputTag("late", PAIR)
UNTYPED = OutputTag("untyped")


def pair(number: int) -> Any:
    """A pair as users write it, of one form or another; `1` and `True` stand for `1.0`."""
    value = True if number == 1 else number
    forms: list[Callable[[], Any]] = [
        lambda: ("a", value),
        lambda: ["a", value],
        lambda: Row("a", value),
        lambda: Row(value=value, key="a"),
        lambda: {"key": "a", "value": value},
        lambda: Row(key="a", value=float(value)),
    ]
    return forms[number % len(forms)]()


class Pairs(CoMapFunction):
    def map1(self, value: int) -> Any:
        return pair(value)

    map2 = map1


class TimedPairs(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        ctx.timer_service().register_event_time_timer(value)
        yield LATE, pair(value)
        yield UNTYPED, ("a", value)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield pair(timestamp)


class CoPairs(CoProcessFunction):
    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Any:
        yield pair(value)

    process_element2 = process_element1


class WindowPairs(ProcessWindowFunction[int, Any, int, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return map(pair, elements)

    def clear(self, context: Any) -> None:
        pass


class Last(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return pair(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


async def asked(number: int) -> list[Any]:
    return [pair(number)]


def operators(numbers: DataStream, declared: TypeInformation) -> dict[str, DataStream]:
    """Every operator that takes a declared type, giving a pair for each number."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda number, _: number
    )
    timed = numbers.assign_timestamps_and_watermarks(strategy)
    keyed = timed.key_by(lambda number: number)
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(1)))
    processed = keyed.process(TimedPairs(), declared)
    both = timed.connect(timed.filter(lambda _: False))
    return {
        "map": timed.map(pair, declared),
        "map in a chain": timed.map(pair, declared).map(lambda record: record),
        "flat_map": timed.flat_map(lambda number: iter([pair(number)]), declared),
        "process": timed.process(lambda number, _: [pair(number)], declared),
        "keyed process": processed,
        "side output": processed.get_side_output(LATE),
        "co-map": both.map(Pairs(), declared),
        "co-process": both.process(CoPairs(), declared),
        "window process": windows.process(WindowPairs(), declared),
        "window apply": windows.apply(lambda key, window, found: map(pair, found), declared),
        "aggregate": windows.aggregate(Last(), output_type=declared),
        "async": AsyncDataStream.unordered_wait(timed, asked, Time.seconds(100), 10, declared),
    }


def texts(streams: dict[str, DataStream]) -> dict[str, list[str]]:
    found = collect(streams)
    return {name: sorted(map(repr, found[name])) for name in streams}


NUMBERS = list(range(1, 14))
EXPECTED = sorted(f"Row(key='a', value={float(number)!r})" for number in NUMBERS)


def test_every_operator_gives_values_of_its_declared_type(new_environment: NewEnvironment) -> None:
    env = new_environment(2)
    streams = operators(env.from_collection(NUMBERS), PAIR)
    found = texts(streams)
    assert found == dict.fromkeys(streams, EXPECTED)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(1, len(NUMBERS)), max_size=3).map(sorted),
    st.integers(1, 3),
    st.sampled_from(["hashmap", "rocksdb"]),
    st.booleans(),
)
def test_cuts_parallelism_backend_and_copies_make_no_difference(
    cuts: list[int], parallelism: int, backend: str, reuses: bool
) -> None:
    env = local_environment(parallelism)
    env.configure(Configuration().set_string("state.backend.type", backend))
    if not reuses:
        env.get_config().disable_object_reuse()
    edges = [0, *cuts, len(NUMBERS)]
    parts = [NUMBERS[start:end] for start, end in pairwise(edges)]
    streams = operators(epochs(env, *parts), PAIR)
    assert texts(streams) == dict.fromkeys(streams, EXPECTED)


def test_a_wrong_result_ends_in_the_operator_that_gave_it() -> None:
    streams = operators(local_environment().from_collection([3]), Types.INT())
    del streams["side output"]
    for name, stream in streams.items():
        later = stream.map(lambda record: record + 1).name("later")
        with pytest.raises(TypeMismatchError, match=r"\bis no Integer: ") as caught:
            list(later.execute_and_collect())
        assert "later" not in str(caught.value), name
        assert "Hint: " in str(caught.value)


def test_a_wrong_value_is_told_with_its_operator() -> None:
    numbers = local_environment().from_collection([1, 2])
    words = numbers.map(lambda number: "a" if number < 2 else 2, Types.STRING())
    with pytest.raises(TypeMismatchError) as caught:
        list(words.name("words").execute_and_collect())
    assert str(caught.value) == (
        "The result of operator 'words' is no String: 2, an int.\n\n"
        "Hint: Return what was declared, or declare another type: see penstock.common.Types."
    )
    assert caught.value.operator == "words"


def test_a_wrong_value_of_a_side_output_is_told_with_its_tag() -> None:
    def give(number: int, ctx: Any) -> Iterator[Any]:
        yield LATE, number

    numbers = local_environment().from_collection([1]).process(give).name("sorting")
    with pytest.raises(TypeMismatchError, match=r"'sorting' gave to the side output 'late' is no"):
        list(numbers.get_side_output(LATE).execute_and_collect())


def test_a_side_output_has_one_type() -> None:
    numbers = local_environment().from_collection([1]).process(lambda number, ctx: [(LATE, number)])
    numbers.get_side_output(LATE)
    assert numbers.get_side_output(LATE).get_type() == PAIR
    other = Types.ROW_NAMED(["name", "value"], [Types.STRING(), Types.DOUBLE()])
    with pytest.raises(InvalidArgumentError, match="Use one OutputTag"):
        numbers.get_side_output(OutputTag("late", other))


def test_a_missing_value_is_of_any_type() -> None:
    numbers = local_environment().from_collection([1, None, 3], Types.INT())
    assert list(numbers.map(lambda number: number, Types.LONG()).execute_and_collect()) == [
        1,
        None,
        3,
    ]


def test_a_row_type_without_names_names_fields_as_flink() -> None:
    env = local_environment()
    declared = Types.ROW([Types.INT(), Types.STRING()])
    rows = env.from_collection([(1, "a")], declared).map(lambda row: (row.f0, row.f1), declared)
    assert list(map(repr, rows.execute_and_collect())) == ["Row(f0=1, f1='a')"]


class Opened(MapFunction, FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_task_name()

    def map(self, value: int) -> Any:
        return self.name, value

    def flat_map(self, value: int) -> Any:
        yield self.name, value


def test_keys_are_checked_and_stay_as_they_are() -> None:
    declared = Types.ROW([Types.INT(), Types.FLOAT()])
    numbers = local_environment().from_collection([1, 2])

    def keyed(number: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key()

    for key in (lambda number: Row(number, 0.1), lambda number: (number, 0.1)):
        keys = numbers.key_by(key, declared).process(keyed)
        assert list(keys.execute_and_collect()) == [key(1), key(2)]
    wrong = numbers.name("numbers").key_by(lambda number: Row(number, "a"), declared)
    with pytest.raises(
        TypeMismatchError, match=r"^A key behind operator '.*'\.f1 is no Float: 'a'"
    ):
        list(wrong.process(keyed).execute_and_collect())
    with pytest.raises(InvalidArgumentError, match="no type information"):
        numbers.key_by(lambda number: number, Types.INT)  # type: ignore[arg-type]


def test_functions_are_still_opened() -> None:
    numbers = local_environment().from_collection([1])
    for stream in (numbers.map(Opened(), PAIR), numbers.flat_map(Opened(), PAIR)):
        names = stream.name("Ann").map(lambda record: record.key)
        assert list(names.execute_and_collect()) == ["Ann"]


def test_what_a_function_does_to_a_result_later_does_not_matter() -> None:
    kept: list[Any] = []

    def give(number: int) -> list[Any]:
        for earlier in kept:
            earlier.append("later")
        kept.append(found := [number])
        return found

    numbers = local_environment().from_collection([1, 2, 3])
    lists = numbers.map(give, Types.LIST(Types.INT()))
    assert list(lists.execute_and_collect()) == [[1], [2], [3]]
