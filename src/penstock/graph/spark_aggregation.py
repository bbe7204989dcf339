"""Has Spark aggregate the rows of a bounded DataFrame, before workers get them."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Final

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.graph.source_descriptions import AggregatedFrameSource, FrameSource
from penstock.graph.stream_graph import StreamGraph, StreamNode
from penstock.runtime.chaining_strategy import ChainingStrategy
from penstock.runtime.operators.aggregated_source import AggregatedSourceOperator
from penstock.runtime.operators.aligned_window import AlignedWindowOperator, panes_of
from penstock.runtime.operators.given_partials import GivenPartialsOperator
from penstock.runtime.operators.preaggregate import ColumnPlan
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.operators.whole_windows import WholeWindowsOperator
from penstock.runtime.operators.window_contents import AggregatedRecords
from penstock.runtime.partitioners import ForwardPartitioner

_WHOLE: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_NUMBERS: Final = _WHOLE | {"float", "double"}
_KEYS: Final = _WHOLE | {"string", "boolean", "date"}
_TIMES: Final = _WHOLE | {"timestamp"}
_LONGEST: Final = 1 << 60


def can_aggregate_in_spark(
    graph: StreamGraph, path: list[StreamNode], window: StreamNode, time: str, plan: ColumnPlan
) -> bool:
    """Return whether Spark can aggregate what a source gives to a window, with the same results.

    That needs a bounded DataFrame that is all the program reads, whose only reader is the window;
    `AggregateFunction`s of ours, and columns with which Spark reckons as Python does.

    Args:
        graph: The program.
        path: The operators from the source to the one that gives timestamps.
        window: The window.
        time: The column of the timestamps.
        plan: What is to be computed.
    """
    source = path[0]
    if (
        len(graph.sources) > 1
        or not isinstance(source.source, FrameSource)
        or not source.is_bounded
        or len(path[-1].out_edges) > 1
        or not isinstance(plan.contents, AggregatedRecords)
        or window.chaining_strategy is not ChainingStrategy.ALWAYS
        or window.slot_sharing_group != source.slot_sharing_group
        or any(_is_aligned(node) for node in path)
    ):
        return False
    assert isinstance(window.operator, AlignedWindowOperator)
    kinds = {field.name: field.dataType.simpleString() for field in source.source.frame.schema}
    return (
        # Spark may take names for equal that differ in case.
        len({name.lower() for name in kinds}) == len(kinds)
        and kinds[plan.key] in _KEYS
        and kinds[time] in _TIMES
        and panes_of(window.operator.assigner).pane_size <= _LONGEST
        and all(
            field is None
            or aggregate.kind == "count"
            or kinds[field] in (_WHOLE if aggregate.kind in ("min", "max") else _NUMBERS)
            for field, aggregate in zip(plan.fields, plan.aggregates, strict=True)
        )
    )


def _is_aligned(node: StreamNode) -> bool:
    operator = node.operator
    return isinstance(operator, TimestampsAndWatermarksOperator) and operator.is_aligned


def aggregate_in_spark(
    graph: StreamGraph, path: list[StreamNode], window: StreamNode, time: str, plan: ColumnPlan
) -> None:
    """Have Spark aggregate what a source gives to a window, and send it to the subtasks of the keys.

    So the window joins the chain of the source, whose subtasks are now those of the window.

    Args:
        graph: The program. The window's records come through a `PreAggregateOperator`.
        path: The operators from the source to the one that gives timestamps.
        window: The window.
        time: The column of the timestamps.
        plan: What is to be computed.
    """
    [edge] = window.in_edges
    aggregation = graph.nodes[edge.source_id]
    source, timed = path[0], path[-1]
    operator = window.operator
    assert isinstance(source.source, FrameSource)
    assert isinstance(operator, AlignedWindowOperator)
    panes = panes_of(operator.assigner)
    source.source = AggregatedFrameSource(
        source.source.frame,
        time,
        panes.pane_size,
        panes.offset,
        plan,
        window.parallelism,
        window.max_parallelism,
    )
    for node in (*path, aggregation):
        node.parallelism = window.parallelism
        node.max_parallelism = window.max_parallelism
        node.fixes_max_parallelism = window.fixes_max_parallelism
        node.is_columnar = True
    strategies = [_strategy(node, is_timed=node is timed) for node in path]
    for node, strategy in zip(path[1:], strategies[1:], strict=True):
        assert isinstance(node.operator, TimestampsAndWatermarksOperator)
        node.operator = node.operator.on_columns(strategy)
    assert isinstance(source.operator, TimestampsAndWatermarksOperator)
    source.operator = AggregatedSourceOperator(
        strategy=strategies[0], interval=source.operator.interval
    )
    aggregation.name = "Aggregate in Spark"
    aggregation.description = aggregation.description.partition(";")[0].replace(
        "Pre-Aggregate, columnar", "Aggregate in Spark"
    )
    assert isinstance(plan.contents, AggregatedRecords)
    are_whole = (
        type(operator) is AlignedWindowOperator
        and operator.is_plain
        and plan.contents.accumulator_type is None
    )
    aggregation.operator = GivenPartialsOperator(plan, are_whole=are_whole)
    if are_whole:
        windows = panes.size, panes.slide, panes.offset
        window.operator = WholeWindowsOperator(plan, windows)
    forward = replace(edge, partitioner=ForwardPartitioner())
    aggregation.out_edges[aggregation.out_edges.index(edge)] = forward
    window.in_edges[:] = [forward]


def _strategy(node: StreamNode, *, is_timed: bool) -> WatermarkStrategy:
    """Return the strategy of an operator whose records have their timestamps."""
    assert isinstance(node.operator, TimestampsAndWatermarksOperator)
    strategy = node.operator.strategy
    if is_timed:
        strategy = copy.copy(strategy)
        strategy.timestamp_assigner = None
    return strategy
