"""How a stream knows of the progress of event time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.common.rows.field_reader import ColumnTimestamp
from penstock.common.time import Duration
from penstock.common.watermark_generator import BoundedOutOfOrderness, WatermarkGenerator
from penstock.errors import InvalidArgumentError

__all__ = ["TimestampAssigner", "WatermarkStrategy"]
__path__: list[str] = []
"""That there is one has Python ask for missing names as if they were modules: see `penstock.not_here`."""

_ZERO = Duration.of_millis(0)


class TimestampAssigner(ABC):
    """Tells the event time of records."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        """Return the timestamp of a record.

        Args:
            value: The record.
            record_timestamp: The timestamp it has already, in milliseconds; None if it has none.

        Returns:
            Milliseconds since the epoch.
        """


class WatermarkStrategy:
    """Says how records get their timestamps, and which watermarks a stream has.

    The methods whose names begin with `with_` change the strategy and return it, as in PyFlink.

    Args:
        generator: Makes the generator of each split; None for no watermarks but the last one of a
            bounded stream.

    Example:
        >>> from penstock.common import Duration
        >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
        >>> strategy = strategy.with_timestamp_assigner(lambda event, _: event["time"])
        >>> strategy.timestamp_assigner({"time": 7}, None)
        7
    """

    def __init__(self, generator: Callable[[], WatermarkGenerator] | None = None) -> None:
        self.generator = generator
        self.timestamp_assigner: Callable[[Any, int | None], int] | None = None
        self.idle_timeout: int | None = None
        self.alignment_group: str | None = None

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Return the strategy for streams that do not need event time.

        Returns:
            A strategy that makes no watermarks, but for the last one of a bounded stream.
        """
        return WatermarkStrategy()

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Return the strategy for streams whose timestamps never go back.

        Without a timestamp assigner records keep the timestamps they have. If they have none, there is no watermark
        before the end of the input, and operators that need timestamps say so.

        Returns:
            A strategy whose watermark is the greatest timestamp less 1 ms.
        """
        return WatermarkStrategy(_Bounded(_ZERO))

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """Return the strategy for streams whose records may be late by a known time.

        Args:
            max_out_of_orderness: How late a record may be.

        Returns:
            A strategy whose watermark is the greatest timestamp less that time less 1 ms.

        Raises:
            InvalidArgumentError: If the time is negative.
        """
        return WatermarkStrategy(_Bounded(_not_negative(max_out_of_orderness, "lateness")))

    @staticmethod
    def for_generator(generator: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Return the strategy of a generator of your own; PyFlink has none.

        Args:
            generator: Makes a new generator: its class, say.

        Returns:
            The strategy.

        Raises:
            InvalidArgumentError: If it is not callable.
        """
        if not callable(generator):
            raise InvalidArgumentError(
                f"for_generator() was given {generator!r}, which makes no generator.",
                hint="Give the class of a WatermarkGenerator, or a function that makes one.",
            )
        return WatermarkStrategy(generator)

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int | None], int]
    ) -> WatermarkStrategy:
        """Set what tells the event time of records. Default: they have it already.

        Args:
            timestamp_assigner: A `TimestampAssigner`, or a function that takes the record and the
                timestamp it has already, and returns milliseconds since the epoch.

        Returns:
            This strategy.

        Raises:
            InvalidArgumentError: If it is neither.
        """
        if isinstance(timestamp_assigner, TimestampAssigner):
            self.timestamp_assigner = timestamp_assigner.extract_timestamp
        elif callable(timestamp_assigner):
            self.timestamp_assigner = timestamp_assigner
        else:
            raise InvalidArgumentError(
                f"{timestamp_assigner!r} tells no timestamps.",
                hint="Give a TimestampAssigner, or a function of record and timestamp.",
            )
        return self

    def with_timestamp_column(self, column: str) -> WatermarkStrategy:
        """Set a field of the records as their event time. PyFlink has nothing like it.

        Where the records are the rows of a DataFrame, no Python runs for it: see `from_data_frame`.

        Args:
            column: The name of the field. It holds milliseconds since the epoch, or a timestamp of
                Spark's, or datetimes with a time zone. A `timestamp_ntz` column is taken as UTC.

        Returns:
            This strategy.

        Raises:
            InvalidArgumentError: If it is no name.

        Example:
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> strategy.with_timestamp_column("time").timestamp_assigner({"time": 7}, None)
            7
        """
        if not isinstance(column, str) or not column:
            raise InvalidArgumentError(
                f"with_timestamp_column() was given {column!r}.", hint="Give the name of a field."
            )
        self.timestamp_assigner = ColumnTimestamp(column)
        return self

    @property
    def follows_timestamps(self) -> bool:
        """Whether its watermarks, if there are any, follow the greatest timestamp at a fixed distance."""
        return self.generator is None or isinstance(self.generator, _Bounded)

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """Set after what time without records nobody waits for a split any more. Default: never.

        The time counts between epochs that found the split empty, so that a long epoch makes nobody
        idle, and begins anew when the job is restarted.

        Args:
            idle_timeout: The time, more than zero.

        Returns:
            This strategy.

        Raises:
            InvalidArgumentError: If it is not more than zero.
        """
        timeout = _not_negative(idle_timeout, "idle timeout").to_millis()
        if timeout == 0:
            raise InvalidArgumentError(
                "An idle timeout of zero makes every split idle.",
                hint="Give a time that a split may be without records.",
            )
        self.idle_timeout = timeout
        return self

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """Let the splits of a group advance together.

        Inside an epoch they always do: receivers read what was sent in the order of its watermarks. No
        source of Spark can be paused from one epoch to the next, so a streaming job that asks for this
        is refused.

        Args:
            watermark_group: The name of the group.
            max_allowed_watermark_drift: How far a split may be ahead of the others; inside an epoch
                the drift is that of a buffer.
            update_interval: How often that is checked; without effect.

        Returns:
            This strategy.

        Raises:
            InvalidArgumentError: If the drift is negative.
        """
        _not_negative(max_allowed_watermark_drift, "drift")
        self.alignment_group = watermark_group
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WatermarkStrategy) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.generator, self.idle_timeout))

    def __repr__(self) -> str:
        if self.generator is None:
            return "WatermarkStrategy.no_watermarks()"
        return f"WatermarkStrategy({self.generator!r})"


class _Bounded:
    """Makes generators that follow the greatest timestamp."""

    def __init__(self, delay: Duration) -> None:
        self._delay = delay

    def __call__(self) -> WatermarkGenerator:
        return BoundedOutOfOrderness(self._delay)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bounded) and self._delay == other._delay

    def __hash__(self) -> int:
        return hash(self._delay)

    def __repr__(self) -> str:
        return f"BoundedOutOfOrderness({self._delay})"


def _not_negative(duration: Duration, what: str) -> Duration:
    if not isinstance(duration, Duration) or duration < _ZERO:
        raise InvalidArgumentError(
            f"{duration!r} is no {what}: it has to be a Duration, and not negative.",
            hint="Give Duration.of_seconds(5), for instance.",
        )
    return duration
