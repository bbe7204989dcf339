"""Random programs give what the same steps give on plain lists, wherever their input is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

records = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=40)


@st.composite
def cuts(draw: st.DrawFn, values: st.SearchStrategy[list[Record]] = records) -> TestingSource:
    """Records cut into epochs and blocks at random."""
    data = draw(values)
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=4)))
    epochs = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    source = TestingSource(epochs, block_size=draw(st.sampled_from([1, 2, 1024])))
    source.data = data  # type: ignore[attr-defined]
    return source


def read(source: TestingSource, parallelism: int) -> DataStream:
    env = local_environment(parallelism)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "records")


@given(cuts(), st.lists(st.sampled_from([*STATELESS]), max_size=5), st.sampled_from([1, 2, 5]))
def test_stateless_programs(source: Any, steps: list[str], parallelism: int) -> None:
    stream, expected = read(source, parallelism), source.data
    for step in steps:
        on_stream, on_list = STATELESS[step]
        stream, expected = on_stream(stream), on_list(expected)
    assert sorted(stream.execute_and_collect()) == sorted(expected)


@given(cuts(), st.lists(st.sampled_from(IN_ORDER), max_size=4))
def test_order_is_kept_at_parallelism_1(source: Any, steps: list[str]) -> None:
    stream, expected = read(source, 1), source.data
    for step in steps:
        on_stream, on_list = STATELESS[step]
        stream, expected = on_stream(stream), on_list(expected)
    sums = stream.key_by(0).sum(1)
    assert list(sums.execute_and_collect()) == rolling_sum(expected)


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
@given(
    source=cuts(),
    steps=st.lists(st.sampled_from(IN_ORDER), max_size=3),
    parallelism=st.sampled_from([1, 2, 5]),
)
def test_sums_do_not_depend_on_cuts_or_parallelism(
    mode: str, source: Any, steps: list[str], parallelism: int
) -> None:
    stream, expected = read(source, parallelism), source.data
    stream.get_execution_environment().set_runtime_mode(RuntimeExecutionMode[mode])
    for step in steps:
        on_stream, on_list = STATELESS[step]
        stream, expected = on_stream(stream), on_list(expected)
    updates = rolling_sum(expected)
    if mode == "BATCH":
        updates = list(dict(updates).items())
    assert sorted(stream.key_by(0).sum(1).execute_and_collect()) == sorted(updates)
