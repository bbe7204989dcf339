"""Which windows Spark aggregates for, and what the program is then."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from penstock.datastream.aggregates import Aggregates, Count, Max, Mean, Min, Sum
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.graph.job_graph import create_job_graph
from penstock.graph.source_descriptions import AggregatedFrameSource, FrameSource

MINUTES = TumblingEventTimeWindows.of(60_000)
COLUMNS = {
    "item": "string",
    "shop": "int",
    "day": "date",
    "amount": "bigint",
    "price": "double",
    "at": "timestamp",
    "millis": "bigint",
}
_TYPE_NAMES = {"int": "integer", "bigint": "long"}
IN_SPARK = "Aggregate in Spark (columnar)"


class Frame:
    """As much of a DataFrame as planning asks for."""

    def __init__(self, columns: dict[str, str], *, is_streaming: bool = False) -> None:
        self.isStreaming = is_streaming
        self.columns = list(columns)
        fields = [SimpleNamespace(name=name, dataType=_kind(it)) for name, it in columns.items()]
        self.schema = _Schema(fields)


class _Schema(list[Any]):
    @property
    def fields(self) -> list[Any]:
        return list(self)


def _kind(simple: str) -> Any:
    name = _TYPE_NAMES.get(simple, simple.partition(" ")[0])
    return SimpleNamespace(typeName=lambda: name, simpleString=lambda: simple)


def rows(
    *,
    time: str = "at",
    columns: dict[str, str] | None = None,
    env: StreamExecutionEnvironment | None = None,
    is_streaming: bool = False,
) -> DataStream:
    env = env or StreamExecutionEnvironment.get_execution_environment()
    frame = Frame(columns or COLUMNS, is_streaming=is_streaming)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column(time)
    return env.from_data_frame(frame, watermark_strategy=strategy)


def sums(stream: DataStream) -> DataStream:
    return stream.key_by("item").window(MINUTES).aggregate(Sum("amount"))


ALL = Aggregates(
    sales=Count(),
    known=Count("item"),
    total=Sum("price"),
    mean=Mean("amount"),
    least=Min("shop"),
    most=Max("amount"),
)


@pytest.mark.parametrize(
    "program",
    [
        lambda: sums(rows()),
        lambda: sums(rows(time="millis")),
        lambda: rows().key_by("day").window(MINUTES).aggregate(ALL),
        lambda: rows().key_by(lambda row: row.shop).window(MINUTES).aggregate(Count()),
        lambda: rows().key_by("shop").window(SlidingEventTimeWindows.of(60, 20)).aggregate(ALL),
        lambda: (
            rows().key_by("item").window(MINUTES).aggregate(ALL, lambda key, window, found: found)
        ),
        lambda: rows().key_by("item").window(MINUTES).allowed_lateness(5).aggregate(Count()),
        lambda: sums(rows(columns={**COLUMNS, "a column, `quoted`": "binary", "ITEM": "map"})),
    ],
)
def test_spark_aggregates(program: Callable[[], DataStream]) -> None:
    plan = str(program().explain())
    assert IN_SPARK in plan
    assert "none of them is late" in plan
    assert "1 chain on 1 level" in plan


def switched_off() -> StreamExecutionEnvironment:
    settings = Configuration().set_string("execution.columnar.in-spark", "false")
    return StreamExecutionEnvironment.get_execution_environment(settings)


def with_checkpoints() -> StreamExecutionEnvironment:
    settings = Configuration().set_string("execution.checkpointing.dir", "/nowhere")
    return StreamExecutionEnvironment.get_execution_environment(settings)


def two_readers() -> DataStream:
    stream = rows()
    return sums(stream).union(stream.key_by("shop").window(MINUTES).aggregate(Count()))


def two_sources() -> DataStream:
    stream = rows()
    other = stream.get_execution_environment().from_collection([1])
    return sums(stream).union(other)


@pytest.mark.parametrize(
    "program",
    [
        lambda: sums(rows(is_streaming=True)),
        lambda: sums(rows(env=switched_off())),
        lambda: sums(rows(env=with_checkpoints())),
        two_readers,
        two_sources,
        lambda: rows().key_by("item").window(MINUTES).sum("amount"),
        lambda: rows().key_by("item").window(MINUTES).aggregate(Min("price")),
        lambda: sums(rows()).start_new_chain(),
        lambda: sums(rows(columns={**COLUMNS, "item": "string collate UTF8_LCASE"})),
        lambda: sums(rows(columns={**COLUMNS, "at": "timestamp_ntz"})),
    ],
)
def test_workers_aggregate(program: Callable[[], DataStream]) -> None:
    plan = str(program().explain())
    assert IN_SPARK not in plan
    assert "Pre-Aggregate (columnar)" in plan


def test_rows_come_to_the_subtasks_of_their_keys() -> None:
    stream = sums(rows()).set_parallelism(3).set_max_parallelism(12)
    stream.print()
    graph = stream.get_execution_environment().get_stream_graph()
    [source] = graph.sources
    found = source.source
    assert isinstance(found, AggregatedFrameSource)
    assert (found.time, found.pane_size, found.offset) == ("at", 60_000, 0)
    assert (found.parallelism, found.max_parallelism) == (3, 12)
    head = create_job_graph(graph).vertices[0]
    assert (head.parallelism, head.max_parallelism) == (3, 12)
    assert head.name == "Source: DataFrame -> Aggregate in Spark -> TumblingEventTimeWindows"


def test_keys_whose_type_is_not_that_of_their_column_are_looked_at_one_by_one() -> None:
    for key_type, is_columnar in ((Types.STRING(), True), (Types.INT(), False)):
        windows = rows().key_by("item", key_type).window(MINUTES)
        plan = str(windows.aggregate(Sum("amount")).explain())
        assert ("columnar" in plan) == is_columnar


def test_ids_are_those_of_the_program_without() -> None:
    ids = []
    for env in (None, switched_off()):
        stream = sums(rows(env=env))
        stream.print()
        graph = stream.get_execution_environment().get_stream_graph()
        job = create_job_graph(graph)
        ids.append({graph.nodes[node].name: it for node, it in job.operator_ids.items()})
        assert isinstance(graph.sources[0].source, (AggregatedFrameSource, FrameSource))
    assert ids[0].pop("Aggregate in Spark")
    assert ids[1].pop("Pre-Aggregate")
    assert ids[0] == ids[1]


def test_timestamps_may_be_given_behind_the_source() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream: KeyedStream = (
        env.from_data_frame(Frame(COLUMNS))
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("at")
        )
        .key_by("item")
    )
    assert IN_SPARK in str(stream.window(MINUTES).aggregate(Sum("amount")).explain())
