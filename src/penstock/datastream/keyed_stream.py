"""Streams whose records come by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from penstock.common.typeinfo import TypeInformation
from penstock.datastream.aggregation import Aggregation, Max, MaxBy, Min, MinBy, Sum
from penstock.datastream.connecting import check_other_stream
from penstock.datastream.function_checks import check_function
from penstock.datastream.functions import (
    KeyedProcessFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.datastream.interval_join import IntervalJoin
from penstock.datastream.keyed_functions import AsProcessFunction, may_have_state
from penstock.datastream.record_fields import check_field
from penstock.datastream.stream import DataStream
from penstock.datastream.windowed_stream import WindowedStream
from penstock.datastream.windowing import count_windows
from penstock.errors import InvalidArgumentError, UnsupportedOperationError
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator, ReduceWithStateOperator
from penstock.runtime.partitioners import StreamPartitioner
from penstock.runtime.windowing.assigner import WindowAssigner


class KeyedStream(DataStream):
    """A stream in which records with equal keys come together, in one subtask.

    All operations of a `DataStream` are here too, except those that would send the records
    elsewhere. `key_by` on a keyed stream gives the records other keys.

    What `reduce` and the aggregates know of each key is state: it stays from epoch to epoch. In
    STREAMING mode they emit the new result for every record; in BATCH mode each key's final result,
    once, with the last timestamp there is, 2**63 - 1. Windows behind it by another time need
    `assign_timestamps_and_watermarks` on the results.

    Args:
        environment: The program.
        transformation: What makes the stream.

    Example:
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment().from_collection([1, 2, 3, 4])
        >>> sums = numbers.key_by(lambda number: number % 2).sum()
        >>> list(sums.execute_and_collect())
        [1, 2, 4, 6]
    """

    _is_keyed = True

    def _partitioned(self, partitioner: StreamPartitioner, method: str) -> NoReturn:
        raise UnsupportedOperationError(
            f"{method}() was called on a keyed stream, whose partitioning is that by key.",
            hint="Call it on the stream before key_by(), or after the next operation.",
        )

    def _calling(self, kind: type[FunctionOperator], function: Any) -> StreamOperator:
        """Return the operator of a kind that calls a function, with the key if it may have state."""
        if may_have_state(function):
            return KeyedProcessOperator(AsProcessFunction(function, kind.method))
        return kind(function)

    def process(
        self,
        func: Callable[[Any, Any], Iterable[Any] | None] | KeyedProcessFunction | ProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each record, for the main output and for side outputs.

        Args:
            func: Takes a record and a `KeyedProcessFunction.Context`, which knows the key, and returns
                or yields the results. A tuple of an `OutputTag` and a value goes to that side output.
            output_type: The type of the results in the main output. Default: any.

        Returns:
            The main output; `get_side_output` gives the others.

        Raises:
            InvalidFunctionError: If the function cannot be called so.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment().from_collection([1, 2, 3])
            >>> def with_key(number, ctx):
            ...     yield ctx.get_current_key(), number
            >>> keyed = numbers.key_by(lambda number: number % 2).process(with_key)
            >>> list(keyed.execute_and_collect())
            [(1, 1), (0, 2), (1, 3)]
        """
        return self._process("KEYED PROCESS", func, output_type)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Join each record with those of another keyed stream that have its key and are near it in time.

        PyFlink has no interval join; this is Flink's.

        Args:
            other_stream: The other stream, of the same program.

        Returns:
            The two streams, to be told how near the records must be: see `IntervalJoined`.

        Raises:
            InvalidArgumentError: If it is no keyed stream, or belongs to another environment.
        """
        if not isinstance(other_stream, KeyedStream):
            raise InvalidArgumentError(
                f"interval_join() was given {other_stream!r}, which is no keyed stream.",
                hint="Call key_by() on both streams: a.key_by(f).interval_join(b.key_by(g)).",
            )
        check_other_stream(self, other_stream, "interval_join()")
        return IntervalJoin(self, other_stream)

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Put the records of each key into windows.

        Args:
            window_assigner: Says which windows a record belongs to: see
                `penstock.datastream.window`.

        Returns:
            The stream, to be told what to do with the windows.

        Raises:
            InvalidArgumentError: If it is no `WindowAssigner`.

        Example:
            >>> from penstock.common import Time, WatermarkStrategy
            >>> from penstock.datastream.window import TumblingEventTimeWindows
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> strategy = strategy.with_timestamp_assigner(lambda sale, _: sale[2])
            >>> sales = [("pen", 2, 100), ("ink", 9, 300), ("pen", 3, 900), ("pen", 1, 1200)]
            >>> from penstock.testing import local_environment
            >>> timed = local_environment().from_collection(sales)
            >>> timed = timed.assign_timestamps_and_watermarks(strategy)
            >>> windows = timed.key_by(0).window(TumblingEventTimeWindows.of(Time.seconds(1)))
            >>> list(windows.sum(1).execute_and_collect())
            [('pen', 5, 100), ('ink', 9, 300), ('pen', 1, 1200)]
        """
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Put the records of each key into windows of a number of records.

        As in PyFlink, a window fires when it is full, so the first result comes with the first
        `size` records of a key; unlike there, it is gone then. Java's `countWindow(size, slide)`
        has a result after every `slide` records, of fewer records at first. Who wants that writes
        `window(GlobalWindows.create()).evictor(CountEvictor.of(size))` and
        `.trigger(CountTrigger.of(slide))`.

        Args:
            size: How many records a window has, at least 1.
            slide: How many records after one window the next starts. Default: 0, for `size`.

        Returns:
            The stream, to be told what to do with the windows.

        Raises:
            InvalidWindowError: If the size is below 1, or the slide below 0.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment().from_collection([1, 2, 3, 4, 5, 6])
            >>> sums = numbers.key_by(lambda number: "all").count_window(4, 2).sum()
            >>> list(sums.execute_and_collect())
            [10, 18]
        """
        return WindowedStream(self, count_windows(size, slide))

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Join the records of each key, one after the other, to one value.

        Args:
            func: Takes what the earlier records of a key came to and the new record, and returns what
                they come to together. The first record of a key stands for itself. Either argument
                may be changed and returned.

        Returns:
            In STREAMING mode the new value for every record, in BATCH mode the last one of each key,
            whose records are then joined in the order of their timestamps.

        Raises:
            InvalidFunctionError: If the function cannot be called so.

        Example:
            >>> from penstock.testing import local_environment
            >>> words = local_environment().from_collection(["a", "b", "aa", "bb"])
            >>> joined = words.key_by(lambda word: word[0]).reduce(lambda a, b: f"{a} {b}")
            >>> list(joined.execute_and_collect())
            ['a', 'b', 'a aa', 'b bb']
        """
        function = check_function(func, "reduce", 2, "reduce()")
        kind = ReduceWithStateOperator if may_have_state(function) else ReduceOperator
        return self._reduced("Keyed Reduce", kind(function))

    def _reduced(self, name: str, operator: ReduceOperator) -> DataStream:
        return self._transform(name, operator, self._transformation.output_type)

    def _aggregated(
        self, method: str, aggregation: type[Aggregation], field: int | str
    ) -> DataStream:
        check_field(field, f"{method}()", self._transformation.output_type)
        operator = ReduceOperator(aggregation(field), shows_keys=False)
        return self._reduced("Keyed Aggregation", operator)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Add up a field of the records of each key.

        The other fields are those of the key's first record, which in BATCH mode is the one with the least
        timestamp. Records may be tuples, lists, rows, dicts, objects with attributes, or plain numbers, whose
        field 0 is the number itself. Records are not changed but copied.

        Args:
            position_to_sum: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the new sum for every record, in BATCH mode the last one of each key.

        Raises:
            InvalidArgumentError: If it is neither a position nor a name.
            ColumnNotFoundError: If records of the stream's declared type have no such field. If none
                is declared, the job fails with it.

        Example:
            >>> from penstock.testing import local_environment
            >>> sales = local_environment().from_collection([("pen", 2), ("ink", 9), ("pen", 3)])
            >>> list(sales.key_by(lambda sale: sale[0]).sum(1).execute_and_collect())
            [('pen', 2), ('ink', 9), ('pen', 5)]
        """
        return self._aggregated("sum", Sum, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Find the least value of a field among the records of each key.

        The other fields are those of the key's first record, in BATCH mode by time; `min_by` gives the whole
        record.

        Args:
            position_to_min: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the result so far for every record, in BATCH mode the last one of each
            key.

        Raises:
            InvalidArgumentError: If it is neither a position nor a name.
            ColumnNotFoundError: As `sum` does.

        Example:
            >>> from penstock.testing import local_environment
            >>> bids = local_environment().from_collection([("pen", 3, "Ann"), ("pen", 2, "Bob")])
            >>> list(bids.key_by(lambda bid: bid[0]).min(1).execute_and_collect())
            [('pen', 3, 'Ann'), ('pen', 2, 'Ann')]
        """
        return self._aggregated("min", Min, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Find the greatest value of a field among the records of each key.

        The other fields are those of the key's first record, in BATCH mode by time; `max_by` gives the whole
        record.

        Args:
            position_to_max: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the result so far for every record, in BATCH mode the last one of each
            key.

        Raises:
            InvalidArgumentError: If it is neither a position nor a name.
            ColumnNotFoundError: As `sum` does.

        Example:
            >>> from penstock.testing import local_environment
            >>> bids = local_environment().from_collection([("pen", 2, "Ann"), ("pen", 3, "Bob")])
            >>> list(bids.key_by(lambda bid: bid[0]).max(1).execute_and_collect())
            [('pen', 2, 'Ann'), ('pen', 3, 'Ann')]
        """
        return self._aggregated("max", Max, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """Find, among the records of each key, the first one with the least value of a field.

        In BATCH mode the first one is that with the least timestamp.

        Args:
            position_to_min_by: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the result so far for every record, in BATCH mode the last one of each
            key.

        Raises:
            InvalidArgumentError: If it is neither a position nor a name.
            ColumnNotFoundError: As `sum` does.

        Example:
            >>> from penstock.testing import local_environment
            >>> bids = local_environment().from_collection([("pen", 3, "Ann"), ("pen", 2, "Bob")])
            >>> list(bids.key_by(lambda bid: bid[0]).min_by(1).execute_and_collect())
            [('pen', 3, 'Ann'), ('pen', 2, 'Bob')]
        """
        return self._aggregated("min_by", MinBy, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """Find, among the records of each key, the first one with the greatest value of a field.

        In BATCH mode the first one is that with the least timestamp.

        Args:
            position_to_max_by: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the result so far for every record, in BATCH mode the last one of each
            key.

        Raises:
            InvalidArgumentError: If it is neither a position nor a name.
            ColumnNotFoundError: As `sum` does.

        Example:
            >>> from penstock.testing import local_environment
            >>> bids = local_environment().from_collection([("pen", 2, "Ann"), ("pen", 3, "Bob")])
            >>> list(bids.key_by(lambda bid: bid[0]).max_by(1).execute_and_collect())
            [('pen', 2, 'Ann'), ('pen', 3, 'Bob')]
        """
        return self._aggregated("max_by", MaxBy, position_to_max_by)
