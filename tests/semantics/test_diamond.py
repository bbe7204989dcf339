"""A job whose graph is no line: every function sees every record of every epoch once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import epochs, operators

from penstock.datastream import (
    DataStream,
    FlatMapFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP

NUMBERS = [[*range(10)], [], [*range(10, 30)], [30, 31]]
WORDS = [["a"], ["b", "c"]]


class Tally:
    """Counts its calls: as a metric, and by a byte in a file, which no retry takes back."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name

    def open(self, runtime_context: RuntimeContext) -> None:
        self._calls = runtime_context.get_metrics_group().counter("calls")

    def count(self) -> None:
        self._calls.inc()
        with self._path.open("ab") as file:
            file.write(b".")


class Pass(Tally, FlatMapFunction, SinkFunction, ReduceFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        self.count()
        yield value

    def invoke(self, value: Any) -> None:
        self.count()

    def reduce(self, value1: int, value2: int) -> int:
        self.count()
        return value1 + value2


def diamond(env: StreamExecutionEnvironment, folder: Path) -> None:
    """Two sources that join on levels 1 and 3, edges that skip levels, and two sinks."""

    def passed(stream: DataStream, name: str) -> DataStream:
        return stream.flat_map(Pass(folder, name)).name(name)

    numbers = passed(epochs(env, *NUMBERS), "numbers")
    words = passed(epochs(env, *WORDS).map(ord), "words")
    left = passed(numbers.union(words).rebalance(), "left")
    right = passed(numbers.rebalance(), "right")
    sums = left.key_by(lambda number: number % 3).reduce(Pass(folder, "sums")).name("sums")
    joined = passed(sums.union(numbers, right, words).rebalance(), "joined")
    for name, stream in {"all": joined, "early": left.union(numbers)}.items():
        stream.add_sink(Pass(folder, name)).name(name)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_every_record_once(
    new_environment: NewEnvironment, tmp_path: Path, parallelism: int
) -> None:
    env = new_environment(parallelism)
    diamond(env, tmp_path)

    metrics = env.execute().metrics

    records = {
        "numbers": 32,
        "words": 3,
        "left": 35,
        "right": 32,
        "sums": 35,
        "joined": 35 + 32 + 32 + 3,
        "Sink: all": 102,
        "Sink: early": 35 + 32,
    }
    found = operators(metrics)
    assert {name: found[name]["records_in"] for name in records} == records
    # The first record of each of the three keys stands for itself.
    calls = {name.removeprefix("Sink: "): count for name, count in records.items()} | {"sums": 32}
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == calls
    assert {name.removeprefix("Sink: "): found[name]["user"]["calls"] for name in records} == calls
    assert metrics["epochs"] == len(NUMBERS)
    assert metrics["records_in"] == 35
    for report in found.values():  # though one source ended two epochs before the other
        assert report["input_watermark"] == report["output_watermark"] == MAX_TIMESTAMP
