"""The aggregates of keyed streams and of windows, and the reduce functions that they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Literal, TypeVar

from penstock.datastream.functions.one_input import ReduceFunction
from penstock.datastream.functions.record_fields import (
    mismatched_fields,
    missing_field,
    read_field,
    replace_field,
)
from penstock.runtime.columnar.aggregate import ColumnAggregate
from penstock.runtime.context import RuntimeContext

StreamT = TypeVar("StreamT")
"""What a stream of results is."""


class Aggregation(ReduceFunction):
    """Base of the aggregates: they look at one field of each record and never change a record.

    Args:
        field: The position or name of the field.
    """

    def __init__(self, field: int | str) -> None:
        self._field = field
        self._operator = type(self).__name__

    @property
    def column_aggregates(self) -> tuple[ColumnAggregate, ...]:
        """What is to be computed of columns; nothing if the result is another record than the first."""
        kind = _KINDS.get(type(self))
        return () if kind is None else (ColumnAggregate(kind, self._field),)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Learn the name of the operator, for messages."""
        self._operator = runtime_context.get_task_name()

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Join the aggregate so far with a new record."""
        known, new = self._read(value1), self._read(value2)
        try:
            return self._join(value1, known, value2, new)
        except TypeError as error:
            raise mismatched_fields(self._operator, self._field, known, new, error) from error

    def _read(self, record: Any) -> Any:
        try:
            return read_field(record, self._field)
        except (LookupError, AttributeError):
            raise missing_field(f"Operator {self._operator!r}", self._field, record) from None

    @abstractmethod
    def _join(self, known: Any, known_field: Any, new: Any, new_field: Any) -> Any:
        """Return the aggregate of two records with these fields."""


class Sum(Aggregation):
    """The first record, with the sum of all records' fields.

    Example:
        >>> Sum(1).reduce(("a", 1), ("b", 2))
        ('a', 3)
    """

    def _join(self, known: Any, known_field: Any, new: Any, new_field: Any) -> Any:
        return replace_field(known, self._field, known_field + new_field)


class Min(Aggregation):
    """The first record, with the least of all records' fields.

    Example:
        >>> Min(1).reduce(("a", 2), ("b", 1))
        ('a', 1)
    """

    def _join(self, known: Any, known_field: Any, new: Any, new_field: Any) -> Any:
        return replace_field(known, self._field, new_field) if new_field < known_field else known


class Max(Aggregation):
    """The first record, with the greatest of all records' fields.

    Example:
        >>> Max(1).reduce(("a", 1), ("b", 2))
        ('a', 2)
    """

    def _join(self, known: Any, known_field: Any, new: Any, new_field: Any) -> Any:
        return replace_field(known, self._field, new_field) if new_field > known_field else known


class MinBy(Aggregation):
    """The first of the records whose field is the least.

    Example:
        >>> MinBy(1).reduce(("a", 2), ("b", 1))
        ('b', 1)
    """

    def _join(self, known: Any, known_field: Any, new: Any, new_field: Any) -> Any:
        return new if new_field < known_field else known


class MaxBy(Aggregation):
    """The first of the records whose field is the greatest.

    Example:
        >>> MaxBy(1).reduce(("a", 1), ("b", 2))
        ('b', 2)
    """

    def _join(self, known: Any, known_field: Any, new: Any, new_field: Any) -> Any:
        return new if new_field > known_field else known


class Aggregating(ABC, Generic[StreamT]):
    """The aggregates of one field of the records of each key, or of each window.

    A keyed stream gives, in STREAMING mode, the result so far for every record, and in BATCH mode the last
    one of each key. Windows give one result each. PyFlink's windows have none of these; they are Flink's.
    """

    @abstractmethod
    def _aggregated(self, method: str, aggregation: type[Aggregation], field: int | str) -> StreamT:
        """Return the aggregates of a field, which a method was given."""

    def sum(self, position_to_sum: int | str = 0) -> StreamT:
        """Add up a field of the records of each key, or of each window.

        The other fields are those of the first record: of the key or of the window; of a key in BATCH mode, the
        one with the least timestamp. Records may be tuples, lists, rows, dicts, objects with attributes, or plain
        numbers, whose field 0 is the number itself. Records are not changed but copied.

        Args:
            position_to_sum: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the new sum for every record of a keyed stream, in BATCH mode the last one of
            each key; of windows one for each.

        Raises:
            InvalidArgumentError: If it is neither a position nor a name.
            ColumnNotFoundError: If records of the stream's declared type have no such field. If none
                is declared, the job fails with it.

        Example:
            >>> from penstock.testing import local_environment
            >>> sales = local_environment().from_collection([("pen", 2), ("ink", 9), ("pen", 3)])
            >>> by_name = sales.key_by(lambda sale: sale[0])
            >>> list(by_name.sum(1).execute_and_collect())
            [('pen', 2), ('ink', 9), ('pen', 5)]
            >>> list(by_name.count_window(2).sum(1).execute_and_collect())
            [('pen', 5)]
        """
        return self._aggregated("sum", Sum, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> StreamT:
        """Find the least value of a field among the records of each key, or of each window.

        The other fields are those of the first record, as with `sum`; `min_by` gives the whole record.

        Args:
            position_to_min: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the result so far for every record of a keyed stream, in BATCH mode the last
            one of each key; of windows one for each.

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

    def max(self, position_to_max: int | str = 0) -> StreamT:
        """Find the greatest value of a field among the records of each key, or of each window.

        The other fields are those of the first record, as with `sum`; `max_by` gives the whole record.

        Args:
            position_to_max: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the result so far for every record of a keyed stream, in BATCH mode the last
            one of each key; of windows one for each.

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

    def min_by(self, position_to_min_by: int | str = 0) -> StreamT:
        """Find, among the records of each key or window, the first one with the least value of a field.

        Of a key in BATCH mode, the first one is that with the least timestamp.

        Args:
            position_to_min_by: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the result so far for every record of a keyed stream, in BATCH mode the last
            one of each key; of windows one for each.

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

    def max_by(self, position_to_max_by: int | str = 0) -> StreamT:
        """Find, among the records of each key or window, the first one with the greatest value of a field.

        Of a key in BATCH mode, the first one is that with the least timestamp.

        Args:
            position_to_max_by: The position of the field, from 0, or its name.

        Returns:
            In STREAMING mode the result so far for every record of a keyed stream, in BATCH mode the last
            one of each key; of windows one for each.

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


_KINDS: dict[type, Literal["sum", "min", "max"]] = {Sum: "sum", Min: "min", Max: "max"}
