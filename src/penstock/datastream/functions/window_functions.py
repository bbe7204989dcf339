"""The classes from which functions of windows are derived."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from penstock.runtime.function import Function
from penstock.runtime.keys.window_values import Window
from penstock.runtime.state.api import KeyedStateStore
from penstock.runtime.windows.operator.window_contexts import WindowContext

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Makes any number of results of each window of a key: see `WindowedStream.apply`.

    Example:
        >>> from penstock.datastream.window import CountTumblingWindowAssigner
        >>> class Range(WindowFunction):
        ...     def apply(self, key, window, inputs):
        ...         yield key, min(inputs), max(inputs)
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment().from_collection([5, 2, 4, 9, 7, 6])
        >>> windows = numbers.key_by(lambda number: number % 2).count_window(3)
        >>> sorted(windows.apply(Range()).execute_and_collect())
        [(0, 2, 6), (1, 5, 9)]
    """

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Return or yield the results of a window.

        Args:
            key: The key.
            window: The window.
            inputs: The records in the window, in the order in which they came; or what they were
                joined to before, alone.

        Returns:
            The results, None for none. A tuple of an `OutputTag` and a value goes to that side
            output.
        """


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Makes any number of results of each window: see `AllWindowedStream.apply`."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Return or yield the results of a window.

        Args:
            window: The window.
            inputs: As in `WindowFunction.apply`.

        Returns:
            As `WindowFunction.apply` does.
        """


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Makes any number of results of each window of a key, and may have state.

    State of one window lasts until that window is gone: its end and the allowed lateness have passed.
    See `WindowedStream.process`.

    Example:
        How often has this window been counted before, late records having come?

        >>> from penstock.common import Time, Types, WatermarkStrategy
        >>> from penstock.datastream import ValueStateDescriptor
        >>> from penstock.datastream.window import TumblingEventTimeWindows
        >>> class Counts(ProcessWindowFunction):
        ...     def process(self, key, context, elements):
        ...         before = context.window_state().get_state(
        ...             ValueStateDescriptor("before", Types.LONG())
        ...         )
        ...         yield context.window().start, len(list(elements)), before.value() or 0
        ...         before.update((before.value() or 0) + 1)
        ...     def clear(self, context):
        ...         context.window_state().get_state(
        ...             ValueStateDescriptor("before", Types.LONG())
        ...         ).clear()
        >>> from penstock.testing import local_environment
        >>> times = local_environment().from_collection([1, 2, 11, 3])
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
        >>> strategy = strategy.with_timestamp_assigner(lambda time, _: time)
        >>> timed = times.assign_timestamps_and_watermarks(strategy)
        >>> windows = timed.key_by(lambda time: "all").window(TumblingEventTimeWindows.of(10))
        >>> list(windows.allowed_lateness(100).process(Counts()).execute_and_collect())
        [(0, 3, 0), (10, 1, 0)]
    """

    class Context(ABC, Generic[W2]):
        """What the function may ask about the window it is called for."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the time of the clock in milliseconds since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the last watermark in milliseconds; -2**63 before the first."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return where the states of this window and key are; `clear` is to clear them.

            Raises:
                WindowStateError: If windows merge, as sessions do.
            """

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return where the states are that the key has for all its windows."""

    @abstractmethod
    def process(
        self, key: KEY, context: Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """Return or yield the results of a window.

        Args:
            key: The key.
            context: What may be asked about the window.
            elements: The records in the window, in the order in which they came; or what they were
                joined to before, alone.

        Returns:
            The results, None for none. A tuple of an `OutputTag` and a value goes to that side
            output.
        """

    def clear(self, context: Context[W]) -> None:
        """Clear the states of a window that is gone.

        Args:
            context: What may be asked about the window.
        """


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Makes any number of results of each window, and may have state.

    See `AllWindowedStream.process`, and `ProcessWindowFunction`.
    """

    class Context(ProcessWindowFunction.Context[W2]):
        """What the function may ask about the window it is called for.

        PyFlink's has no methods for the time; this one has.
        """

    @abstractmethod
    def process(self, context: Context[W], elements: Iterable[IN]) -> Iterable[OUT] | None:
        """Return or yield the results of a window.

        Args:
            context: What may be asked about the window.
            elements: As in `ProcessWindowFunction.process`.

        Returns:
            As `ProcessWindowFunction.process` does.
        """

    def clear(self, context: Context[W]) -> None:
        """Clear the states of a window that is gone.

        Args:
            context: What may be asked about the window.
        """


ProcessWindowFunction.Context.register(WindowContext)
ProcessAllWindowFunction.Context.register(WindowContext)
