"""The head of a chain that begins at a source."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from penstock.common.rows.field_reader import ColumnTimestamp
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.runtime.exchange.converting_output import converted
from penstock.runtime.exchange.elements import Block, ChannelWatermark
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.planned.planned_source import PlannedSource
from penstock.runtime.source import NativeSource


class SourceOperator(TimestampsAndWatermarksOperator):
    """Passes on what a source reads, with timestamps and watermarks if a strategy says how.

    Each split has a watermark generator of its own.

    Args:
        source: The source to read, if a worker reads it by itself; None where Spark does.
        strategy: Says how records get timestamps, and the stream watermarks.
        interval: The time between periodic watermarks, in milliseconds; 0 for none.
        has_splits: Whether records come with the name of their split.

    Attributes:
        as_block: Makes records of messages, where what Spark reads are messages.
    """

    def __init__(
        self,
        source: NativeSource | PlannedSource | None = None,
        strategy: WatermarkStrategy | None = None,
        interval: int = 0,
        *,
        has_splits: bool = False,
    ) -> None:
        super().__init__(strategy or WatermarkStrategy.no_watermarks(), interval)
        self.source = source
        self.has_splits = has_splits
        self.as_block: Callable[[list[Any]], Block] | None = None
        self._is_plain = strategy is None or strategy == WatermarkStrategy.no_watermarks()

    def interrupt(self) -> None:
        if isinstance(self.source, PlannedSource):
            self.source.interrupt()

    @property
    def reads_columns(self) -> bool:
        """Whether it makes use of rows that come as columns."""
        return self.takes_columns or isinstance(self._strategy.timestamp_assigner, ColumnTimestamp)

    def process_block(self, block: Block) -> None:
        self.process_split(block, None)

    def process_split(self, block: Block, split: Hashable) -> None:
        """Process records of one split."""
        if self._is_plain:
            self.output.collect(block)
        else:
            self._event_time.process(converted(block, self.conversion), split)

    def begin_split(self, split: Hashable) -> None:
        """Let the watermarks wait for a split that is about to be read."""
        if not self._is_plain:
            self._event_time.begin_split(split)

    def process_watermark(self, timestamp: int) -> None:
        if self._is_plain:
            self.output.emit_watermark(timestamp)
        else:
            super().process_watermark(timestamp)

    def flush(self) -> None:
        if not self._is_plain:
            super().flush()

    def snapshot(self) -> bytes | None:
        return None if self._is_plain else super().snapshot()

    def split_progress(self) -> tuple[tuple[Hashable, ChannelWatermark], ...]:
        """Return how far each split has come, if the source knows its splits."""
        return self._event_time.progress() if self.has_splits and not self._is_plain else ()
