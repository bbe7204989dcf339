from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream import DataStream, KeyedStream, OutputTag, StreamExecutionEnvironment
from penstock.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
)
from penstock.errors import (
    ColumnNotFoundError,
    FunctionNotSerializableError,
    InvalidArgumentError,
    InvalidFunctionError,
    InvalidKeyError,
    UnsupportedOperationError,
    UserFunctionError,
)
from penstock.testing import local_environment


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return local_environment()


def results(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


class Both(MapFunction, FlatMapFunction, FilterFunction, ProcessFunction):
    def map(self, value: int) -> int:
        return value + 1

    def flat_map(self, value: int) -> list[int]:
        return [value] * value

    def filter(self, value: int) -> bool:
        return value > 1

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timestamp()


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("map", [2, 3]),
        ("flat_map", [1, 2, 2]),
        ("filter", [2]),
        ("process", [(1, None), (2, None)]),
    ],
)
def test_functions_that_are_classes(
    env: StreamExecutionEnvironment, method: str, expected: list[Any]
) -> None:
    assert results(getattr(env.from_collection([1, 2]), method)(Both())) == expected


def test_functions_that_are_plain(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([0, 1, 2])
    assert results(numbers.map(lambda n: -n)) == [0, -1, -2]
    assert results(numbers.flat_map(range)) == [0, 0, 1]
    assert results(numbers.flat_map(lambda n: None)) == []
    assert results(numbers.filter(bool)) == [1, 2]
    assert results(numbers.process(lambda n, ctx: [n, ctx.timestamp()])) == [
        0,
        None,
        1,
        None,
        2,
        None,
    ]


@pytest.mark.parametrize("method", ["map", "flat_map", "filter", "process", "key_by", "add_sink"])
def test_what_cannot_be_called_is_refused_at_once(
    env: StreamExecutionEnvironment, method: str
) -> None:
    with pytest.raises(InvalidFunctionError, match=rf"^{method}\(\) was given None"):
        getattr(env.from_collection([1]), method)(None)
    assert list(env.transformations) == []


def test_names(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1])
    streams = {
        "Map": numbers.map(str),
        "Flat Map": numbers.flat_map(range),
        "Filter": numbers.filter(bool),
        "Process": numbers.process(lambda n, ctx: []),
        "Projection": numbers.project(0),
        "KEYED PROCESS": numbers.key_by(int).process(lambda n, ctx: []),
        "Keyed Reduce": numbers.key_by(int).reduce(max),
        "Keyed Aggregation": numbers.key_by(int).sum(),
    }
    assert {name: stream.get_name() for name, stream in streams.items()} == {
        name: name for name in streams
    }


LATE = OutputTag("late")


def test_side_outputs(env: StreamExecutionEnvironment) -> None:
    def split(n: int, ctx: Any) -> Iterator[Any]:
        yield n
        if n % 2:
            yield LATE, n
        yield (n, n)

    stream = env.from_collection([1, 2, 3]).process(split)
    assert results(stream) == [1, (1, 1), 2, (2, 2), 3, (3, 3)]
    assert results(stream.get_side_output(LATE)) == [1, 3]
    assert results(stream.get_side_output(OutputTag("late")).map(str)) == ["1", "3"]
    assert results(stream.get_side_output(OutputTag("never"))) == []


def test_both_outputs_go_their_ways_in_one_execution(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1, 2, 3]).process(lambda n, ctx: [n, (LATE, -n)])
    both = stream.union(stream.get_side_output(LATE))
    assert sorted(results(both)) == [-3, -2, -1, 1, 2, 3]


def test_side_outputs_need_a_tag_and_an_operator(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).map(str)
    with pytest.raises(InvalidArgumentError, match="is no OutputTag"):
        stream.get_side_output("late")  # type: ignore[arg-type]
    for view in (stream.rebalance(), stream.union(stream), stream.key_by(len)):
        with pytest.raises(UnsupportedOperationError, match="get_side_output"):
            view.get_side_output(LATE)


def test_union(env: StreamExecutionEnvironment) -> None:
    a, b, c = (env.from_collection([n]) for n in range(3))
    assert sorted(results(a.union(b, c))) == [0, 1, 2]
    assert sorted(results(a.union(a))) == [0, 0]
    assert results(a.union()) == [0]
    assert sorted(results(a.key_by(int).union(b.rebalance()))) == [0, 1]


def test_union_wants_streams_of_this_environment(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1])
    with pytest.raises(InvalidArgumentError, match="which is no stream"):
        stream.union([stream])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="of another environment"):
        stream.union(local_environment().from_collection([1]))


def test_project(env: StreamExecutionEnvironment) -> None:
    records = env.from_collection([("a", 1, True)])
    assert results(records.project(2, 0)) == [(True, "a")]
    rows = env.from_collection([Row(x=1, y=2)])
    assert results(rows.project("y")) == [Row(y=2)]
    with pytest.raises(InvalidArgumentError, match="no field"):
        records.project()
    with pytest.raises(ColumnNotFoundError, match=r"project\(3\) found no field 3 in \('a', 1"):
        results(records.project(3))


TUPLE = Types.TUPLE([Types.STRING(), Types.INT()])


