"""What makes watermarks: the generators of users, and those that come with penstock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from penstock.common.time import Duration

if TYPE_CHECKING:
    from penstock.metrics import MetricGroup

__all__ = [
    "BoundedOutOfOrderness",
    "WatermarkGenerator",
    "WatermarkGeneratorContext",
    "WatermarkOutput",
]

_MIN: Final = -(2**63)


class WatermarkOutput(Protocol):
    """Takes what a watermark generator says."""

    def emit_watermark(self, timestamp: int) -> None:
        """Say that no event with a timestamp (milliseconds) at or below this one comes any more."""

    def mark_idle(self) -> None:
        """Say that nobody need wait for this stream, until the next watermark."""

    def mark_active(self) -> None:
        """Say that this stream counts again."""


class WatermarkGeneratorContext:
    """What a watermark generator may ask about the task it runs in. PyFlink has none; Flink has it in Java.

    Args:
        metrics: Where the generator may count.
    """

    def __init__(self, metrics: MetricGroup) -> None:
        self._metrics = metrics

    def get_metric_group(self) -> MetricGroup:
        """Return the group in which the generator may register metrics: that of its operator."""
        return self._metrics


class WatermarkGenerator(ABC):
    """Makes the watermarks of a stream, from its events or from time to time. PyFlink has none.

    A generator is kept from epoch to epoch by pickling it: define its class at the top level of a
    module or script. Where a source is read by several tasks that share a split, each has a copy, and
    `merge` joins them at the end of an epoch.

    Example:
        A generator that emits a watermark at each record that bears a mark:

        >>> class Marked(WatermarkGenerator):
        ...     def on_event(self, event, event_timestamp, output):
        ...         if event["mark"]:
        ...             output.emit_watermark(event_timestamp)
        ...     def on_periodic_emit(self, output):
        ...         pass
    """

    def open(self, context: WatermarkGeneratorContext) -> None:  # noqa: B027 - most need nothing
        """Get ready: called when the generator was made, and in each epoch that goes on with it.

        A counter that is registered here may be kept in a field; the group itself may not, as it is not pickled.

        Args:
            context: Has the group of metrics.

        Example:
            >>> from penstock.common import WatermarkStrategy
            >>> from penstock.testing import local_environment
            >>> class Counted(WatermarkGenerator):
            ...     def open(self, context):
            ...         self.events = context.get_metric_group().counter("events")
            ...     def on_event(self, event, event_timestamp, output):
            ...         self.events.inc()
            ...     def on_periodic_emit(self, output):
            ...         pass
            >>> env = local_environment()
            >>> events = env.from_collection(["a", "b"])
            >>> strategy = WatermarkStrategy.for_generator(Counted)
            >>> end = events.assign_timestamps_and_watermarks(strategy).add_sink(lambda event: None)
            >>> env.execute().get_accumulator_result("events")
            2
        """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Look at an event, and emit a watermark if it calls for one.

        The watermark follows this very event.

        Args:
            event: The event.
            event_timestamp: Its timestamp in milliseconds; `-2**63` if it has none, as in Flink.
            output: Takes the watermark.
        """

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit a watermark, if there is a new one.

        Called when `pipeline.auto-watermark-interval` (default 200 ms) has passed, after some
        thousand records, and at the end of each epoch.

        Args:
            output: Takes the watermark.
        """

    def merge(self, other: WatermarkGenerator) -> WatermarkGenerator:
        """Join this generator with a copy of it that saw other events of the same split.

        Raises:
            NotImplementedError: Always, unless a subclass says how it is done.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it is merged.")

    def can_begin_anew(self) -> bool:
        """Tell whether a new generator may stand in for this one, if its split was idle and has events again.

        A split that was idle for longer than `WatermarkStrategy.with_idleness` says, such as a file that is
        read, is then forgotten. Else it stays in the checkpoints for good, with its generator: where splits
        come and go, these grow.

        Returns:
            By default, True if the generator has no fields. Define it to return True if watermarks depend
            on nothing but the events since the split was idle, as with the greatest timestamp so far.
        """
        return self.__getstate__() is None


class BoundedOutOfOrderness(WatermarkGenerator):
    """Follows the greatest timestamp at a fixed distance: events may be late by as much.

    The watermark is that timestamp less the distance less 1 ms, as in Flink.

    Args:
        max_out_of_orderness: The distance; zero for streams in order.

    Attributes:
        watermark: The watermark as it is now, in milliseconds.
    """

    def __init__(self, max_out_of_orderness: Duration) -> None:
        self._delay = max_out_of_orderness.to_millis()
        self.watermark = _MIN

    def on_block(self, timestamps: Sequence[int]) -> None:
        """Look at the timestamps of a run of events."""
        watermark = max(timestamps) - self._delay - 1
        self.watermark = max(self.watermark, watermark)

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Look at an event; watermarks come periodically."""
        self.on_block((event_timestamp,))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the watermark."""
        output.emit_watermark(self.watermark)

    def can_begin_anew(self) -> bool:
        """Return True: what is older than the stream's watermark makes no new one."""
        return True

    def merge(self, other: WatermarkGenerator) -> WatermarkGenerator:
        """Return the one that came farther."""
        assert isinstance(other, BoundedOutOfOrderness)
        return self if self.watermark >= other.watermark else other
