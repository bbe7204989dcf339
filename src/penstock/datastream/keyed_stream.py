"""Streams whose records come by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from penstock.common.typeinfo import TypeInformation
from penstock.datastream.aggregation import Aggregation, Max, MaxBy, Min, MinBy, Sum
from penstock.datastream.function_checks import check_function
from penstock.datastream.functions import (
    KeyedProcessFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.datastream.keyed_functions import AsProcessFunction, may_have_state
from penstock.datastream.record_fields import check_field
from penstock.datastream.stream import DataStream
from penstock.errors import UnsupportedOperationError
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.partitioners import StreamPartitioner


class KeyedStream(DataStream):
    """A stream in which records with equal keys come together, in one subtask.

    All operations of a `DataStream` are here too, except those that would send the records
    elsewhere. `key_by` on a keyed stream gives the records other keys.

    What `reduce` and the aggregates know of each key is state: it stays from epoch to epoch. In
    STREAMING mode they emit the new result for every record; in BATCH mode each key's final result,
    once.

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

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Join the records of each key, one after the other, to one value.

        Args:
            func: Takes what the earlier records of a key came to and the new record, and returns what
                they come to together. The first record of a key stands for itself. Neither argument
                may be changed.

        Returns:
            In STREAMING mode the new value for every record, in BATCH mode the last one of each key.

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
        return self._reduced("Keyed Reduce", function)

    def _reduced(self, name: str, function: Any) -> DataStream:
        return self._transform(name, ReduceOperator(function), self._transformation.output_type)

    def _aggregated(
        self, method: str, aggregation: type[Aggregation], field: int | str
    ) -> DataStream:
        check_field(field, f"{method}()", self._transformation.output_type)
        return self._reduced("Keyed Aggregation", aggregation(field))

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Add up a field of the records of each key.

        The other fields are those of the key's first record. Records may be tuples, lists, rows,
        dicts, objects with attributes, or plain numbers, whose field 0 is the number itself. Records
        are not changed but copied.

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

        The other fields are those of the key's first record; `min_by` gives the whole record.

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

        The other fields are those of the key's first record; `max_by` gives the whole record.

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
