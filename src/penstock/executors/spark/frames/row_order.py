"""Whether the rows of a DataFrame come in an order that watermarks can go by."""

from __future__ import annotations

from pyspark.sql import DataFrame

from penstock.graph.source_descriptions import AggregatedFrameSource, FrameSource
from penstock.runtime.source import NativeSource


def is_unordered(source: object, frame: DataFrame | None) -> bool:
    """Whether a task reads files or splits of a bounded source one after the other.

    Spark packs files into partitions by their size, whatever they tell of. So what one of them begins with may
    be much older than what the one before it ended with, and the same holds for the splits that a column
    names.

    Args:
        source: The source, as the program describes it.
        frame: What Spark reads for it; None if workers read it by themselves.
    """
    if isinstance(source, NativeSource):
        return source.is_unordered
    if frame is None or frame.isStreaming or isinstance(source, AggregatedFrameSource):
        return False
    if isinstance(source, FrameSource):
        if source.is_sorted:
            return False
        if source.split_column is not None:
            return True
    return len(frame.inputFiles()) > 1
