"""The rolling aggregates of keyed streams, as reduce functions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

from penstock.datastream.functions import ReduceFunction
from penstock.datastream.record_fields import (
    mismatched_fields,
    missing_field,
    read_field,
    replace_field,
)
from penstock.runtime.column_aggregate import ColumnAggregate
from penstock.runtime.context import RuntimeContext


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


_KINDS: dict[type, Literal["sum", "min", "max"]] = {Sum: "sum", Min: "min", Max: "max"}
