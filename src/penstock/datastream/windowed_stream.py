"""Streams by key that are cut into windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.datastream.windows import Windows
from penstock.runtime.operators.window_call import ApplyCall, ProcessCall
from penstock.runtime.windowing.assigner import WindowAssigner

if TYPE_CHECKING:
    from penstock.datastream.keyed_stream import KeyedStream


class WindowedStream(Windows):
    """A stream by key whose records are put into windows, each key having windows of its own.

    Args:
        keyed_stream: The stream.
        window_assigner: Says which windows a record belongs to.

    Raises:
        InvalidArgumentError: If it is no `WindowAssigner`.

    Example:
        >>> from penstock.common import Time, WatermarkStrategy
        >>> from penstock.datastream import OutputTag
        >>> from penstock.datastream.window import TumblingEventTimeWindows
        >>> late = OutputTag("late")
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
        >>> strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
        >>> from penstock.testing import local_environment
        >>> events = local_environment().from_collection([("a", 100), ("a", 900), ("a", 1500)])
        >>> counts = (
        ...     events.assign_timestamps_and_watermarks(strategy)
        ...     .key_by(lambda event: event[0])
        ...     .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        ...     .side_output_late_data(late)
        ...     .apply(lambda key, window, events: [(key, window.start, len(events))])
        ... )
        >>> list(counts.execute_and_collect())
        [('a', 0, 2), ('a', 1000, 1)]
    """

    _apply_call = ApplyCall
    _process_call = ProcessCall
    _arguments = (3, 3)

    def __init__(
        self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        super().__init__(keyed_stream, window_assigner)
