"""The classes from which functions of one stream are derived that need more than one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.datastream.functions.timer_service import TimerService
from penstock.runtime.function import Function
from penstock.runtime.operators.keyed_process import KeyedProcessContext
from penstock.runtime.operators.process import ProcessContext
from penstock.runtime.timers.internal_timer import TimeDomain
from penstock.runtime.user_code import does_nothing


class MapFunction(Function):
    """Makes one result of each record: see `DataStream.map`.

    Example:
        >>> class Double(MapFunction):
        ...     def map(self, value):
        ...         return 2 * value
        >>> from penstock.testing import local_environment
        >>> list(local_environment().from_collection([1, 2]).map(Double()).execute_and_collect())
        [2, 4]
    """

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Return the result for a record.

        Args:
            value: The record.
        """


class FlatMapFunction(Function):
    """Makes any number of results of each record: see `DataStream.flat_map`.

    Example:
        >>> class Words(FlatMapFunction):
        ...     def flat_map(self, value):
        ...         yield from value.split()
        >>> from penstock.testing import local_environment
        >>> lines = local_environment().from_collection(["to be", "or not"])
        >>> list(lines.flat_map(Words()).execute_and_collect())
        ['to', 'be', 'or', 'not']
    """

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Return or yield the results for a record.

        Args:
            value: The record.

        Returns:
            The results; None for none.
        """


class FilterFunction(Function):
    """Decides which records stay: see `DataStream.filter`.

    Example:
        >>> class Even(FilterFunction):
        ...     def filter(self, value):
        ...         return value % 2 == 0
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment().from_collection([1, 2, 3, 4])
        >>> list(numbers.filter(Even()).execute_and_collect())
        [2, 4]
    """

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Return whether a record stays.

        Args:
            value: The record.
        """


