"""Making what functions return values of the declared type, many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache, partial
from operator import countOf, is_
from struct import Struct
from types import MappingProxyType
from typing import Any, Final

from penstock.common.time import Instant
from penstock.common.typeinfo.basic_typeinfo import BasicTypeInfo
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo, TupleTypeInfo
from penstock.common.typeinfo.type_information import (
    NEVER,
    TypeInformation,
    are_all,
)
from penstock.common.types import Row, RowKind, row_of
from penstock.errors import TypeMismatchError

__all__ = ["MISFIT_NAMES", "Conversion", "conversion_to"]

MISFIT_NAMES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "Decimal": Decimal,
        "Instant": Instant,
        "bool": bool,
        "date": date,
        "datetime": datetime,
        "float": float,
        "int": int,
        "kind": type,
        "len": len,
        "str": str,
        "time": time,
        "tuple": tuple,
    }
)
"""What the names in the tests of types stand for: see `TypeInformation.misfit`."""

_INSERT: Final = RowKind.INSERT


class Conversion:
    """Makes values of a declared type. Most are of it already: that is found out for many at once.

    Args:
        type_info: The type.
        where: What an error calls a value.
        operator: The name of the operator that gives them, if one does.

    Attributes:
        is_plain: Whether all it makes are texts, numbers and bools, or tuples of these.
    """

    def __init__(self, type_info: TypeInformation, where: str, operator: str | None = None) -> None:
        self._type_info = type_info
        self._where = where
        self._operator = operator
        self.is_plain = type_info.is_plain

    def misfit(self, variable: str) -> str:
        """Return the test, in Python, whether the value of a variable has to be given to `one`."""
        return self._type_info.misfit(variable)

    def one(self, value: Any) -> Any:
        """Return a value as one of the type.

        Raises:
            TypeMismatchError: If it is equal to none.
        """
        try:
            return self._type_info.convert(value, self._where)
        except TypeMismatchError as error:
            error.operator = self._operator
            raise

    def all(self, values: list[Any]) -> list[Any]:
        """Return values as ones of the type: the very list, if they all are.

        Raises:
            TypeMismatchError: If one is equal to none.
        """
        if self._type_info.fits_all(values):
            return values
        converted = list(map(self.one, values))
        return values if all(map(is_, values, converted)) else converted


class _SingleConversion(Conversion):
    """Rounds to 32 bits."""

    def all(self, values: list[Any]) -> list[Any]:
        if not are_all(float, values):
            return super().all(values)
        layout = Struct(f"<{len(values)}f")
        try:
            rounded = list(layout.unpack(layout.pack(*values)))
        except OverflowError:  # which `one` says of which
            return super().all(values)
        return values if rounded == values else rounded


class _FieldsConversion(Conversion):
    """Makes tuples, or rows with the declared names; of tuples column by column."""

    def __init__(
        self, type_info: RowTypeInfo | TupleTypeInfo, where: str, operator: str | None = None
    ) -> None:
        super().__init__(type_info, where, operator)
        self._layout = type_info
        self._fields = [conversion_to(field, where) for field in type_info.get_field_types()]

    def all(self, values: list[Any]) -> list[Any]:
        if not values or not are_all(tuple, values):
            return super().all(values)
        if self._layout.fit_all_fields(values):
            return self._made(values)
        if countOf(map(len, values), len(self._fields)) != len(values):
            return super().all(values)
        columns = [list(column) for column in zip(*values, strict=True)]
        try:
            converted = [
                column if field is None else field.all(column)
                for column, field in zip(columns, self._fields, strict=True)
            ]
        except TypeMismatchError:  # which `one` tells with the name of the field
            return super().all(values)
        is_same = all(map(is_, columns, converted))
        return self._made(values if is_same else list(zip(*converted, strict=True)))

    def _made(self, tuples: list[Any]) -> list[Any]:
        return tuples


class _RowConversion(_FieldsConversion):
    """Makes rows with the declared names, of tuples and rows above all."""

    def __init__(self, type_info: RowTypeInfo, where: str, operator: str | None = None) -> None:
        super().__init__(type_info, where, operator)
        self._names = tuple(type_info.get_field_names())
        self._are_misfits = _test_of(type_info.misfits_in("fields"))

    def one(self, value: Any) -> Any:
        kind = type(value)
        if kind is tuple:
            fields = value
        elif kind is Row:
            fields = value._values  # noqa: SLF001 - of another module, and a call would take as long as all else
        else:
            return super().one(value)
        if len(fields) == len(self._names) and not self._are_misfits(fields):
            if kind is tuple:
                return row_of(self._names, fields)
            own = value._names  # noqa: SLF001
            if own == self._names:
                return value
            if own is None and value._kind is _INSERT:  # noqa: SLF001
                return row_of(self._names, fields)
        return super().one(value)

    def _made(self, tuples: list[Any]) -> list[Any]:
        return list(map(partial(row_of, self._names), tuples))


def conversion_to(
    type_info: TypeInformation | None, where: str, operator: str | None = None
) -> Conversion | None:
    """Return what makes values of a type; None if there is none, or every value is of it.

    Args:
        type_info: The type.
        where: What an error calls a value.
        operator: The name of the operator that gives them, if one does.

    Example:
        >>> from penstock.common import Types
        >>> conversion_to(Types.DOUBLE(), "the result").all([1, 2.5])
        [1.0, 2.5]
        >>> conversion_to(Types.PICKLED_BYTE_ARRAY(), "the result") is None
        True
    """
    if type_info is None or type_info.misfit("value") == NEVER:
        return None
    if isinstance(type_info, RowTypeInfo):
        return _RowConversion(type_info, where, operator)
    if isinstance(type_info, TupleTypeInfo):
        return _FieldsConversion(type_info, where, operator)
    is_single = type_info == BasicTypeInfo.FLOAT_TYPE_INFO()
    return (_SingleConversion if is_single else Conversion)(type_info, where, operator)


@lru_cache(maxsize=256)
def _test_of(test: str) -> Callable[[tuple[Any, ...]], bool]:
    """Return what finds out whether a test of `fields` is true."""
    names = {**MISFIT_NAMES, "__name__": __name__}
    code = compile(f"lambda fields: {test}", "<penstock type>", "eval")
    found: Callable[[tuple[Any, ...]], bool] = eval(code, names)  # noqa: S307 - the tests are those of the types
    return found