def test_types(env: StreamExecutionEnvironment) -> None:
    undeclared = env.from_collection([("a", 1)])
    declared = env.from_collection([("a", 1)], TUPLE)
    assert undeclared.get_type() == Types.PICKLED_BYTE_ARRAY()
    assert declared.get_type() == TUPLE
    assert declared.map(lambda pair: pair[1], Types.INT()).get_type() == Types.INT()
    assert declared.map(lambda pair: pair[1]).get_type() == Types.PICKLED_BYTE_ARRAY()
    for same in (
        declared.filter(bool),
        declared.rebalance(),
        declared.key_by(0),
        declared.key_by(0).sum(1),
        declared.union(declared),
    ):
        assert same.get_type() == TUPLE
    assert declared.union(undeclared).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert declared.project(1, 0).get_type() == Types.TUPLE([Types.INT(), Types.STRING()])


def test_a_union_of_rows_with_other_names_has_no_type(env: StreamExecutionEnvironment) -> None:
    a, b = (env.from_collection([(1,)], Types.ROW_NAMED([n], [Types.INT()])) for n in "ab")
    assert a.union(b).get_type() == Types.PICKLED_BYTE_ARRAY()


def test_types_are_type_information(env: StreamExecutionEnvironment) -> None:
    for wrong in (int, "INT", Types.INT):
        with pytest.raises(InvalidArgumentError, match="is no type information"):
            env.from_collection([1]).map(str, wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidArgumentError, match="is no type information"):
            env.from_collection([1]).key_by(int, wrong)  # type: ignore[arg-type]


def test_columns_that_are_not_there_are_found_before_anything_runs(
    env: StreamExecutionEnvironment,
) -> None:
    rows = env.from_collection([(1,)], Types.ROW_NAMED(["x"], [Types.INT()]))
    wrongs: list[Callable[[], DataStream]] = [
        lambda: rows.key_by("y"),
        lambda: rows.project("y"),
        lambda: rows.key_by("x").sum("y"),
    ]
    for wrong in wrongs:
        with pytest.raises(ColumnNotFoundError, match="field 'y'"):
            wrong()


def test_a_stream_knows_its_environment(env: StreamExecutionEnvironment) -> None:
    stream = env.set_parallelism(3).from_collection([1]).map(str)
    assert stream.get_execution_environment() is env
    assert stream.get_execution_config().get_parallelism() == 3


@dataclass(frozen=True)
class Point:
    x: int
    y: int


class Parity(KeySelector):
    def get_key(self, value: int) -> int:
        return value % 2


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_key_by_brings_equal_keys_together(parallelism: int) -> None:
    env = local_environment(parallelism)
    numbers = env.from_collection(range(10))
    for keyed in (numbers.key_by(Parity()), numbers.key_by(lambda n: n % 2, Types.INT())):
        assert isinstance(keyed, KeyedStream)
        assert sorted(results(keyed.sum()))[-2:] == [20, 25]
    points = env.from_collection([Point(1, 2), Point(1, 3)])
    assert max(results(points.key_by("x").sum("y")), key=lambda point: point.y) == Point(1, 5)


def test_keys_that_cannot_be_keys_name_the_record(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(InvalidKeyError, match=r"the record \{1: 2\}"):
        results(env.from_collection([{1: 2}]).key_by(lambda record: record).sum(1))


def test_a_key_field_that_is_missing_names_the_record(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ColumnNotFoundError, match=r"found no field 'y' in Row\(x=1\)"):
        results(env.from_collection([Row(x=1)]).key_by("y").sum("x"))


def fail(value: int) -> Any:
    if value == 3:
        raise ZeroDivisionError("no three")
    return [value]


def fail_half_way(value: int, ctx: Any = None) -> Iterator[int]:
    yield value
    fail(value)


@pytest.mark.parametrize(
    ("method", "function"),
    [
        ("map", fail),
        ("flat_map", fail),
        ("flat_map", fail_half_way),
        ("filter", fail),
        ("process", fail_half_way),
        ("process", lambda value, ctx: fail(value)),
    ],
)
def test_what_a_function_raises_names_operator_and_record(
    env: StreamExecutionEnvironment, method: str, function: Any
) -> None:
    stream = getattr(env.from_collection(range(10)), method)(function).name("mine")
    with pytest.raises(UserFunctionError) as caught:
        results(stream)
    message = str(caught.value)
    assert message.startswith("Traceback")
    assert "in fail\n" in message
    assert "ZeroDivisionError: no three" in message
    assert (caught.value.operator, caught.value.record) == ("mine", "3")


def test_a_function_that_cannot_be_pickled_is_refused_before_anything_runs(
    env: StreamExecutionEnvironment,
) -> None:
    import threading

    lock = threading.Lock()
    stream = env.from_collection([1]).map(lambda value: (lock, value))
    with pytest.raises(FunctionNotSerializableError, match="variable 'lock'"):
        stream.execute_and_collect()


def test_a_keyed_process_function_needs_keys(env: StreamExecutionEnvironment) -> None:
    class Keyed(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield ctx.get_current_key()

    numbers = env.from_collection([1, 2])
    with pytest.raises(InvalidFunctionError, match="Keyed, a KeyedProcessFunction"):
        numbers.process(Keyed())  # type: ignore[arg-type]
    assert results(numbers.key_by(lambda n: n + 1).process(Keyed())) == [2, 3]


@given(st.lists(st.integers(), max_size=30), st.integers(1, 5))
def test_no_operation_loses_or_doubles_a_record(values: list[int], parallelism: int) -> None:
    env = local_environment(parallelism)
    stream = env.from_collection(values)
    assert list(stream.execute_and_collect()) == values
    through = stream.rebalance().map(lambda n: n).key_by(lambda n: n % 3).filter(lambda n: True)
    assert sorted(through.execute_and_collect()) == sorted(values)
