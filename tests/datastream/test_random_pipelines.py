"""Random programs give what the same steps give on plain lists, wherever their input is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.running import collect
from tests.strategies import any_of

from penstock.common import WatermarkStrategy
from penstock.datastream import DataStream, OutputTag, RuntimeExecutionMode
from penstock.testing import TestingSource, local_environment

Record = tuple[int, int]
ODD = OutputTag("odd")


def repeat(record: Record) -> list[Record]:
    return [record] * (record[1] % 3)


def split(record: Record, ctx: Any) -> Iterable[Any]:
    yield record if record[1] % 2 == 0 else (ODD, record)


def rolling_sum(records: list[Record]) -> list[Record]:
    sums: dict[int, int] = {}
    result = []
    for key, value in records:
        sums[key] = sums.get(key, 0) + value
        result.append((key, sums[key]))
    return result


Step = tuple[Callable[[DataStream], DataStream], Callable[[list[Record]], list[Record]]]

STATELESS: dict[str, Step] = {
    "map": (
        lambda stream: stream.map(lambda record: (record[0], record[1] + 1)),
        lambda records: [(key, value + 1) for key, value in records],
    ),
    "filter": (
        lambda stream: stream.filter(lambda record: record[1] % 3 != 0),
        lambda records: [record for record in records if record[1] % 3 != 0],
    ),
    "flat_map": (
        lambda stream: stream.flat_map(repeat),
        lambda records: [copy for record in records for copy in repeat(record)],
    ),
    "main output": (
        lambda stream: stream.process(split),
        lambda records: [record for record in records if record[1] % 2 == 0],
    ),
    "side output": (
        lambda stream: stream.process(split).get_side_output(ODD),
        lambda records: [record for record in records if record[1] % 2 == 1],
    ),
    "union with itself": (lambda stream: stream.union(stream), lambda records: records * 2),
    "keyed map": (
        lambda stream: stream.key_by(0).map(lambda record: (record[0], -record[1])),
        lambda records: [(key, -value) for key, value in records],
    ),
    "rebalance": (lambda stream: stream.rebalance(), lambda records: records),
    "shuffle": (lambda stream: stream.shuffle(), lambda records: records),
    "rescale": (lambda stream: stream.rescale(), lambda records: records),
    "global": (lambda stream: stream.global_(), lambda records: records),
    "custom": (
        lambda stream: stream.partition_custom(lambda key, n: key % n, lambda record: record[0]),
        lambda records: records,
    ),
    "new chain": (
        lambda stream: stream.map(lambda record: record).start_new_chain(),
        lambda records: records,
    ),
    "parallelism 3": (
        lambda stream: stream.map(lambda record: record).set_parallelism(3),
        lambda records: records,
    ),
}
IN_ORDER = ["map", "filter", "flat_map", "main output", "side output", "keyed map", "new chain"]

RECORDS = st.lists(any_of(range(5), range(10)), max_size=40)


@st.composite
def cuts(draw: st.DrawFn) -> tuple[list[Record], TestingSource]:
    """Records, and a source that gives them, cut into epochs and blocks at random."""
    data = draw(RECORDS)
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=4)))
    epochs = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    return data, TestingSource(epochs, block_size=draw(st.sampled_from([1, 2, 1024])))


def programs(steps: Iterable[str], most: int) -> st.SearchStrategy[list[list[str]]]:
    """Programs that read one stream, each of a few steps."""
    each = st.lists(st.sampled_from([*steps]), max_size=most)
    return st.lists(each, min_size=1, max_size=5)


# Side by side in one job, three programs take much less than in a job of each.
A_THIRD = settings(max_examples=settings().max_examples // 3 + 1)


def read(source: TestingSource, parallelism: int) -> DataStream:
    env = local_environment(parallelism)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "records")


def sums_of(stream: DataStream) -> DataStream:
    return stream.key_by(0).sum(1)


def run(
    programs: list[list[str]],
    source: DataStream,
    finish: Callable[[DataStream], DataStream] = lambda stream: stream,
) -> list[list[Record]]:
    """What each program gives."""
    streams = {}
    for number, steps in enumerate(programs):
        stream = source
        for step in steps:
            stream = STATELESS[step][0](stream)
        streams[number] = finish(stream)
    found = collect(streams)
    return [found[number] for number in streams]


def expect(steps: list[str], records: list[Record]) -> list[Record]:
    for step in steps:
        records = STATELESS[step][1](records)
    return records


@A_THIRD
@given(cuts(), programs(STATELESS, 5), st.sampled_from([1, 2, 5]))
def test_stateless_programs(source: Any, programs: list[list[str]], parallelism: int) -> None:
    records, source = source
    for steps, found in zip(programs, run(programs, read(source, parallelism)), strict=True):
        assert sorted(found) == sorted(expect(steps, records)), steps


@A_THIRD
@given(cuts(), programs(IN_ORDER, 4))
def test_order_is_kept_at_parallelism_1(source: Any, programs: list[list[str]]) -> None:
    records, source = source
    for steps, found in zip(programs, run(programs, read(source, 1), sums_of), strict=True):
        assert found == rolling_sum(expect(steps, records)), steps


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
@A_THIRD
@given(source=cuts(), programs=programs(IN_ORDER, 3), parallelism=st.sampled_from([1, 2, 5]))
def test_sums_do_not_depend_on_cuts_or_parallelism(
    mode: str, source: Any, programs: list[list[str]], parallelism: int
) -> None:
    records, source = source
    stream = read(source, parallelism)
    stream.get_execution_environment().set_runtime_mode(RuntimeExecutionMode[mode])
    for steps, found in zip(programs, run(programs, stream, sums_of), strict=True):
        updates = rolling_sum(expect(steps, records))
        if mode == "BATCH":
            updates = list(dict(updates).items())
        assert sorted(found) == sorted(updates), steps
