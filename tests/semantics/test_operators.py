"""Every operator gives the same on both executors, at every parallelism, in both modes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import Where, collect

from penstock.common import Row, Types
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    RuntimeExecutionMode,
    ValueStateDescriptor,
)

SALES = [
    ("pen", 3, "Ann"),
    ("ink", 9, "Bob"),
    ("pen", 2, "Cyd"),
    ("pen", 8, "Dan"),
    ("ink", 9, "Eve"),
]
NUMBERS = list(range(12))
ODD = OutputTag("odd")
SMALL = OutputTag("small")

ROLLING: dict[str, list[Any]] = {
    "reduce": ["pen3", "ink9", "pen3 pen2", "pen3 pen2 pen8", "ink9 ink9"],
    "sum": [("pen", 3, "Ann"), ("ink", 9, "Bob"), ("pen", 5, "Ann"), ("pen", 13, "Ann"), ("ink", 18, "Bob")],
    "min": [("pen", 3, "Ann"), ("ink", 9, "Bob"), ("pen", 2, "Ann"), ("pen", 2, "Ann"), ("ink", 9, "Bob")],
    "max": [("pen", 3, "Ann"), ("ink", 9, "Bob"), ("pen", 3, "Ann"), ("pen", 8, "Ann"), ("ink", 9, "Bob")],
    "min_by": [("pen", 3, "Ann"), ("ink", 9, "Bob"), ("pen", 2, "Cyd"), ("pen", 2, "Cyd"), ("ink", 9, "Bob")],
    "max_by": [("pen", 3, "Ann"), ("ink", 9, "Bob"), ("pen", 3, "Ann"), ("pen", 8, "Dan"), ("ink", 9, "Bob")],
}  # fmt: skip


def rolling_operators(sales: DataStream) -> dict[str, DataStream]:
    keyed = sales.key_by(lambda sale: sale[0])
    words = sales.map(lambda sale: f"{sale[0]}{sale[1]}").set_parallelism(1)
    return {
        "reduce": words.key_by(lambda word: word[:3]).reduce(lambda a, b: f"{a} {b}"),
        "sum": keyed.sum(1),
        "min": keyed.min(1),
        "max": keyed.max(1),
        "min_by": keyed.min_by(1),
        "max_by": keyed.max_by(1),
        "rekeyed": sales.key_by(lambda sale: sale[2]).key_by(lambda sale: sale[0]).sum(1),
    }


def stateless_operators(numbers: DataStream) -> dict[str, DataStream]:
    def sort(number: int, ctx: Any) -> Iterator[Any]:
        yield number
        if number % 2:
            yield ODD, number
        if number < 3:
            yield SMALL, f"{number}"

    def with_key(number: int, ctx: Any) -> Any:
        return [(ctx.get_current_key(), number), (ODD, ctx.get_current_key())]

    split = numbers.process(sort)
    keyed = numbers.key_by(lambda number: number % 3).process(with_key)
    return {
        "map": numbers.map(lambda number: number * number),
        "flat_map": numbers.flat_map(lambda number: range(number % 3)),
        "filter": numbers.filter(lambda number: number % 4 == 0),
        "process": split,
        "odd": split.get_side_output(ODD),
        "small": split.get_side_output(SMALL),
        "keyed process": keyed,
        "keyed side": keyed.get_side_output(ODD),
        "union": numbers.union(numbers, split.get_side_output(ODD)),
        "project": numbers.map(lambda number: (number, str(number), -number)).project(2, 1),
    }


STATELESS: dict[str, list[Any]] = {
    "map": [0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121],
    "flat_map": [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1],
    "filter": [0, 4, 8],
    "process": NUMBERS,
    "odd": [1, 3, 5, 7, 9, 11],
    "small": ["0", "1", "2"],
    "keyed process": [(number % 3, number) for number in NUMBERS],
    "keyed side": [0, 1, 2] * 4,
    "union": [*NUMBERS, *NUMBERS, 1, 3, 5, 7, 9, 11],
    "project": [(-number, str(number)) for number in NUMBERS],
}


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_operators(new_environment: NewEnvironment, parallelism: int, mode: str) -> None:
    env = new_environment(parallelism).set_runtime_mode(RuntimeExecutionMode[mode])
    sales, numbers = env.from_collection(SALES), env.from_collection(NUMBERS)
    totals = sales.key_by(lambda sale: sale[0]).sum(1)
    streams = rolling_operators(sales) | stateless_operators(numbers)
    streams["of totals"] = totals.key_by(lambda sale: sale[1] > 9).reduce(max)

    found = collect(streams)

    assert {name: Counter(found[name]) for name in STATELESS} == {
        name: Counter(values) for name, values in STATELESS.items()
    }
    rolling = ROLLING | {"rekeyed": ROLLING["sum"]}
    for key in ("pen", "ink"):
        # Records of one key come in order, whatever happens to those of others.
        assert {name: of_key(found[name], key) for name in rolling} == {
            name: of_key(values, key)[-1 if mode == "BATCH" else 0 :]
            for name, values in rolling.items()
        }
    assert found["of totals"][-1] == ("pen", 13, "Ann") or mode == "STREAMING"
    assert len(found["of totals"]) == (1 if mode == "BATCH" else len(SALES))


def of_key(values: list[Any], key: str) -> list[Any]:
    return [
        value for value in values if (value if isinstance(value, str) else value[0]).startswith(key)
    ]


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_partitionings(new_environment: NewEnvironment, parallelism: int) -> None:
    env = new_environment(parallelism)
    numbers = env.from_collection(NUMBERS)
    spread = numbers.rebalance().map(Where())
    fewer = numbers.rebalance().map(Where()).set_parallelism(2)
    whole = range(parallelism)
    streams = {
        "rebalance": spread,
        "shuffle": numbers.shuffle().map(Where()),
        "global_": spread.global_().map(Where()),
        "broadcast": numbers.broadcast().map(Where()),
        "forward": spread.forward().map(Where()).disable_chaining(),
        "rescale": fewer.rescale().map(Where()).set_parallelism(4),
        "partition_custom": numbers.partition_custom(
            lambda key, count: key % count, lambda number: number + 1
        ).map(Where()),
    }

    found = collect(streams)

    def shares(name: str) -> list[int]:
        return [Counter(index for index, _ in found[name])[index] for index in whole]

    assert all(len(NUMBERS) // parallelism <= share for share in shares("rebalance"))
    assert sorted(number for _, number in found["rebalance"]) == NUMBERS
    assert sorted(number for _, number in found["shuffle"]) == NUMBERS
    assert {index for index, _ in found["shuffle"]} <= set(whole)
    assert {index for index, _ in found["global_"]} == {0}
    assert sorted(record for _, record in found["global_"]) == sorted(found["rebalance"])
    assert sorted(found["broadcast"]) == [(index, number) for index in whole for number in NUMBERS]
    assert sorted(record for _, record in found["forward"]) == sorted(found["rebalance"])
    assert all(index == before for index, (before, _) in found["forward"])
    assert sorted(number for _, (_, number) in found["rescale"]) == NUMBERS
    assert all(index // 2 == before for index, (before, _) in found["rescale"])
    assert {index for index, _ in found["rescale"]} == {0, 1, 2, 3}
    assert sorted(found["partition_custom"]) == sorted(
        ((number + 1) % parallelism, number) for number in NUMBERS
    )


def test_rows_keep_the_order_of_their_arguments_or_of_the_declared_type(
    new_environment: NewEnvironment,
) -> None:
    env = new_environment(2)
    declared = Types.ROW_NAMED(["tail", "head"], [Types.INT(), Types.STRING()])
    numbers = env.from_collection([1, 2, 3, 4])
    rows = numbers.map(lambda number: Row(head="h", tail=number))
    by_row = rows.key_by(lambda row: Row(tail=row.tail % 2, head=row.head))
    found = collect(
        {
            "arguments": rows.rebalance().map(lambda row: (repr(row), *row)),
            "declared": rows.map(lambda row: row, declared).rebalance().map(tuple),
            "keys": by_row.process(lambda row, ctx: [(repr(ctx.get_current_key()), row[1])]),
        }
    )

    assert Counter(found["arguments"]) == Counter(
        (f"Row(head='h', tail={number})", "h", number) for number in range(1, 5)
    )
    assert Counter(found["declared"]) == Counter((number, "h") for number in range(1, 5))
    assert Counter(found["keys"]) == Counter(
        (f"Row(tail={number % 2}, head='h')", number) for number in range(1, 5)
    )


class CountsPerKey(KeyedProcessFunction):
    """Emits each key with how often it came, as state says and as a timer at the end does."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(
        self, value: int, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[Any, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(10)
        yield ctx.get_current_key(), count

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[tuple[Any, int]]:
        yield ctx.get_current_key(), -(self.count.value() or 0)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_equal_lists_are_one_key(new_environment: NewEnvironment, backend: str) -> None:
    env = new_environment(2, state__backend__type=backend)
    numbers = env.from_collection(list(range(6))).rebalance()
    found = collect(
        {
            "lists": numbers.key_by(lambda n: [n % 2, ["x"]]).process(CountsPerKey()),
            "in tuples": numbers.key_by(lambda n: ([n % 2], "x")).process(CountsPerKey()),
        }
    )
    for name, keys in {
        "lists": ([0, ["x"]], [1, ["x"]]),
        "in tuples": (([0], "x"), ([1], "x")),
    }.items():
        expected = [(key, count) for key in keys for count in (-3, 1, 2, 3)]
        assert sorted(found[name]) == expected
        assert all(isinstance(key, type(keys[0])) for key, _ in found[name])
