"""The rows of a DataFrame: tuples whose class knows the field names.

A DataFrame hands over its data column by column, and every row costs. Measured on Python 3.11, per
row of five columns in blocks of 1,024: 25 ns to zip the columns to plain tuples, 60 ns to zip them
to these rows, 110 ns to ordinary ones. A field is read in 20 ns as `row.name`, in 110 ns as `row[0]`,
in 125 ns as `row["name"]`; `row.name` of an ordinary row takes 540 ns. These rows cannot be changed,
so that a block of them can be shared.

One by one they are pickled in 510 ns and unpickled in 200 ns; a block becomes columns by
`zip(*rows)` in 27 ns a row, and rows again by `RowFactory.rows`.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

from penstock.common.types import Row, RowKind, unknown_field
from penstock.errors import ImmutableRowError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["DataFrameRow", "RowFactory", "row_factory"]


class DataFrameRow(tuple[Any, ...]):
    """The base of all rows of DataFrames; `row_factory` derives one class for each schema.

    It is a tuple in memory, so it cannot inherit from `Row`, which has attributes of its own; it
    passes for one by saying so in `__class__`.

    Example:
        >>> row = row_factory(["id", "name"])((1, "a"))
        >>> isinstance(row, Row), row.name, row == Row(id=1, name="a")
        (True, 'a', True)
    """

    __slots__ = ()

    _names: tuple[str, ...]
    _positions: dict[str, int]
    _factory: RowFactory
    _kind = RowKind.INSERT

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type[Row]:
            return Row

    @property
    def _values(self) -> tuple[Any, ...]:
        return tuple.__add__(self, ())

    as_dict = Row.as_dict
    get_row_kind = Row.get_row_kind
    get_fields_by_names = Row.get_fields_by_names
    __contains__ = Row.__contains__
    __call__ = Row.__call__
    __repr__ = Row.__repr__
    __hash__ = tuple.__hash__

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, str):
            try:
                item = self._positions[item]
            except KeyError:
                raise unknown_field(item, self._names) from None
        value = tuple.__getitem__(self, item)
        return list(value) if isinstance(item, slice) else value

    def _value_of(self, name: str) -> Any:
        return self[name]

    def __getattr__(self, item: str) -> Any:
        if item.startswith("_"):
            raise AttributeError(item)
        raise unknown_field(item, self._names)

    def __eq__(self, other: object) -> bool:
        if type(other) is type(self):
            return tuple.__eq__(self, other)
        return Row.__eq__(cast("Row", self), other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __reduce__(self) -> tuple[Any, ...]:
        return self._factory, (tuple.__add__(self, ()),)

    def _refuse_change(self, *_: Any) -> NoReturn:
        raise ImmutableRowError(
            f"{self!r} is a row of a DataFrame and cannot be changed.",
            hint=f"Make one of your own: Row{self._names!r}(*row).",
        )

    set_row_kind = _refuse_change
    set_field_names = _refuse_change
    __setitem__ = _refuse_change


class RowFactory(partial[Row]):
    """Makes the rows of one schema; called with the values of a row, it returns that row.

    Rows are pickled by reference to their factory, and a factory by its names.

    Attributes:
        names: The field names.
        row_class: The class of the rows.

    Example:
        >>> factory = row_factory(["id", "name"])
        >>> factory((1, "a"))
        Row(id=1, name='a')
    """

    names: tuple[str, ...]
    row_class: type[DataFrameRow]

    def rows(self, columns: Iterable[Iterable[Any]]) -> list[Row]:
        """Make the rows that the columns hold.

        Args:
            columns: The values of each field, all of one length.

        Returns:
            The rows, in order.

        Raises:
            ValueError: If the columns differ in length.

        Example:
            >>> row_factory(["id", "name"]).rows([[1, 2], ["a", "b"]])
            [Row(id=1, name='a'), Row(id=2, name='b')]
        """
        return cast("list[Row]", list(map(self.row_class, zip(*columns, strict=True))))

    def __reduce__(self) -> tuple[Any, ...]:
        return row_factory, (self.names,)


def factory_of(row_class: type[DataFrameRow]) -> RowFactory:
    """Return the maker of the rows of a class: no method, as a field may have any name."""
    return row_class._factory  # noqa: SLF001


def row_factory(names: Sequence[str]) -> RowFactory:
    """Return the maker of the rows of a schema, always the same one for the same names.

    Of several fields of one name only the first is read by that name.

    Args:
        names: The field names.

    Returns:
        The factory.

    Example:
        >>> row_factory(["id"]) is row_factory(("id",))
        True
    """
    return _factory_of(tuple(names))


@cache
def _factory_of(names: tuple[str, ...]) -> RowFactory:
    members: dict[str, Any] = {"__slots__": (), "_names": names, "_positions": {}}
    for position, (name, reader) in enumerate(zip(names, _field_readers(len(names)), strict=True)):
        members["_positions"].setdefault(name, position)
        if not (name.startswith("_") or hasattr(Row, name)):
            members.setdefault(name, reader)
    row_class: type[DataFrameRow] = type("Row", (DataFrameRow,), members)
    factory = RowFactory(tuple.__new__, row_class)
    factory.names = names
    factory.row_class = row_class
    # A partial that is found on an instance's class may become a method of the instance.
    row_class._factory = staticmethod(factory)  # type: ignore[assignment]  # noqa: SLF001
    return factory


def _field_readers(count: int) -> list[Any]:
    """Return descriptors that read the fields of a tuple at C speed: those of a named tuple."""
    names = [f"f{position}" for position in range(count)]
    template = namedtuple("template", names)  # type: ignore[misc]
    return [vars(template)[name] for name in names]
