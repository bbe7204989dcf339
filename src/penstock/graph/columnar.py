"""Finds the windows whose records can be aggregated column by column, and has it done."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Final

from penstock.common.rows.field_reader import ColumnTimestamp
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.graph.chaining import is_chainable
from penstock.graph.field_access import accessed_field
from penstock.graph.insertion import insert
from penstock.graph.operator_ids import operator_ids
from penstock.graph.source_descriptions import FrameSource
from penstock.graph.spark_aggregation import aggregate_in_spark, can_aggregate_in_spark
from penstock.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from penstock.runtime.columnar.partial_records import on_partials
from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.columnar.preaggregate import PreAggregateOperator
from penstock.runtime.exchange.partitioners import KeyGroupStreamPartitioner, SentKeyPartitioner
from penstock.runtime.operator import ChainingStrategy
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.source import NativeSource
from penstock.runtime.windows.operator.pane_windows import AlignedWindows
from penstock.runtime.windows.operator.window_contents import AggregatedRecords, ReducedRecords
from penstock.runtime.windows.operator.window_operator import WindowOperator
from penstock.runtime.windows.panes import panes_of

_WHOLE: Final = (Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG())
_NUMBERS: Final = (*_WHOLE, Types.FLOAT(), Types.DOUBLE())
_KEYS: Final = (*_WHOLE, Types.STRING(), Types.BOOLEAN(), Types.SQL_DATE())
_TIMES: Final = (*_WHOLE, Types.SQL_TIMESTAMP(), Types.INSTANT())


def go_columnar(graph: StreamGraph, *, in_spark: bool = False) -> StreamGraph:
    """Let windows be aggregated column by column, where that gives the same results.

    That needs a DataFrame all of whose readers are tumbling or sliding windows of event time under the
    default trigger, without evictor and side output of late records; timestamps and keys that are
    columns; watermarks that follow the timestamps, or none; and aggregates of columns of numbers that
    say what they compute. Then the rows stay columns, and an operator that is chained to the source
    aggregates them, or Spark does, if it may and can. The ids of the other operators stay.

    Args:
        graph: The program, which is changed.
        in_spark: Whether Spark may aggregate the rows of bounded DataFrames.
    """
    if not graph.chaining_enabled:
        return graph
    found = [found for source in graph.sources if (found := _found_behind(source, graph))]
    if not found:
        return graph
    ids = operator_ids(graph)
    for path, strategy, plans in found:
        if in_spark and _gone_to_spark(graph, path, strategy, *plans[0]):
            continue
        timed = path[-1]
        for node in path:
            assert isinstance(node.operator, TimestampsAndWatermarksOperator)
            # What makes no timestamps keeps its strategy.
            kept = node.operator.strategy
            node.operator = node.operator.on_columns(strategy if node is timed else kept)
            node.is_columnar = True
            node.description += " (columnar)"
        for edge, plan in plans:
            _insert(edge, plan, graph)
    for node in graph.nodes.values():
        node.uid_hash = ids.get(node.id, node.uid_hash)
    return graph


def _gone_to_spark(
    graph: StreamGraph,
    path: list[StreamNode],
    strategy: WatermarkStrategy,
    edge: StreamEdge,
    plan: ColumnPlan,
) -> bool:
    """Have Spark aggregate what a source gives, if it can; return whether it can."""
    window = graph.nodes[edge.target_id]
    time = _column_of(strategy)
    can = can_aggregate_in_spark(graph, path, window, time, plan)
    if can:
        aggregate_in_spark(graph, path, edge, time, plan)
    return can


def _column_of(strategy: WatermarkStrategy) -> str:
    assigner = strategy.timestamp_assigner
    assert isinstance(assigner, ColumnTimestamp)
    assert isinstance(assigner.field, str)
    return assigner.field


Found = tuple[list[StreamNode], WatermarkStrategy, list[tuple[StreamEdge, ColumnPlan]]]


def _found_behind(source: StreamNode, graph: StreamGraph) -> Found | None:
    """Return what is needed to aggregate all that a source gives column by column; None if it cannot be.

    Returns:
        The operators up to the one that gives timestamps, its strategy on columns, and the edges to
        windows, each with what is to be computed.
    """
    if not _has_columns(source):
        return None
    path = [source]
    edges = source.out_edges
    while len(edges) == 1 and is_chainable(edges[0], graph):
        node = graph.nodes[edges[0].target_id]
        if not isinstance(node.operator, TimestampsAndWatermarksOperator):
            return None
        path.append(node)
        edges = node.out_edges
    names = source.output_type.get_field_names()
    columns = dict(zip(names, source.output_type.get_field_types(), strict=True))
    strategy = _on_columns(path, columns)
    plans = [(edge, _plan(edge, columns, graph)) for edge in edges]
    complete = [(edge, plan) for edge, plan in plans if plan is not None]
    if strategy is None or not complete or len(complete) < len(plans):
        return None
    return path, strategy, complete


def _has_columns(source: StreamNode) -> bool:
    kind, description = source.output_type, source.source
    return (
        isinstance(source.operator, SourceOperator)
        and source.chaining_strategy is not ChainingStrategy.NEVER
        and (
            isinstance(description, FrameSource)
            or (isinstance(description, NativeSource) and description.has_columns)
        )
        and isinstance(kind, RowTypeInfo)
        and len(set(kind.get_field_names())) == len(kind.get_field_names())
    )


def _on_columns(
    path: list[StreamNode], columns: dict[str, TypeInformation]
) -> WatermarkStrategy | None:
    """Return the strategy of the last operator, with timestamps that are a column; None if not so."""
    timed = path[-1]
    assert isinstance(timed.operator, TimestampsAndWatermarksOperator)
    strategy = timed.operator.strategy
    others = [node.operator for node in path[:-1]]
    if timed.chaining_strategy is ChainingStrategy.NEVER or any(
        not isinstance(other, TimestampsAndWatermarksOperator)
        or other.strategy != WatermarkStrategy.no_watermarks()
        for other in others
    ):
        return None
    assigner = strategy.timestamp_assigner
    field = _name(accessed_field(assigner, 2), columns)
    fitting = _TIMES if isinstance(assigner, ColumnTimestamp) else _WHOLE
    if field is None or columns[field] not in fitting or not strategy.follows_timestamps:
        return None
    changed = copy.copy(strategy)
    changed.timestamp_assigner = ColumnTimestamp(field)
    return changed


def _name(field: int | str | None, columns: Iterable[str]) -> str | None:
    """Return the name of a field that is there."""
    names = list(columns)
    if isinstance(field, int):
        return names[field] if 0 <= field < len(names) else None
    return field if field in names else None


def _plan(
    edge: StreamEdge, columns: dict[str, TypeInformation], graph: StreamGraph
) -> ColumnPlan | None:
    """Return what is to be computed for the windows that an edge leads to; None if they need records."""
    window, partitioner = graph.nodes[edge.target_id], edge.partitioner
    operator = window.operator
    if (
        len(window.in_edges) > 1
        or not isinstance(operator, WindowOperator)
        or not issubclass(operator.windows, AlignedWindows)
        or type(partitioner) is not KeyGroupStreamPartitioner
        or operator.late_tag is not None
        or not isinstance(operator.contents, (ReducedRecords, AggregatedRecords))
    ):
        return None
    windows = panes_of(operator.assigner)
    key = _name(accessed_field(partitioner.key_selector, 1), columns)
    if key is None or columns[key] not in _KEYS or windows.slide > windows.size:
        return None
    if partitioner.key_type not in {None, columns[key]}:  # each key has to be looked at
        return None
    function = operator.contents.function.function
    aggregates = getattr(function, "column_aggregates", None)
    if not aggregates or not isinstance(aggregates, tuple):
        return None
    fields = [None if it.field is None else _name(it.field, columns) for it in aggregates]
    for aggregate, field in zip(aggregates, fields, strict=True):
        if aggregate.field is None:
            continue
        if field is None or (aggregate.kind != "count" and columns[field] not in _NUMBERS):
            return None
    is_single = not getattr(function, "gives_rows", False)
    return ColumnPlan(key, tuple(fields), aggregates, operator.contents, is_single)


def _insert(edge: StreamEdge, plan: ColumnPlan, graph: StreamGraph) -> None:
    """Put an operator that aggregates columns before windows."""
    window = graph.nodes[edge.target_id]
    assert isinstance(window.operator, WindowOperator)
    assert isinstance(edge.partitioner, KeyGroupStreamPartitioner)
    windows = panes_of(window.operator.assigner)
    window.operator = on_partials(window.operator)
    insert(
        edge,
        graph,
        name="Pre-Aggregate",
        description=f"Pre-Aggregate, columnar: {plan.description(windows.pane_size)}; of a batch of late "
        "records, a window fires once for each key",
        operator=PreAggregateOperator(plan, windows.size, windows.slide, windows.offset),
        partitioner=SentKeyPartitioner(edge.partitioner.key_selector),
    )
