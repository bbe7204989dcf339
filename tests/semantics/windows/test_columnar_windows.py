"""Windows that are aggregated column by column give what they give record by record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.semantics.running import Label, collect, operators
from tests.strategies import any_of, from_zero

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    OutputTag,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.aggregates import Aggregates, Count, Max, Mean, Min, Sum
from penstock.datastream.streams.data_stream import WindowedStream
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import InvalidTimestampError, TypeMismatchError
from penstock.testing import TestingTableSource, local_environment

# Many of these programs have late records on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::penstock.errors.LateRecordsDroppedWarning")

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("time", pa.int64()),
        ("number", pa.int64()),
        ("small", pa.int32()),
        ("real", pa.float64()),
    ]
)
# Powers of two, so that sums do not depend on the order.
REALS = [None, 0.5, -2.0, 8.0, float("nan")]
NUMBERS = [None, 0, 1, -3, 2**62, -(2**63)]
SMALL = from_zero(-5, 5)

Operation = Callable[[WindowedStream], DataStream]
DAY = TumblingEventTimeWindows.of(10)


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [() for _ in SCHEMA]
    return pa.table(list(map(list, columns)), schema=SCHEMA)


def windows_of(
    tables: list[pa.Table],
    assigner: Any,
    *,
    columnar: bool,
    bound: int = 3,
    env: StreamExecutionEnvironment | None = None,
) -> WindowedStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    strategy = strategy.with_timestamp_assigner(
        (lambda row, _: row.time) if columnar else (lambda row, _: int(row.time))
    )
    env = env or local_environment(parallelism=2)
    rows = env.from_source(TestingTableSource(tables), strategy, "rows").set_parallelism(1)
    return rows.key_by("key").window(assigner)


def with_bounds(key: Any, window: Any, inputs: list[Any]) -> list[Any]:
    return [(key, window.start, repr(*inputs))]


ALL = Aggregates(
    records=Count(),
    numbers=Count("number"),
    total=Sum("number"),
    mean=Mean("real"),
    least=Min("real"),
    greatest=Max(3),
    low=Min("number"),
    reals=Sum("real"),
)
OPERATIONS: dict[str, Operation] = {
    "aggregates": lambda windows: windows.aggregate(ALL, with_bounds),
    "sum": lambda windows: windows.aggregate(Sum("number"), with_bounds),
    "mean": lambda windows: windows.aggregate(Mean("small"), with_bounds),
    "field sum": lambda windows: windows.sum("small"),
    "field min": lambda windows: windows.min(3),
    "field max": lambda windows: windows.max("small"),
}


@st.composite
def assigners(draw: st.DrawFn) -> Any:
    size = draw(st.integers(1, 30))
    if draw(st.booleans()):
        return TumblingEventTimeWindows.of(size, draw(st.integers(1 - size, size - 1)))
    return SlidingEventTimeWindows.of(size, draw(st.integers(1, size)))


ROWS = st.tuples(any_of(["a", "b", None], from_zero(-40, 40)), any_of(NUMBERS, SMALL, REALS))
TABLES = st.lists(
    st.lists(ROWS, max_size=12).map(
        lambda rows: table([(*of_key, *rest) for of_key, rest in rows])
    ),
    min_size=1,
    max_size=4,
)


BOTH = {"columns": True, "rows": False}
"""Whether windows are aggregated column by column."""


def run(streams: dict[str, DataStream]) -> tuple[dict[str, list[str]], dict[str, int], int]:
    """The results of each stream, how many of its records were late, and how many go by columns."""
    named = [stream.name(name).map(Label(name)) for name, stream in streams.items()]
    results = named[0].union(*named[1:]).execute_and_collect()
    found: dict[str, list[str]] = {name: [] for name in streams}
    for name, value in results:
        found[name].append(repr(value))
    metrics = results._client.wait().metrics
    reports = operators(metrics)
    late = {name: reports[name]["user"].get("num_late_records_dropped", 0) for name in streams}
    every = metrics["operators"].values()
    return found, late, sum(report["name"] == "Pre-Aggregate" for report in every)


class Nowhere(SinkFunction):
    """Takes everything and keeps nothing."""

    def invoke(self, value: Any) -> None:
        pass


def metrics_of(stream: DataStream) -> dict[str, Any]:
    stream.add_sink(Nowhere())
    return stream.get_execution_environment().execute().metrics


@given(tables=TABLES, assigner=assigners())
@example(
    # Many groups to one batch, and two that differ in which of their records comes first.
    tables=[table([("a", 0, None, 0, None)] * 10 + [(None, t, None, 0, None) for t in (34, 30)])],
    assigner=SlidingEventTimeWindows.of(5, 3),
)
@settings(max_examples=40, deadline=None)
def test_gives_the_same_results(tables: list[pa.Table], assigner: Any) -> None:
    env = local_environment(parallelism=2)
    streams: dict[str, DataStream] = {}
    for way, columnar in BOTH.items():
        windows = windows_of(tables, assigner, columnar=columnar, env=env)
        streams |= {f"{way}: {name}": make(windows) for name, make in OPERATIONS.items()}
    found, late, columnar_windows = run(streams)
    assert columnar_windows == len(OPERATIONS)
    for name in OPERATIONS:
        columns, rows = (f"{way}: {name}" for way in BOTH)
        assert sorted(found[columns]) == sorted(found[rows]), name
        assert late[columns] == late[rows], name


@given(tables=TABLES, assigner=assigners(), lateness=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_late_batches_fire_once_with_the_same_last_results(
    tables: list[pa.Table], assigner: Any, lateness: int
) -> None:
    env = local_environment(parallelism=2)
    found = collect(
        {
            way: windows_of(tables, assigner, columnar=columnar, env=env)
            .allowed_lateness(lateness)
            .aggregate(ALL, with_bounds)
            for way, columnar in BOTH.items()
        }
    )
    columns, rows = (
        {(key, start): value for key, start, value in found[way]} for way in ("columns", "rows")
    )
    assert columns == rows
    assert len(found["columns"]) <= len(found["rows"])


def test_a_late_batch_fires_a_window_once_for_each_key() -> None:
    late = table([("a", 1, 1, 0, None), ("b", 2, 1, 0, None), ("a", 3, 1, 0, None)])
    tables = [table([("a", 1, 5, 0, None)]), table([("a", 50, 7, 0, None)]), late]
    windows = windows_of(tables, TumblingEventTimeWindows.of(10), columnar=True)
    found = windows.allowed_lateness(100).aggregate(Sum("number"), with_bounds)
    assert sorted(found.execute_and_collect()) == [
        ("a", 0, "5"),
        ("a", 0, "7"),
        ("a", 50, "7"),
        ("b", 0, "1"),
    ]


def test_nan_in_a_field_whose_least_record_is_wanted() -> None:
    rows = [("a", 1, 1, 0, 2.0), ("a", 2, 1, 0, float("nan")), ("a", 3, 1, 0, 1.0)]
    found = [
        list(
            windows_of([table(rows)], TumblingEventTimeWindows.of(10), columnar=columnar)
            .min("real")
            .execute_and_collect()
        )
        for columnar in (True, False)
    ]
    assert found[0] == found[1]
    assert [list(row) for row in found[0]] == [["a", 1, 1, 0, 1.0]]


@pytest.mark.parametrize("columnar", [True, False])
def test_a_sum_that_meets_null_fails_the_job(columnar: bool) -> None:
    rows = [("a", 1, 1, 0, None), ("a", 2, None, 0, None)]
    windows = windows_of([table(rows)], TumblingEventTimeWindows.of(10), columnar=columnar)
    with pytest.raises(TypeMismatchError, match="TumblingEventTimeWindows"):
        list(windows.sum("number").execute_and_collect())


@pytest.mark.parametrize("columnar", [True, False])
@pytest.mark.parametrize("time", [None, -(2**63)])
def test_a_record_without_a_timestamp_fails_the_job(columnar: bool, time: int | None) -> None:
    rows = [("a", 1, 1, 0, None), ("b", time, 1, 0, None)]
    assigner: Any = (lambda row, _: row.time) if columnar else (lambda row, _: row.time or None)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(assigner)
    stream = local_environment().from_source(TestingTableSource([table(rows)]), strategy, "rows")
    windows = stream.key_by("key").window(TumblingEventTimeWindows.of(10))
    with pytest.raises(InvalidTimestampError, match="key='b'"):
        list(windows.aggregate(Count()).execute_and_collect())


def test_times_far_from_the_epoch() -> None:
    rows = [
        ("a", 2**63 - 2, 1, 0, None),
        ("a", 2**63 - 1, 1, 0, None),
        ("a", 5 - 2**63, 1, 0, None),
    ]
    found = [
        sorted(
            windows_of([table(rows)], SlidingEventTimeWindows.of(10, 5), columnar=columnar)
            .aggregate(Count(), with_bounds)
            .execute_and_collect()
        )
        for columnar in (True, False)
    ]
    assert found[0] == found[1]


class TestColumnsThatTellTheTime:
    @pytest.mark.parametrize(
        "kind",
        [pa.int32(), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.timestamp("s", "UTC")],
        ids=str,
    )
    def test_are_taken_without_python(self, kind: pa.DataType) -> None:
        times = pa.array([-1, 0, 11]).cast(kind if pa.types.is_integer(kind) else pa.int64())
        rows = pa.table({"key": [1, 1, 1], "time": times.cast(kind)})
        unit = {"us": 1_000, "ns": 1_000_000, "s": 1}.get(getattr(kind, "unit", ""), 1)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("time")
        stream = local_environment().from_source(TestingTableSource([rows]), strategy, "rows")
        size = 1000 if unit == 1 and pa.types.is_timestamp(kind) else 1
        windows = stream.key_by("key").window(TumblingEventTimeWindows.of(size))
        counts = windows.aggregate(Count(), lambda key, window, counts: [(window.start, *counts)])
        assert "columnar" in str(counts.explain())
        expected = {
            1: [(-size, 1), (0, 1), (11 * size, 1)],
            1_000: [(-1, 1), (0, 2)],
            1_000_000: [(-1, 1), (0, 2)],
        }[unit]
        assert list(counts.execute_and_collect()) == expected

    def test_are_taken_by_other_functions_too(self) -> None:
        rows = pa.table({"time": pa.array([1500], pa.timestamp("us"))})
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("time")
        stream = local_environment().from_source(TestingTableSource([rows]), strategy, "rows")
        found = stream.process(lambda row, ctx: [ctx.timestamp()])
        assert list(found.execute_and_collect()) == [1]

    def test_of_rows_made_by_a_function_need_a_time_zone(self) -> None:
        rows = pa.table({"time": pa.array([1500], pa.timestamp("us"))})
        source = TestingTableSource([rows])
        stream = local_environment().from_source(source, WatermarkStrategy.no_watermarks(), "rows")
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("time")
        timed = stream.map(lambda row: row).assign_timestamps_and_watermarks(strategy)
        with pytest.raises(InvalidTimestampError, match="time zone"):
            list(timed.execute_and_collect())


class TestWhatIsNoMatterOfColumns:
    """Each of these programs gets its records one by one."""

    @staticmethod
    def rows() -> DataStream:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        strategy = strategy.with_timestamp_assigner(lambda row, _: row["time"])
        source = TestingTableSource([table([("a", 1, 2, 3, 4.0)])])
        return local_environment().from_source(source, strategy, "rows")

    @pytest.mark.parametrize(
        "operation",
        [
            lambda rows: rows.key_by(lambda row: row.key.upper()).window(DAY).sum("small"),
            lambda rows: rows.key_by("key").window(DAY).reduce(lambda a, b: a),
            lambda rows: rows.key_by("key").window(DAY).max_by("small"),
            lambda rows: rows.key_by("key").window(DAY).trigger(CountTrigger.of(1)).sum("small"),
            lambda rows: rows.key_by("key").window(DAY).evictor(CountEvictor.of(1)).sum("small"),
            lambda rows: (
                rows.key_by("key").window(DAY).side_output_late_data(OutputTag("late")).sum("small")
            ),
            lambda rows: (
                rows.key_by("key").window(EventTimeSessionWindows.with_gap(3)).sum("small")
            ),
            lambda rows: rows.key_by("real").window(DAY).sum("small"),
            lambda rows: rows.key_by("key").window(DAY).aggregate(Min("key")),
            lambda rows: rows.filter(lambda row: True).key_by("key").window(DAY).sum("small"),
            lambda rows: rows.key_by("key").window(SlidingEventTimeWindows.of(5, 10)).sum("small"),
            lambda rows: rows.union(rows).key_by("key").window(DAY).sum("small"),
        ],
    )
    def test_runs_record_by_record(self, operation: Callable[[DataStream], DataStream]) -> None:
        results = operation(self.rows())
        assert "columnar" not in str(results.explain())
        assert len(list(results.execute_and_collect())) > 0

    def test_a_stream_with_another_reader(self) -> None:
        rows = self.rows()
        rows.map(lambda row: row).print()
        assert "columnar" not in str(rows.key_by("key").window(DAY).sum("small").explain())


def test_several_windows_read_one_source() -> None:
    rows = TestWhatIsNoMatterOfColumns.rows()
    sums = rows.key_by("key").window(DAY).aggregate(Sum("small"))
    counts = rows.key_by("small").window(SlidingEventTimeWindows.of(10, 5)).aggregate(Count())
    both = sums.union(counts)
    assert str(both.explain()).count("Pre-Aggregate (columnar)") == 2
    assert sorted(both.execute_and_collect()) == [1, 1, 3]


def test_counts_the_records_that_come_and_the_partials_that_go() -> None:
    rows = [("a", 1, 1, 0, None), ("a", 2, 1, 0, None), ("b", 3, 1, 0, None)]
    reports = operators(metrics_of(windows_of([table(rows)], DAY, columnar=True).sum("small")))
    assert {
        name: (report["records_in"], report["records_out"]) for name, report in reports.items()
    } == {
        "Source: rows": (3, 3),
        "Pre-Aggregate": (3, 2),
        "TumblingEventTimeWindows": (2, 2),
        "Sink: Unnamed": (2, 0),
    }


def test_keeps_the_ids_of_the_other_operators() -> None:
    ids = []
    for columnar in (True, False):
        windows = windows_of([table([("a", 1, 1, 0, None)])], DAY, columnar=columnar)
        reports = metrics_of(windows.sum("small"))["operators"]
        ids.append({report["name"]: identifier for identifier, report in reports.items()})
    del ids[0]["Pre-Aggregate"]
    assert ids[0] == ids[1]
