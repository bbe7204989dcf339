"""Has Spark aggregate the rows of a bounded DataFrame, before workers get them."""

from __future__ import annotations

import copy
from typing import Final

from penstock.graph.insertion import insert
from penstock.graph.source_descriptions import AggregatedFrameSource, ColumnKind, FrameSource
from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from penstock.runtime.columnar.aggregated_rows import (
    AggregatedSourceOperator,
    GivenPartialsOperator,
)
from penstock.runtime.columnar.partial_records import on_partials
from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.columnar.whole_windows import WholeWindowsOperator
from penstock.runtime.exchange.partitioners import ForwardPartitioner
from penstock.runtime.operator import ChainingStrategy
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.windows.operator.pane_windows import AlignedWindows
from penstock.runtime.windows.operator.window_contents import AggregatedRecords
from penstock.runtime.windows.operator.window_operator import WindowOperator
from penstock.runtime.windows.panes import PaneWindows, panes_of

_WHOLE: Final = frozenset({ColumnKind.WHOLE})
_NUMBERS: Final = _WHOLE | {ColumnKind.REAL}
_KEYS: Final = _WHOLE | {ColumnKind.TEXT, ColumnKind.BOOLEAN, ColumnKind.DATE}
_TIMES: Final = _WHOLE | {ColumnKind.INSTANT}
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
    assert isinstance(window.operator, WindowOperator)
    kinds = source.source.kinds
    return (
        kinds[plan.key] in _KEYS
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
    graph: StreamGraph, path: list[StreamNode], edge: StreamEdge, time: str, plan: ColumnPlan
) -> None:
    """Have Spark aggregate what a source gives to a window, and send it to the subtasks of the keys.

    So the window joins the chain of the source, whose subtasks are now those of the window.

    Args:
        graph: The program, which is changed.
        path: The operators from the source to the one that gives timestamps.
        edge: The edge from there to the window.
        time: The column of the timestamps.
        plan: What is to be computed.
    """
    window = graph.nodes[edge.target_id]
    operator = window.operator
    assert isinstance(operator, WindowOperator)
    panes = panes_of(operator.assigner)
    _read_aggregated(path, window, time, panes, plan)
    are_whole = _are_whole(operator, plan)
    if are_whole:
        window.operator = WholeWindowsOperator(plan, (panes.size, panes.slide, panes.offset))
    else:
        window.operator = on_partials(operator)
    insert(
        edge,
        graph,
        name="Aggregate in Spark",
        description=f"Aggregate in Spark: {plan.description(panes.pane_size)}",
        operator=GivenPartialsOperator(plan, are_whole=are_whole),
        partitioner=ForwardPartitioner(),
    )


def _are_whole(operator: WindowOperator, plan: ColumnPlan) -> bool:
    """Whether what Spark gives is all there is of a window, and nothing but its result is wanted."""
    assert isinstance(plan.contents, AggregatedRecords)
    return (
        operator.windows is AlignedWindows
        and operator.is_plain
        and plan.contents.accumulator_type is None
    )


def _read_aggregated(
    path: list[StreamNode], window: StreamNode, time: str, panes: PaneWindows, plan: ColumnPlan
) -> None:
    """Have a source read what Spark aggregates, in the subtasks of the window."""
    source, timed = path[0], path[-1]
    assert isinstance(source.source, FrameSource)
    source.source = AggregatedFrameSource(
        source.source.frame,
        time,
        panes.pane_size,
        panes.offset,
        plan,
        window.parallelism,
        window.max_parallelism,
    )
    for node in path:
        node.parallelism = window.parallelism
        node.max_parallelism = window.max_parallelism
        node.fixes_max_parallelism = window.fixes_max_parallelism
        node.is_columnar = True
        assert isinstance(node.operator, TimestampsAndWatermarksOperator)
        strategy = node.operator.strategy
        if node is timed:
            # The rows have their timestamps.
            strategy = copy.copy(strategy)
            strategy.timestamp_assigner = None
        node.operator = (
            AggregatedSourceOperator(strategy, node.operator.interval, time)
            if node is source
            else node.operator.on_columns(strategy)
        )
