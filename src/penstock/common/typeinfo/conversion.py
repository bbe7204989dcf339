"""Making what functions return values of the declared type, many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from operator import is_
from types import MappingProxyType
from typing import Any, Final

from penstock.common.time import Instant
from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.common.typeinfo.type_information import ALWAYS, NEVER, TypeInformation
from penstock.common.types import Row, field_names_of, row_of

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


class Conversion:
    """Makes values of a declared type.

    Most values are of the type already: that is found out by code written for it.

    Args:
        type_info: The type.
        where: What an error calls a value.
    """

    def __init__(self, type_info: TypeInformation, where: str) -> None:
        self._type_info = type_info
        self._where = where
        self._is_misfit_in = _search_for(type_info.misfit("value"))

    def misfit(self, variable: str) -> str:
        """Return the test, in Python, whether the value of a variable has to be given to `one`."""
        return self._type_info.misfit(variable)

    def one(self, value: Any) -> Any:
        """Return a value as one of the type.

        Raises:
            TypeMismatchError: If it is equal to none.
        """
        return self._type_info.convert(value, self._where)

    def all(self, values: list[Any]) -> list[Any]:
        """Return values as ones of the type: the very list, if they all are.

        Raises:
            TypeMismatchError: If one is equal to none.
        """
        if not self._is_misfit_in(values):
            return values
        converted = list(map(self.one, values))
        return values if all(map(is_, values, converted)) else converted


class _RowConversion(Conversion):
    """Makes rows with the declared names, of tuples above all."""

    def __init__(self, type_info: RowTypeInfo, where: str) -> None:
        super().__init__(type_info, where)
        self._names = tuple(type_info.get_field_names())
        self._are_misfits = _test_of(type_info.misfits_in("fields"))

    def one(self, value: Any) -> Any:
        if type(value) is tuple:
            if len(value) == len(self._names) and not self._are_misfits(value):
                return row_of(self._names, value)
        elif type(value) is Row and field_names_of(value) == self._names:
            fields = tuple(value)
            if len(fields) == len(self._names) and not self._are_misfits(fields):
                return value
        return super().one(value)


def conversion_to(type_info: TypeInformation | None, where: str) -> Conversion | None:
    """Return what makes values of a type; None if there is none, or every value is of it.

    Args:
        type_info: The type.
        where: What an error calls a value.

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
        return _RowConversion(type_info, where)
    return Conversion(type_info, where)


@lru_cache(maxsize=256)
def _search_for(test: str) -> Callable[[list[Any]], bool]:
    """Return what finds out whether a test is true for one of many values."""
    if test == ALWAYS:
        return bool
    lines = ("for value in values:", f"    if {test}:", "        return True", "return False")
    return _function("values", lines)


@lru_cache(maxsize=256)
def _test_of(test: str) -> Callable[[tuple[Any, ...]], bool]:
    return _function("fields", (f"return {test}",))


def _function(argument: str, lines: tuple[str, ...]) -> Callable[[Any], bool]:
    text = "\n    ".join((f"def looked_at({argument}):", *lines))
    names = {**MISFIT_NAMES, "__name__": __name__}
    exec(compile(text, "<penstock type>", "exec"), names)  # noqa: S102 - the tests are those of the types
    found: Callable[[Any], bool] = names["looked_at"]
    return found
