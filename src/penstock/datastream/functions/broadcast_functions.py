"""The classes of functions that take records of a stream and of one that is broadcast beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from penstock.datastream.functions.timer_service import TimerService
from penstock.runtime.function import Function
from penstock.runtime.operators.broadcast_process import (
    BroadcastContext,
    KeyedBroadcastContext,
    KeyedReadOnlyContext,
    ReadOnlyContext,
)
from penstock.runtime.state.api import BroadcastState, ReadOnlyBroadcastState
from penstock.runtime.state.descriptors import MapStateDescriptor, StateDescriptor
from penstock.runtime.timers.internal_timer import TimeDomain
from penstock.runtime.user_code import does_nothing

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
]


class BaseBroadcastProcessFunction(Function):
    """Base of the functions of a stream and of one that is broadcast beside it."""

    class BaseContext(ABC):
        """What the function may ask about a record, whichever side it is of."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event timestamp of the record in milliseconds, or None if it has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the time in milliseconds since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the last watermark in milliseconds."""

    class Context(BaseContext):
        """What the function may ask about a record that was broadcast."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> BroadcastState[Any, Any]:
            """Return a broadcast state, to be read and changed.

            Args:
                state_descriptor: Names it; one of those that `broadcast` was given.

            Raises:
                UnknownBroadcastStateError: If it is none of those.
                StateTypeMismatchError: If the state was asked for with another type.
            """

    class ReadOnlyContext(BaseContext):
        """What the function may ask about a record that was not broadcast."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> ReadOnlyBroadcastState[Any, Any]:
            """Return a broadcast state, to be read; to change it raises a `ReadOnlyStateError`.

            Args:
                state_descriptor: Names it; one of those that `broadcast` was given.

            Raises:
                UnknownBroadcastStateError: If it is none of those.
                StateTypeMismatchError: If the state was asked for with another type.
            """


class BroadcastProcessFunction(BaseBroadcastProcessFunction):
    """A function of a stream without keys and of one that is broadcast beside it.

    What is broadcast goes to every subtask, and changes the broadcast state there; it must do so
    alike in all of them, and depend on nothing but what is broadcast. See
    `BroadcastConnectedStream.process`.

    Example:
        >>> from penstock.common import Types
        >>> from penstock.datastream import MapStateDescriptor
        >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
        >>> class Check(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         limit = ctx.get_broadcast_state(limits).get("limit")
        ...         if limit is not None and value > limit:
        ...             yield f"{value} is above {limit}"
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(limits).put("limit", value)
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> rules = env.from_collection([10]).broadcast(limits)
        >>> checked = env.from_collection([7, 12]).connect(rules).process(Check())
        >>> list(checked.execute_and_collect())
        ['12 is above 10']
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """What the function may ask about a record that was broadcast."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """What the function may ask about a record that was not broadcast."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ReadOnlyContext) -> Iterable[Any] | None:
        """Return or yield the results for a record that was not broadcast.

        Args:
            value: The record.
            ctx: What may be asked about it.

        Returns:
            The results, None for none. A tuple of an `OutputTag` and a value goes to that side
            output.
        """

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Return or yield the results for a record that was broadcast; every subtask gives them.

        Args:
            value: The record.
            ctx: What may be asked about it.

        Returns:
            The results, as of `process_element`.
        """


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction):
    """A function of a keyed stream and of one that is broadcast beside it.

    The side with keys has state and timers for each key. See `BroadcastProcessFunction` for the other
    one, and `BroadcastConnectedStream.process`.

    Example:
        A rule that comes later makes up for what was counted under the rule before:

        >>> from penstock.common import Types
        >>> from penstock.datastream import MapStateDescriptor, ValueStateDescriptor
        >>> rules = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
        >>> total = ValueStateDescriptor("total", Types.LONG())
        >>> class Weighed(KeyedBroadcastProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_state(total)
        ...     def process_element(self, value, ctx):
        ...         weight = ctx.get_broadcast_state(rules).get("weight") or 1
        ...         self.total.update((self.total.value() or 0) + weight)
        ...         yield ctx.get_current_key(), self.total.value()
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(rules).put("weight", value)
        ...         ctx.apply_to_keyed_state(total, lambda key, state: state.clear())
        >>> from penstock.testing import KeyedBroadcastProcessFunctionHarness
        >>> with KeyedBroadcastProcessFunctionHarness(Weighed(), lambda word: word, rules) as harness:
        ...     harness.process_element("tea")
        ...     harness.process_element("tea")
        ...     harness.process_broadcast_element(10)
        ...     harness.process_element("tea")
        ...     harness.extract_output_values()
        [('tea', 1), ('tea', 2), ('tea', 10)]
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """What the function may ask about a record that was broadcast."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
        ) -> None:
            """Call a function for each key of this subtask that has a state, in no particular order.

            PyFlink does not have it; Flink does. Keyed state cannot be used otherwise here, as a record
            that was broadcast has no key.

            Args:
                state_descriptor: Names the state.
                function: Takes a key and the state, which acts on that key; returns nothing.

            Raises:
                InvalidFunctionError: If the function is a generator.
            """

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """What the function may ask about a record of the keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the timers of the key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the record."""

    class OnTimerContext(ReadOnlyContext):
        """What the function may ask about the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which clock the timer follows."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ReadOnlyContext) -> Iterable[Any] | None:
        """Return or yield the results for a record of the keyed side.

        Args:
            value: The record.
            ctx: What may be asked about it.

        Returns:
            The results, None for none. A tuple of an `OutputTag` and a value goes to that side
            output.
        """

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Return or yield the results for a record that was broadcast; every subtask gives them.

        Args:
            value: The record.
            ctx: What may be asked about it.

        Returns:
            The results, as of `process_element`.
        """

    @does_nothing
    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """Return or yield the results of a timer that fires; they get the timer's timestamp.

        Args:
            timestamp: The time it was registered for, in milliseconds.
            ctx: What may be asked about it.

        Returns:
            The results, as of `process_element`. Default: none.
        """


BroadcastProcessFunction.Context.register(BroadcastContext)
BroadcastProcessFunction.ReadOnlyContext.register(ReadOnlyContext)
KeyedBroadcastProcessFunction.Context.register(KeyedBroadcastContext)
KeyedBroadcastProcessFunction.OnTimerContext.register(KeyedReadOnlyContext)