class ReduceFunction(Function):
    """Joins two values of a key to one: see `KeyedStream.reduce`.

    Example:
        >>> class Longest(ReduceFunction):
        ...     def reduce(self, value1, value2):
        ...         return max(value1, value2, key=len)
        >>> from penstock.testing import local_environment
        >>> words = local_environment().from_collection(["a", "abc", "ab"])
        >>> list(words.key_by(lambda word: word[0]).reduce(Longest()).execute_and_collect())
        ['a', 'abc', 'abc']
    """

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the value that stands for both.

        It may be the first or the second, and either may be changed and returned.

        Args:
            value1: What all earlier values of the key came to.
            value2: The new value.
        """


class AggregateFunction(Function):
    """Joins the values of a key by way of an accumulator: see `AggregatingStateDescriptor`.

    The accumulator is what is remembered, so it must be possible to pickle it. It may be changed in
    place: every key has one of its own.

    Example:
        >>> class Mean(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0, 0
        ...     def add(self, value, accumulator):
        ...         return accumulator[0] + value, accumulator[1] + 1
        ...     def get_result(self, accumulator):
        ...         return accumulator[0] / accumulator[1]
        ...     def merge(self, acc_a, acc_b):
        ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
        >>> mean = Mean()
        >>> mean.get_result(mean.add(4, mean.add(1, mean.create_accumulator())))
        2.5
    """

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Return the accumulator of no values."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """Return the accumulator with one more value.

        Args:
            value: The value.
            accumulator: What the values before it came to; it may be changed and returned.
        """

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """Return what the values of an accumulator come to.

        Args:
            accumulator: The accumulator.
        """

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Return the accumulator of the values of two; called where states are merged.

        That is, in windows: where windows merge, as sessions do, and where sliding windows share panes.

        Args:
            acc_a: One accumulator; it may be changed and returned.
            acc_b: The other.
        """


class KeySelector(Function):
    """Computes the key of a record: see `DataStream.key_by`.

    `open` is called before the first record in each process, with a context that knows only a name;
    `close` is not called.

    Example:
        >>> class FirstLetter(KeySelector):
        ...     def get_key(self, value):
        ...         return value[0]
        >>> from penstock.testing import local_environment
        >>> words = local_environment().from_collection(["ab", "b", "abc"])
        >>> longest = words.key_by(FirstLetter()).reduce(lambda a, b: max(a, b, key=len))
        >>> list(longest.execute_and_collect())
        ['ab', 'b', 'abc']
    """

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """Return the key of a record: equal for equal records, in every process, and hashable.

        Args:
            value: The record.
        """


class Partitioner(Function):
    """Chooses the subtask for a key: see `DataStream.partition_custom`.

    `open` is called before the first record in each process, with a context that knows only a name;
    `close` is not called.

    Example:
        >>> class Modulo(Partitioner):
        ...     def partition(self, key, num_partitions):
        ...         return key % num_partitions
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment().from_collection([1, 2, 3])
        >>> spread = numbers.partition_custom(Modulo(), lambda number: number)
        >>> list(spread.map(lambda number: number).execute_and_collect())
        [1, 2, 3]
    """

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """Return the index of a subtask, from 0.

        Args:
            key: The key of a record.
            num_partitions: The number of subtasks.
        """


class ProcessFunction(Function):
    """Makes any number of results of each record, for the main output and for side outputs.

    See `DataStream.process`.

    Example:
        >>> from penstock.datastream import OutputTag
        >>> odd = OutputTag("odd")
        >>> class Split(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         if value % 2:
        ...             yield odd, value
        ...         else:
        ...             yield value
        >>> from penstock.testing import local_environment
        >>> split = local_environment().from_collection([1, 2, 3, 4]).process(Split())
        >>> list(split.get_side_output(odd).execute_and_collect())
        [1, 3]
    """

    class Context(ABC):
        """What a process function may ask about the record it is called with."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return what tells the time; timers are refused, as there are no keys."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event timestamp of the record in milliseconds, or None if it has none."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Return or yield the results for a record.

        Args:
            value: The record.
            ctx: What may be asked about it.

        Returns:
            The results, None for none. A tuple of an `OutputTag` and a value goes to that side
            output.
        """


class KeyedProcessFunction(Function):
    """A process function for records that come by key, with state and timers for each key.

    States are made in `open` by methods of the runtime context, and are those of the current key. See
    `KeyedStream.process`.

    Example:
        How many records each key has so far, and a reminder a second of event time after each:

        >>> from penstock.common import Types, WatermarkStrategy
        >>> from penstock.datastream.state import ValueStateDescriptor
        >>> class Remind(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        ...     def process_element(self, value, ctx):
        ...         self.count.update((self.count.value() or 0) + 1)
        ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1000)
        ...         yield ctx.get_current_key(), self.count.value()
        ...     def on_timer(self, timestamp, ctx):
        ...         yield ctx.get_current_key(), f"reminded at {timestamp}"
        >>> from penstock.testing import local_environment
        >>> events = local_environment().from_collection([("a", 0), ("b", 10), ("a", 20)])
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
        >>> strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
        >>> timed = events.assign_timestamps_and_watermarks(strategy)
        >>> reminded = timed.key_by(lambda event: event[0]).process(Remind())
        >>> for result in reminded.execute_and_collect():
        ...     print(result)
        ('a', 1)
        ('b', 1)
        ('a', 2)
        ('a', 'reminded at 1000')
        ('b', 'reminded at 1010')
        ('a', 'reminded at 1020')
    """

    class Context(ABC):
        """What a keyed process function may ask about the record it is called with."""

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
        """What a keyed process function may ask about the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which clock the timer follows."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        """Return or yield the results for a record.

        Args:
            value: The record.
            ctx: What may be asked about it.

        Returns:
            The results, None for none. A tuple of an `OutputTag` and a value goes to that side
            output.
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


class SinkFunction(Function):
    r"""Takes each record out of the program: see `DataStream.add_sink`.

    PyFlink's class of that name wraps a sink written in Java; this one is written in Python.
    Records are delivered at least once: an epoch that is run again hands its records over again.

    Example:
        >>> class Append(SinkFunction):
        ...     def open(self, runtime_context):
        ...         self.file = open("numbers.txt", "a")
        ...     def invoke(self, value):
        ...         self.file.write(f"{value}\n")
        ...     def close(self):
        ...         self.file.close()
    """

    @abstractmethod
    def invoke(self, value: Any) -> None:
        """Take a record.

        Args:
            value: The record.
        """


ProcessFunction.Context.register(ProcessContext)
KeyedProcessFunction.Context.register(KeyedProcessContext)
KeyedProcessFunction.OnTimerContext.register(KeyedProcessContext)
