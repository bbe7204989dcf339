"""Session windows: they end when no record came for a while."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any

from penstock.errors import InvalidSessionGapError, InvalidWindowError
from penstock.runtime.keys.window_values import TimeWindow, time_window
from penstock.runtime.user_code import UserFunction, record_text
from penstock.runtime.windows.arguments import TimeLength, callable_of, positive_millis
from penstock.runtime.windows.assigners.assigner import MergingWindowAssigner, WindowAssigner
from penstock.runtime.windows.assigners.time_window_assigner import (
    EventTimeWindowAssigner,
    ProcessingTimeWindowAssigner,
    TimeWindowAssigner,
)


class SessionWindowTimeGapExtractor(ABC):
    """Says for each record how long after it a session is still the same.

    Example:
        >>> class ByKind(SessionWindowTimeGapExtractor):
        ...     def extract(self, element):
        ...         return 1_000 if element["kind"] == "click" else 60_000
    """

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Return the gap of a record.

        Args:
            element: The record.

        Returns:
            Milliseconds, above zero.
        """


GapExtractor = SessionWindowTimeGapExtractor | Callable[[Any], int]


class _SessionWindows(TimeWindowAssigner, MergingWindowAssigner[Any, TimeWindow]):
    """Session windows by either time."""

    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        """Make one session of those that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)

    def _windows_at(
        self, time: int, element: Any, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return (time_window(time, time + self._gap_of(element, context)),)

    @abstractmethod
    def _gap_of(self, element: Any, context: WindowAssigner.WindowAssignerContext) -> int:
        """Return how long nothing must come after a record for its session to end."""


class _StaticGap(_SessionWindows):
    def __init__(self, session_gap: TimeLength) -> None:
        what = f"The gap of {type(self).__name__}"
        self.session_gap = positive_millis(session_gap, what, InvalidWindowError)

    def _gap_of(self, element: Any, context: WindowAssigner.WindowAssignerContext) -> int:
        return self.session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_gap})"


class _DynamicGap(_SessionWindows):
    def __init__(self, session_window_time_gap_extractor: GapExtractor) -> None:
        extractor = callable_of(
            session_window_time_gap_extractor,
            f"The gap extractor of {type(self).__name__}",
            "Give a SessionWindowTimeGapExtractor, or a function from a record to milliseconds.",
            "extract",
        )
        self._extractor = UserFunction(extractor, "extract")

    def _gap_of(self, element: Any, context: WindowAssigner.WindowAssignerContext) -> int:
        gap = self._extractor.call(element)
        if type(gap) is int and gap > 0:
            return gap
        try:
            found = 0 if isinstance(gap, bool) else operator.index(gap)
        except TypeError:
            found = 0
        if found > 0:
            return found
        runtime = context.get_runtime_context()
        assert runtime.keyed_state is not None
        raise InvalidSessionGapError(
            f"Operator {runtime.get_task_name()!r}, the key "
            f"{record_text(runtime.keyed_state.current_key)}: the gap extractor returned {gap!r} "
            f"for the record {record_text(element)}.",
            hint="Return a whole number of milliseconds above zero.",
        )

    def __repr__(self) -> str:
        function = self._extractor.function
        name = getattr(function, "__name__", type(function).__name__)
        return f"{type(self).__name__}({name})"


class EventTimeSessionWindows(_StaticGap, EventTimeWindowAssigner):
    """Sessions by the timestamps of the records: records closer than the gap are in one window.

    Args:
        session_gap: How long nothing must come for a session to end; an int is a number of
            milliseconds.

    Raises:
        InvalidWindowError: If the gap is not above zero.

    Attributes:
        session_gap: The gap in milliseconds.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import EventTimeSessionWindows
        >>> EventTimeSessionWindows.with_gap(Time.minutes(30))
        EventTimeSessionWindows(1800000)
    """

    @staticmethod
    def with_gap(size: TimeLength) -> EventTimeSessionWindows:
        """Return sessions that end after a gap.

        Args:
            size: The gap.

        Returns:
            The assigner.
        """
        return EventTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicEventTimeSessionWindows:
        """Return sessions whose gap depends on the records.

        Args:
            extractor: Says the gap of a record in milliseconds: a `SessionWindowTimeGapExtractor`, or
                a function.

        Returns:
            The assigner.
        """
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_StaticGap, ProcessingTimeWindowAssigner):
    """Sessions by the clock of the machine: records closer than the gap are in one window.

    Args:
        session_gap: How long nothing must come for a session to end; an int is a number of
            milliseconds.

    Raises:
        InvalidWindowError: If the gap is not above zero.

    Attributes:
        session_gap: The gap in milliseconds.

    Example:
        >>> from penstock.common import Time
        >>> from penstock.datastream.window import ProcessingTimeSessionWindows
        >>> ProcessingTimeSessionWindows.with_gap(Time.seconds(5))
        ProcessingTimeSessionWindows(5000)
    """

    @staticmethod
    def with_gap(size: TimeLength) -> ProcessingTimeSessionWindows:
        """Return sessions that end after a gap.

        Args:
            size: The gap.

        Returns:
            The assigner.
        """
        return ProcessingTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Return sessions whose gap depends on the records.

        Args:
            extractor: Says the gap of a record in milliseconds: a `SessionWindowTimeGapExtractor`, or
                a function.

        Returns:
            The assigner.
        """
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_DynamicGap, EventTimeWindowAssigner):
    """Sessions by the timestamps of the records, whose gap depends on the records.

    Args:
        session_window_time_gap_extractor: Says the gap of a record in milliseconds: a
            `SessionWindowTimeGapExtractor`, or a function. A gap not above zero fails the job with
            an `InvalidSessionGapError`.

    Raises:
        InvalidFunctionError: If the extractor cannot be called.

    Example:
        >>> from penstock.datastream.window import DynamicEventTimeSessionWindows
        >>> def gap(event):
        ...     return event["gap"]
        >>> DynamicEventTimeSessionWindows.with_dynamic_gap(gap)
        DynamicEventTimeSessionWindows(gap)
    """

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicEventTimeSessionWindows:
        """Return the assigner; see the class.

        Args:
            extractor: Says the gap of a record in milliseconds.

        Returns:
            The assigner.
        """
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGap, ProcessingTimeWindowAssigner):
    """Sessions by the clock of the machine, whose gap depends on the records.

    Args:
        session_window_time_gap_extractor: Says the gap of a record in milliseconds: a
            `SessionWindowTimeGapExtractor`, or a function. A gap not above zero fails the job with
            an `InvalidSessionGapError`.

    Raises:
        InvalidFunctionError: If the extractor cannot be called.

    Example:
        >>> from penstock.datastream.window import DynamicProcessingTimeSessionWindows
        >>> DynamicProcessingTimeSessionWindows.with_dynamic_gap(len)
        DynamicProcessingTimeSessionWindows(len)
    """

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicProcessingTimeSessionWindows:
        """Return the assigner; see the class.

        Args:
            extractor: Says the gap of a record in milliseconds.

        Returns:
            The assigner.
        """
        return DynamicProcessingTimeSessionWindows(extractor)
