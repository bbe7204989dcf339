"""Functions in all their forms, and the life of those that are classes."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect, epochs, operators

from penstock.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
)

NUMBERS = list(range(12))
LOW = OutputTag("low")


class Add(MapFunction):
    def __init__(self, amount: int) -> None:
        self._amount = amount

    def map(self, value: int) -> int:
        return value + self._amount

    def add(self, value: int) -> int:
        return value + self._amount

    def __call__(self, value: int) -> int:
        raise AssertionError("a Function is called by its method")


class Digits(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[int]:
        yield from map(int, str(value))


class Even(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 0


class Split(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        assert ctx.timestamp() is None
        yield (LOW, value) if value < 3 else value


class WithKey(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> list[Any]:
        return [(ctx.get_current_key(), value)]


class Modulo(KeySelector):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._divisor = 2

    def get_key(self, value: int) -> int:
        return value % self._divisor


class ByRest(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


class Join(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Callable:
    """No Function: it is called itself, whatever methods it has."""

    def __call__(self, value: int) -> int:
        return -value

    def map(self, value: int) -> int:
        raise AssertionError


def test_forms(new_environment: NewEnvironment) -> None:
    numbers = new_environment(2).from_collection(NUMBERS)
    split = numbers.process(Split())
    streams = {
        "map": numbers.map(Add(1)),
        "flat_map": numbers.flat_map(Digits()),
        "filter": numbers.filter(Even()),
        "process": split,
        "side": split.get_side_output(LOW),
        "keyed": numbers.key_by(Modulo()).process(WithKey()),
        "reduce": numbers.key_by(Modulo()).reduce(Join()),
        "custom": numbers.partition_custom(ByRest(), Modulo()).map(Add(0)),
        "callable": numbers.map(Callable()),
        "method": numbers.map(Add(2).add),
        "partial": numbers.map(functools.partial(int.__add__, 3)),
        "type": numbers.map(str),
        "builtin": numbers.filter(bool),
        "list": numbers.flat_map(lambda number: [number] * (number == 5)),
        "none": numbers.flat_map(lambda number: None),
        "long": numbers.filter(lambda number: number == 3).flat_map(lambda _: range(5000)),
    }

    found = {name: Counter(values) for name, values in collect(streams).items()}

    assert found == {
        name: Counter(values)
        for name, values in {
            "map": range(1, 13),
            "flat_map": [*range(10), 1, 0, 1, 1],
            "filter": [0, 2, 4, 6, 8, 10],
            "process": range(3, 12),
            "side": [0, 1, 2],
            "keyed": [(number % 2, number) for number in NUMBERS],
            "reduce": [0, 2, 6, 12, 20, 30, 1, 4, 9, 16, 25, 36],
            "custom": NUMBERS,
            "callable": [-number for number in NUMBERS],
            "method": range(2, 14),
            "partial": range(3, 15),
            "type": map(str, NUMBERS),
            "builtin": range(1, 12),
            "list": [5],
            "long": range(5000),
        }.items()
    }


class Diary(SinkFunction):
    """Writes down what happens to it, in a file for each of its objects that is opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        index = runtime_context.get_index_of_this_subtask()
        self._folder.mkdir(exist_ok=True)
        self._path = self._folder / f"{index}-{os.getpid()}-{id(self)}"
        self._calls = runtime_context.get_metrics_group().counter("calls")
        self._write("open")

    def invoke(self, value: Any) -> None:
        self._calls.inc()
        self._write(f"{value}")

    def close(self) -> None:
        self._write("close")

    def _write(self, line: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{line}\n")


def diaries(folder: Path) -> list[list[str]]:
    return [path.read_text().split() for path in sorted(folder.iterdir())]


@pytest.mark.parametrize("cuts", [[[*range(6)]], [[0, 1], [], [2, 3], [4, 5]]])
def test_open_before_and_close_after_all_records(
    new_environment: NewEnvironment, executor: str, tmp_path: Path, cuts: list[list[int]]
) -> None:
    env = new_environment(2)
    epochs(env, *cuts).rebalance().add_sink(Diary(tmp_path))

    metrics = env.execute().metrics

    written = diaries(tmp_path)
    for diary in written:
        assert diary[0] == "open"
        assert diary.count("open") == 1
        assert "close" not in diary[:-1]
    # On Spark a subtask may have lived in a worker that no task finds again.
    closed = [diary for diary in written if diary[-1] == "close"]
    assert len(closed) >= 2
    assert closed == written or executor == "spark"
    records = [line for diary in written for line in diary if line.isdigit()]
    assert sorted(records) == [*"012345"]
    assert {path.name[0] for path in tmp_path.iterdir()} == {"0", "1"}
    assert operators(metrics)["Sink: Unnamed"]["user"] == {"calls": 6}
    assert metrics["epochs"] == len(cuts)


@pytest.mark.parametrize("reuse", ["false", "true"])
def test_branches_know_nothing_of_each_other(new_environment: NewEnvironment, reuse: str) -> None:
    def change(record: list[int]) -> list[int]:
        record.append(2)
        return record

    records = new_environment(pipeline__object_reuse=reuse).from_collection([[1]]).map(list)
    streams = {"changed": records.map(change), "left": records.map(list)}

    assert collect(streams) == {"changed": [[1, 2]], "left": [[1]]}


@pytest.mark.parametrize("parallelism", ["1", "3"])
@pytest.mark.parametrize(
    "is_made_here", [True, False], ids=["made by a function", "from the source"]
)
def test_what_a_key_selector_changes_is_seen_behind_it_alone(
    new_environment: NewEnvironment, parallelism: str, is_made_here: bool
) -> None:
    def select(record: dict[str, int]) -> int:
        record["seen"] = record.get("seen", 0) + 1
        return record["key"]

    environment = new_environment(parallelism__default=parallelism)
    records = environment.from_collection([{"key": number % 2} for number in range(4)])
    if is_made_here:
        records = records.map(dict)
    streams = {
        "before": records.map(dict),
        "keyed": records.key_by(select).map(dict),
        "state": records.key_by(select).reduce(lambda one, other: other),
        "custom": records.partition_custom(lambda key, count: key % count, select).map(dict),
        "after": records.map(dict),
    }

    found = collect(streams)
    left = [{"key": 0}, {"key": 0}, {"key": 1}, {"key": 1}]
    changed = [{**record, "seen": 1} for record in left]
    assert {name: sorted(values, key=str) for name, values in found.items()} == {
        "before": left,
        "keyed": changed,
        "state": changed,
        "custom": changed,
        "after": left,
    }


def test_a_function_learns_of_its_task(new_environment: NewEnvironment) -> None:
    class Ask(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self._context = runtime_context

        def map(self, value: int) -> Any:
            context = self._context
            return (
                context.get_task_name_with_subtasks(),
                context.get_max_number_of_parallel_subtasks(),
                context.get_job_parameter("colour", "none"),
            )

    env = new_environment(2, pipeline__global_job_parameters__colour="red").set_max_parallelism(64)
    asked = env.from_collection(NUMBERS).rebalance().map(Ask()).name("ask")

    assert set(asked.execute_and_collect()) == {("ask (1/2)", 64, "red"), ("ask (2/2)", 64, "red")}
