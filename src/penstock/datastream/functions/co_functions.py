"""The classes of functions that take records of two streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from penstock.datastream.functions.timer_service import TimerService
from penstock.runtime.function import Function
from penstock.runtime.operators.interval_join import JoinContext
from penstock.runtime.operators.keyed_process import KeyedProcessContext
from penstock.runtime.operators.process import ProcessContext
from penstock.runtime.timers.internal_timer import TimeDomain
from penstock.runtime.user_code import does_nothing

__all__ = [
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FlatJoinFunction",
    "JoinFunction",
    "KeyedCoProcessFunction",
    "ProcessJoinFunction",
]


class CoMapFunction(Function):
    """Makes one result of each record of two streams, or none: see `ConnectedStreams.map`.

    As in PyFlink, a result that is None goes nowhere. (`DataStream.map` emits None.)

    Example:
        >>> class Text(CoMapFunction):
        ...     def map1(self, value):
        ...         return f"number {value}"
        ...     def map2(self, value):
        ...         return f"word {value}"
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> both = env.from_collection([1, 2]).connect(env.from_collection(["one"]))
        >>> sorted(both.map(Text()).execute_and_collect())
        ['number 1', 'number 2', 'word one']
    """

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """Return the result for a record of the first stream, None for none.

        Args:
            value: The record.
        """

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """Return the result for a record of the second stream, None for none.

        Args:
            value: The record.
        """


class CoFlatMapFunction(Function):
    """Makes any number of results of each record of two streams: see `ConnectedStreams.flat_map`.

    Example:
        >>> class Words(CoFlatMapFunction):
        ...     def flat_map1(self, value):
        ...         yield from value.split()
        ...     def flat_map2(self, value):
        ...         yield from value
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> both = env.from_collection(["to be"]).connect(env.from_collection([["or", "not"]]))
        >>> sorted(both.flat_map(Words()).execute_and_collect())
        ['be', 'not', 'or', 'to']
    """

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Return or yield the results for a record of the first stream.

        Args:
            value: The record.

        Returns:
            The results; None for none.
        """

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Return or yield the results for a record of the second stream.

        Args:
            value: The record.

        Returns:
            The results; None for none.
        """


class CoProcessFunction(Function):
    """Makes any number of results of each record of two streams, for the main and side outputs.

    See `ConnectedStreams.process`. Timers need a `KeyedCoProcessFunction`.

    Example:
        >>> from penstock.datastream import OutputTag
        >>> odd = OutputTag("odd")
        >>> class Split(CoProcessFunction):
        ...     def process_element1(self, value, ctx):
        ...         yield (odd, value) if value % 2 else value
        ...     def process_element2(self, value, ctx):
        ...         yield from self.process_element1(len(value), ctx)
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> both = env.from_collection([1, 2]).connect(env.from_collection(["a", "abcd"]))
        >>> split = both.process(Split())
        >>> sorted(split.get_side_output(odd).execute_and_collect())
        [1, 1]
    """

    class Context(ABC):
        """What the function may ask about the record it is called with."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return what tells the time; timers are refused, as there are no keys."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event timestamp of the record in milliseconds, or None if it has none."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Return or yield the results for a record of the first stream.

        Args:
            value: The record.
            ctx: What may be asked about it.

        Returns:
            The results, None for none. A tuple of an `OutputTag` and a value goes to that side
            output.
        """

    @abstractmethod
    def process_element2(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Return or yield the results for a record of the second stream; as `process_element1`.

        Args:
            value: The record.
            ctx: What may be asked about it.
        """


