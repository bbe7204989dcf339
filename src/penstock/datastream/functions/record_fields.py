"""Fields of records, by position or name, in whatever form the records come."""

from __future__ import annotations

import copy
from itertools import repeat
from typing import Any

from penstock.common.rows.data_frame_row import DataFrameRow, factory_of, row_factory
from penstock.common.rows.field_reader import FieldReader
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo, TupleTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.types import Row, field_names_of, row_of
from penstock.errors import ColumnNotFoundError, InvalidArgumentError, TypeMismatchError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.row_block import RowBlock
from penstock.runtime.user_code import record_text


def read_field(record: Any, field: int | str) -> Any:
    """Return a field of a tuple, list, row, dict or object; field 0 of anything else is itself.

    Raises:
        LookupError: If there is no such field, or
        AttributeError: the same of an object.
    """
    if isinstance(field, str):
        if isinstance(record, (Row, dict)):
            return record[field]
        if isinstance(record, (tuple, list)) and field not in getattr(record, "_fields", ()):
            raise LookupError(field)
        return getattr(record, field)
    if isinstance(record, (tuple, list, Row, dict)):
        return record[field]
    if field == 0:
        return record
    raise LookupError(field)


def replace_field(record: Any, field: int | str, value: Any) -> Any:
    """Return a copy of a record with another value in a field that it has."""
    if isinstance(record, Row):
        return _row_with(record, field, value)
    if isinstance(record, dict):
        return {**record, field: value}
    if isinstance(record, (tuple, list)):
        values = list(record)
        values[_position(record, field)] = value
        return values if isinstance(record, list) else _tuple_like(record, values)
    if field == 0:
        return value
    changed = copy.copy(record)
    object.__setattr__(changed, field, value)  # type: ignore[arg-type] # also where frozen
    return changed


def _position(record: Any, field: int | str) -> int:
    return field if isinstance(field, int) else record._fields.index(field)


def _tuple_like(record: tuple[Any, ...], values: list[Any]) -> tuple[Any, ...]:
    make = getattr(type(record), "_make", tuple)
    return make(values)


def _row_with(row: Row, field: int | str, value: Any) -> Row:
    names = field_names_of(row)
    values = list(row)
    values[field if isinstance(field, int) else (names or ()).index(field)] = value
    if type(row) is not Row:  # of a DataFrame: rows whose class knows their names
        return row_factory(names or ())(tuple(values))
    changed = row_of(names, tuple(values))
    changed.set_row_kind(row.get_row_kind())
    return changed


def missing_field(where: str, field: int | str, record: Any) -> ColumnNotFoundError:
    """Return the error for a field that a record does not have."""
    names = field_names_of(record) if isinstance(record, Row) else None
    if isinstance(record, dict):
        names = tuple(map(str, record))
    if names:
        hint = f"Its fields are: {', '.join(names)}."
    elif isinstance(record, (tuple, list, Row)):
        hint = f"It has {len(record)} fields, counted from 0 and without names."
    else:
        hint = f"It is of the type {type(record).__name__}; field 0 is the record itself."
    return ColumnNotFoundError(
        f"{where} found no field {field!r} in {record_text(record)}.", hint=hint
    )


def mismatched_fields(
    operator: str, field: int | str, known: Any, new: Any, error: TypeError
) -> TypeMismatchError:
    """Return the error for values of a field that do not go together."""
    return TypeMismatchError(
        f"Operator {operator!r} cannot join the values {record_text(known)} and {record_text(new)} of "
        f"field {field!r}: {error}.",
        hint="Make numbers of the field in a map() before, or name the field that is meant.",
    )


def check_field(field: Any, operation: str, record_type: TypeInformation | None) -> None:
    """Make sure that a field is a position or name, and one of the type's fields if that is known.

    Raises:
        InvalidArgumentError: If it is neither.
        ColumnNotFoundError: If records of that type have no such field.
    """
    if not isinstance(field, (int, str)) or isinstance(field, bool) or (field == ""):
        raise InvalidArgumentError(
            f"{operation} cannot take {field!r} for a field.",
            hint="Give the position of the field, from 0, or its name.",
        )
    if isinstance(field, int) and field < 0:
        raise InvalidArgumentError(
            f"{operation} was given the position {field}.", hint="Positions are counted from 0."
        )
    if isinstance(record_type, (RowTypeInfo, TupleTypeInfo)):
        names = record_type.get_field_names() if isinstance(record_type, RowTypeInfo) else []
        count = len(record_type.get_field_types())
        if field not in names and not (isinstance(field, int) and field < count):
            raise ColumnNotFoundError(
                f"{operation} was given the field {field!r}, which the stream's records do not "
                f"have: {record_type!r}.",
                hint=f"Their fields are: {', '.join(names)}." if names else f"They have {count}.",
            )


class FieldKey(FieldReader):
    """Takes a field of each record as its key.

    Args:
        field: The position or name of the field.

    Example:
        >>> FieldKey("word")({"word": "to", "count": 1})
        'to'
    """

    def __call__(self, record: Any) -> Any:
        """Return the field of a record."""
        try:
            return read_field(record, self.field)
        except (LookupError, AttributeError):
            raise missing_field(f"key_by({self.field!r})", self.field, record) from None

    def of_block(self, block: Block) -> list[Any] | None:
        """Return the field of each record, in a tenth of the time; None if it has to be one by one.

        Args:
            block: The records.
        """
        if isinstance(block, RowBlock):
            position = _position_among(block.factory.names, self.field)
            return None if position is None else block.columns[position]
        records = block.values
        kinds = set(map(type, records))
        position = _position_in(kinds.pop(), self.field) if len(kinds) == 1 else None
        if position is None:
            return None
        try:
            return list(map(tuple.__getitem__, records, repeat(position)))
        except IndexError:
            return None


def _position_in(kind: type[Any], field: int | str) -> int | None:
    """Return where all records of a class have a field; None if that cannot be told."""
    if issubclass(kind, DataFrameRow):
        return _position_among(factory_of(kind).names, field)
    return field if kind is tuple and isinstance(field, int) else None


def _position_among(names: tuple[str, ...], field: int | str) -> int | None:
    if isinstance(field, str):
        return names.index(field) if field in names else None
    return field if field < len(names) else None


class Projection:
    """Keeps some fields of each record.

    Rows stay rows, with the names of the fields that stay; all other records become tuples.

    Args:
        fields: The positions or names of the fields, in the order of the result.

    Example:
        >>> Projection((2, 0))(("a", "b", "c"))
        ('c', 'a')
    """

    def __init__(self, fields: tuple[int | str, ...]) -> None:
        self._fields = fields

    def __call__(self, record: Any) -> Any:
        """Return a record with the fields alone."""
        values = tuple([self._read(record, field) for field in self._fields])
        if not isinstance(record, Row):
            return values
        names = field_names_of(record)
        if names is None:
            return row_of(None, values)
        kept = [names[field] if isinstance(field, int) else field for field in self._fields]
        return row_factory(kept)(values)

    def _read(self, record: Any, field: int | str) -> Any:
        try:
            return read_field(record, field)
        except (LookupError, AttributeError):
            where = f"project({', '.join(map(repr, self._fields))})"
            raise missing_field(where, field, record) from None
