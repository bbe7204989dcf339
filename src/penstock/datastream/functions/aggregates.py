"""Aggregates of the records of a window that say what they compute, for `aggregate`.

They work in all windows. In tumbling and sliding windows of event time over the rows of a DataFrame
they are computed column by column: see the page on windows for when.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final, Literal

from penstock.common.rows.data_frame_row import row_factory
from penstock.common.types import Row
from penstock.datastream.functions.one_input import AggregateFunction
from penstock.datastream.functions.record_fields import (
    check_field,
    mismatched_fields,
    missing_field,
    read_field,
)
from penstock.errors import InvalidArgumentError
from penstock.runtime.columnar.aggregate import ColumnAggregate
from penstock.runtime.context import RuntimeContext

__all__ = ["Aggregate", "Aggregates", "Count", "Max", "Mean", "Min", "Sum"]


class Aggregate(AggregateFunction):
    """Base of the aggregates of one field.

    A field that holds None does not count. Where none of the records of a window holds a value, the
    result is None; alone it is not emitted then.

    Args:
        field: The position or name of the field.

    Raises:
        InvalidArgumentError: If it is neither.
    """

    _kind: Literal["sum", "count", "mean", "min", "max"]

    def __init__(self, field: int | str) -> None:
        check_field(field, f"{type(self).__name__}()", None)
        self._field: int | str | None = field
        self._operator = type(self).__name__

    def open(self, runtime_context: RuntimeContext) -> None:
        """Learn the name of the operator, for messages."""
        self._operator = runtime_context.get_task_name()

    @property
    def column_aggregates(self) -> tuple[ColumnAggregate, ...]:
        """What is to be computed of columns."""
        is_known = type(self).__module__ == __name__
        return (ColumnAggregate(self._kind, self._field),) if is_known else ()

    def create_accumulator(self) -> Any:
        """See `AggregateFunction`."""
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        """See `AggregateFunction`."""
        assert self._field is not None
        try:
            found = read_field(value, self._field)
        except (LookupError, AttributeError):
            raise missing_field(f"Operator {self._operator!r}", self._field, value) from None
        if found is None:
            return accumulator
        try:
            return self.merge(accumulator, self._single(found))
        except TypeError as error:
            raise mismatched_fields(
                self._operator, self._field, accumulator, found, error
            ) from error

    def _single(self, found: Any) -> Any:
        """Return the accumulator of one value."""
        return found

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """See `AggregateFunction`."""
        if acc_a is None or acc_b is None:
            return acc_b if acc_a is None else acc_a
        return self._joined(acc_a, acc_b)

    @abstractmethod
    def _joined(self, one: Any, other: Any) -> Any:
        """Join two accumulators of some values each."""

    def get_result(self, accumulator: Any) -> Any:
        """See `AggregateFunction`."""
        return accumulator


class Sum(Aggregate):
    """The sum of a field.

    Example:
        >>> from penstock.testing import local_environment
        >>> sales = local_environment().from_collection([("pen", 2), ("pen", 3), ("pen", 4)])
        >>> list(sales.key_by(0).count_window(3).aggregate(Sum(1)).execute_and_collect())
        [9]
    """

    _kind = "sum"

    def _joined(self, one: Any, other: Any) -> Any:
        return one + other


class Count(Aggregate):
    """How many records there are, or how many of them hold a value in a field.

    Args:
        field: The position or name of the field. Default: count all records.

    Raises:
        InvalidArgumentError: If it is neither.

    Example:
        >>> count = Count()
        >>> count.get_result(count.add("a", count.add("b", count.create_accumulator())))
        2
    """

    _kind = "count"

    def __init__(self, field: int | str | None = None) -> None:
        super().__init__(0 if field is None else field)
        self._field = field

    def create_accumulator(self) -> int:
        """See `AggregateFunction`."""
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        """See `AggregateFunction`."""
        return accumulator + 1 if self._field is None else super().add(value, accumulator)

    def _single(self, found: Any) -> int:
        return 1

    def _joined(self, one: int, other: int) -> int:
        return one + other


class Mean(Aggregate):
    """The mean of a field.

    Example:
        >>> mean = Mean(0)
        >>> mean.get_result(mean.add(4, mean.add(1, mean.create_accumulator())))
        2.5
    """

    _kind = "mean"

    def _single(self, found: Any) -> tuple[Any, int]:
        return found, 1

    def _joined(self, one: tuple[Any, int], other: tuple[Any, int]) -> tuple[Any, int]:
        return one[0] + other[0], one[1] + other[1]

    def get_result(self, accumulator: tuple[Any, int] | None) -> Any:
        """See `AggregateFunction`."""
        return None if accumulator is None else accumulator[0] / accumulator[1]


class Min(Aggregate):
    """The least value of a field. NaN is more than any number, as in Spark.

    Example:
        >>> least = Min(0)
        >>> least.get_result(least.add(4, least.add(1, least.create_accumulator())))
        1
    """

    _kind = "min"

    def _joined(self, one: Any, other: Any) -> Any:
        return other if other < one or one != one else one  # noqa: PLR0124 - NaN is not itself


class Max(Aggregate):
    """The greatest value of a field. NaN is more than any number, as in Spark.

    Example:
        >>> greatest = Max(0)
        >>> greatest.get_result(greatest.add(1, greatest.add(4, greatest.create_accumulator())))
        4
    """

    _kind = "max"

    def _joined(self, one: Any, other: Any) -> Any:
        return other if other > one or other != other else one  # noqa: PLR0124 - NaN is not itself


class Aggregates(AggregateFunction):
    """Several aggregates at once; the result is a `Row` with a field for each.

    Args:
        **aggregates: The aggregates, by the names of their fields.

    Raises:
        InvalidArgumentError: If there are none, or one is no `Aggregate`.

    Example:
        >>> from penstock.testing import local_environment
        >>> sales = local_environment().from_collection([("pen", 2), ("pen", 3), ("pen", 4)])
        >>> windows = sales.key_by(0).count_window(3)
        >>> both = windows.aggregate(Aggregates(total=Sum(1), sales=Count()))
        >>> list(both.execute_and_collect())
        [Row(total=9, sales=3)]
    """

    gives_rows = True

    def __init__(self, **aggregates: Aggregate) -> None:
        if not aggregates or not all(isinstance(it, Aggregate) for it in aggregates.values()):
            raise InvalidArgumentError(
                f"Aggregates() was given {aggregates!r}.",
                hint="For instance: Aggregates(total=Sum('amount'), sales=Count()).",
            )
        self._aggregates = aggregates
        self._make_row = row_factory(tuple(aggregates))

    def open(self, runtime_context: RuntimeContext) -> None:
        """Learn the name of the operator, for messages."""
        for aggregate in self._aggregates.values():
            aggregate.open(runtime_context)

    @property
    def column_aggregates(self) -> tuple[ColumnAggregate, ...]:
        """What is to be computed of columns; nothing if it or one of the aggregates is a user's own."""
        if type(self) is not Aggregates:
            return ()
        found = [aggregate.column_aggregates for aggregate in self._aggregates.values()]
        return tuple(known for (known,) in found) if all(found) else ()

    def create_accumulator(self) -> tuple[Any, ...]:
        """See `AggregateFunction`."""
        return tuple(it.create_accumulator() for it in self._aggregates.values())

    def add(self, value: Any, accumulator: tuple[Any, ...]) -> tuple[Any, ...]:
        """See `AggregateFunction`."""
        pairs = zip(self._aggregates.values(), accumulator, strict=True)
        return tuple([aggregate.add(value, known) for aggregate, known in pairs])

    def merge(self, acc_a: tuple[Any, ...], acc_b: tuple[Any, ...]) -> tuple[Any, ...]:
        """See `AggregateFunction`."""
        parts = zip(self._aggregates.values(), acc_a, acc_b, strict=True)
        return tuple([aggregate.merge(one, other) for aggregate, one, other in parts])

    def get_result(self, accumulator: tuple[Any, ...]) -> Row:
        """See `AggregateFunction`."""
        pairs = zip(self._aggregates.values(), accumulator, strict=True)
        return self._make_row(tuple([aggregate.get_result(known) for aggregate, known in pairs]))


def merges_as_it_adds(function: AggregateFunction) -> bool:
    """Whether accumulators of a function may be merged in place of adding their records one by one.

    Of the aggregates of this module that is known. Those derived from them may do anything.
    """
    if type(function) not in _KNOWN:
        return False
    parts = function._aggregates.values() if isinstance(function, Aggregates) else ()  # noqa: SLF001
    return all(type(part) in _KNOWN for part in parts)


_KNOWN: Final = frozenset({Sum, Count, Mean, Min, Max, Aggregates})