class KeyedCoProcessFunction(Function):
    """A function of two streams whose records come by key, with state and timers for each key.

    Records of both streams with equal keys come to the same place, and see the same state. States are
    made in `open` by methods of the runtime context. See `ConnectedStreams.process`.

    Example:
        Orders with the price that is known when they come, or a reminder a second later:

        >>> from penstock.common import Types
        >>> from penstock.datastream import ValueStateDescriptor
        >>> class Priced(KeyedCoProcessFunction):
        ...     def open(self, runtime_context):
        ...         descriptor = ValueStateDescriptor("price", Types.LONG())
        ...         self.price = runtime_context.get_state(descriptor)
        ...     def process_element1(self, value, ctx):
        ...         if self.price.value() is None:
        ...             ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1000)
        ...         else:
        ...             yield value[0], value[1] * self.price.value()
        ...     def process_element2(self, value, ctx):
        ...         self.price.update(value[1])
        ...     def on_timer(self, timestamp, ctx):
        ...         yield ctx.get_current_key(), "had no price"
        >>> from penstock.testing import KeyedCoProcessFunctionHarness
        >>> with KeyedCoProcessFunctionHarness(Priced(), 0, 0) as harness:
        ...     harness.process_element2(("tea", 3), timestamp=0)
        ...     harness.process_element1(("tea", 2), timestamp=10)
        ...     harness.process_element1(("milk", 1), timestamp=20)
        ...     harness.process_watermark1(2000)
        ...     harness.process_watermark2(2000)
        ...     harness.extract_output_values()
        [('tea', 6), ('milk', 'had no price')]
    """

    class Context(ABC):
        """What the function may ask about the record it is called with."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the record."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the timers of the key."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event timestamp of the record in milliseconds, or None if it has none."""

    class OnTimerContext(Context):
        """What the function may ask about the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which clock the timer follows."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Return or yield the results for a record of the first stream.

        Args:
            value: The record.
            ctx: What may be asked about it.

        Returns:
            The results, None for none. A tuple of an `OutputTag` and a value goes to that side
            output.
        """

    @abstractmethod
    def process_element2(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Return or yield the results for a record of the second stream; as `process_element1`.

        Args:
            value: The record.
            ctx: What may be asked about it.
        """

    @does_nothing
    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """Return or yield the results of a timer that fires; they get the timer's timestamp.

        Args:
            timestamp: The time it was registered for, in milliseconds.
            ctx: What may be asked about it.

        Returns:
            The results, as of `process_element1`. Default: none.
        """


class ProcessJoinFunction(Function):
    """Makes any number of results of each pair of records that an interval join finds.

    See `KeyedStream.interval_join`. PyFlink has no such function; this is Flink's.

    Example:
        >>> class Delay(ProcessJoinFunction):
        ...     def process_element(self, left, right, ctx):
        ...         yield left, right, ctx.right_timestamp() - ctx.left_timestamp()
    """

    class Context(ABC):
        """What the function may ask about the pair it is called with."""

        @abstractmethod
        def left_timestamp(self) -> int:
            """Return the timestamp of the left record in milliseconds."""

        @abstractmethod
        def right_timestamp(self) -> int:
            """Return the timestamp of the right record in milliseconds."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the timestamp that results get, in milliseconds: the later of the two."""

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: Context) -> Iterable[Any] | None:
        """Return or yield the results for a pair of records.

        Args:
            left: The record of the stream on which `interval_join` was called.
            right: The record of the other stream.
            ctx: What may be asked about the pair.

        Returns:
            The results, None for none. A tuple of an `OutputTag` and a value goes to that side
            output.
        """


class JoinFunction(Function):
    """Makes one result of each pair of records that a window join finds: see `DataStream.join`.

    PyFlink has no such function; this is Flink's.

    Example:
        >>> class Total(JoinFunction):
        ...     def join(self, first, second):
        ...         return first + second
        >>> from penstock.datastream.window import CountTrigger, GlobalWindows
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> joined = env.from_collection([1, 2]).join(env.from_collection([10]))
        >>> joined = joined.where(lambda number: "all").equal_to(lambda number: "all")
        >>> joined = joined.window(GlobalWindows.create()).trigger(CountTrigger.of(3))
        >>> sorted(joined.apply(Total()).execute_and_collect())
        [11, 12]
    """

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """Return the result for a pair of records.

        Args:
            first: The record of the stream on which `join` was called.
            second: The record of the other stream.
        """


class FlatJoinFunction(Function):
    """Makes any number of results of each pair of records that a window join finds.

    See `DataStream.join`. PyFlink has no such function; this is Flink's.

    Example:
        >>> class Greater(FlatJoinFunction):
        ...     def join(self, first, second):
        ...         if first > second:
        ...             yield first, second
    """

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """Return or yield the results for a pair of records.

        Args:
            first: The record of the stream on which `join` was called.
            second: The record of the other stream.

        Returns:
            The results; None for none.
        """


class CoGroupFunction(Function):
    """Makes any number of results of all records of one key and window, of two streams.

    See `DataStream.co_group`. PyFlink has no such function; this is Flink's.

    Example:
        >>> class OnlyLeft(CoGroupFunction):
        ...     def co_group(self, first, second):
        ...         return () if second else first
    """

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """Return or yield the results for a key and a window.

        Args:
            first: The records of the stream on which `co_group` was called; there may be none.
            second: The records of the other stream; there may be none, but not of both.

        Returns:
            The results; None for none.
        """


class AsCoProcessFunction(Function):
    """A co-map or co-flat-map function, called as a process function of two streams.

    Args:
        function: The function.
        method: What its methods begin with: `map` or `flat_map`.
    """

    def __init__(self, function: CoMapFunction | CoFlatMapFunction, method: str) -> None:
        self._function = function
        self._method = method

    def open(self, runtime_context: Any) -> None:
        """See `Function.open`."""
        self._first = self._results(f"{self._method}1")
        self._second = self._results(f"{self._method}2")
        self._function.open(runtime_context)

    def close(self) -> None:
        """See `Function.close`."""
        self._function.close()

    def _results(self, method: str) -> Callable[[Any], Iterable[Any] | None]:
        call = getattr(self._function, method)
        if self._method != "map":
            return call  # type: ignore[no-any-return]

        def results(value: Any) -> Iterable[Any]:
            result = call(value)
            return () if result is None else (result,)

        return results

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """Return the results for a record of the first stream."""
        return self._first(value)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        """Return the results for a record of the second stream."""
        return self._second(value)


CoProcessFunction.Context.register(ProcessContext)
CoProcessFunction.Context.register(KeyedProcessContext)
KeyedCoProcessFunction.Context.register(KeyedProcessContext)
KeyedCoProcessFunction.OnTimerContext.register(KeyedProcessContext)
ProcessJoinFunction.Context.register(JoinContext)
