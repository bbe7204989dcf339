"""Timestamps and watermarks where a stream gets them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block, WatermarkStatus
from penstock.runtime.exchange.watermarks.event_time import (
    EventTime,
    least_event_time,
    merge_event_time,
)
from penstock.runtime.operator import OperatorPart, StreamOperator
from penstock.runtime.timestamp import MAX_TIMESTAMP


class TimestampsAndWatermarksOperator(StreamOperator):
    """Gives records timestamps and the stream watermarks, in place of those it had.

    Only the last watermark of all passes: upstream nothing comes any more.

    Args:
        strategy: Says how.
        interval: The time between periodic watermarks, in milliseconds; 0 for none.
    """

    has_splits: bool = False
    """Whether records come with the name of their split."""

    holds_back: bool = False
    """Whether records of an epoch come in no order that a watermark could go by: there is one at its end."""

    def __init__(self, strategy: WatermarkStrategy, interval: int) -> None:
        self._strategy = strategy
        self.interval = interval

    @property
    def wants_wake_ups(self) -> bool:
        return self._strategy.idle_timeout is not None

    @property
    def is_aligned(self) -> bool:
        """Whether its splits are to advance together with others."""
        return self._strategy.alignment_group is not None

    @property
    def strategy(self) -> WatermarkStrategy:
        """Says how records get timestamps, and the stream watermarks."""
        return self._strategy

    def on_columns(self, strategy: WatermarkStrategy) -> Self:
        """Return a prototype like this one that works on columns, by a strategy that can."""
        changed = copy.copy(self)
        changed.takes_columns = True
        changed._strategy = strategy  # noqa: SLF001 - of the same class
        return changed

    def open(self) -> None:
        strategy = self._strategy
        if self.batch:
            # Of bounded input nothing is late: there is no watermark before the last.
            strategy = WatermarkStrategy.no_watermarks()
            strategy.timestamp_assigner = self._strategy.timestamp_assigner
        self._event_time = EventTime(
            strategy,
            self.interval,
            self.name,
            self.output,
            self.processing_time.current_processing_time,
            has_splits=self.has_splits,
            holds_back=self.holds_back,
            metrics=self.metrics.user,
        )
        self._is_over = False

    def begin_epoch(self, epoch: Epoch) -> None:
        self._event_time.begin_epoch()

    def process_block(self, block: Block) -> None:
        self._event_time.process(block)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            self._is_over = True
            self._event_time.end_input()

    def process_status(self, status: WatermarkStatus) -> None:
        """Do nothing: whether the stream is idle is told by what comes here."""

    def flush(self) -> None:
        if not self._is_over:
            self._event_time.flush()

    def snapshot(self) -> bytes | None:
        return self._event_time.snapshot()

    def restore(self, snapshot: bytes | None) -> None:
        self._event_time.restore(snapshot)

    def next_wake_up(self) -> int | None:
        return self._event_time.next_idle_check()

    def merge_snapshots(self, snapshots: list[bytes]) -> bytes:
        return merge_event_time(snapshots, "assign_timestamps_and_watermarks")

    def redistribute(
        self,
        parts: Sequence[OperatorPart],
        subtask: int,
        parallelism: int,
        subtask_of: Callable[[Any], int] | None,
    ) -> bytes | None:
        return least_event_time([part.snapshot for part in parts if part.snapshot is not None])
