"""Descriptions of the types whose values have no parts."""

# ruff: noqa: N802 - the names are PyFlink's
from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum
from numbers import Real
from operator import countOf
from struct import Struct, error, pack
from typing import Any, Final

from penstock.common.time import Instant
from penstock.common.typeinfo.type_information import (
    ALWAYS,
    TypeInformation,
    UnfitError,
    WrappingTypeInfo,
    are_all,
)

__all__ = [
    "BasicType",
    "BasicTypeInfo",
    "ExternalTypeInfo",
    "InstantTypeInfo",
    "PickledBytesTypeInfo",
    "single",
]


class BasicType(Enum):
    """The types without parts, by their names in Flink."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"

    # A member is equal to itself alone. Enum's own hash is a call of Python for each value checked.
    __hash__ = object.__hash__


_SINGLE: Final = Struct("<f")  # which refuses what is too large, as the native format does not


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return str.__str__(value)


def _character(value: Any) -> str:
    text = _text(value)
    if len(text) != 1:
        raise ValueError
    return text


def _boolean(value: Any) -> bool:
    is_number = isinstance(value, Real) or type(value).__name__ in _NUMPY_BOOLEANS
    if not is_number or value not in {0, 1}:
        raise ValueError
    return bool(value)


def _integer(value: Any) -> int:
    if not isinstance(value, (Real, Decimal)):
        raise TypeError
    number = int(value)  # type: ignore[arg-type] # what Real lacks, its classes have
    if number != value:
        raise ValueError
    return number


def _integer_within(limit: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        number = value if type(value) is int else _integer(value)
        if not -limit <= number < limit:
            raise OverflowError
        return number

    return convert


def _double(value: Any) -> float:
    if type(value) is float:
        return value
    if not isinstance(value, (Real, Decimal)):
        raise TypeError
    return float(value)


def single(value: Any) -> float:
    """Return a number as 32 bits hold it.

    Raises:
        OverflowError: If it is too large.
        TypeError: If it is no number.
    """
    rounded: float = _SINGLE.unpack(_SINGLE.pack(_double(value)))[0]
    return rounded


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal, str)):
        raise TypeError
    # As PyFlink does, by way of the text: 0.1 is what is written so.
    text = repr(float(value)) if isinstance(value, float) else str(value)
    number = value if type(value) is Decimal else Decimal(text)
    if not number.is_finite():
        raise ValueError
    return number


def _fit(number_format: str, numbers: Sequence[int]) -> bool:
    """Whether numbers fit into so many bits each: what they are packed into is no matter."""
    try:
        pack(f"={len(numbers)}{number_format}", *numbers)
    except error:
        return False
    return True


def _instant(value: Any) -> Instant:
    if not isinstance(value, Instant):
        raise TypeError
    return value


_SMALL: Final = (1 << 30) - 1  # in one digit of Python's
_NUMPY_BOOLEANS: Final = frozenset({"bool", "bool_"})
_LIMITS: Final = {
    BasicType.BYTE: 1 << 7,
    BasicType.SHORT: 1 << 15,
    BasicType.INT: 1 << 31,
    BasicType.LONG: 1 << 63,
}
_CONVERSIONS: Final[dict[BasicType, Callable[[Any], Any]]] = {
    BasicType.STRING: _text,
    BasicType.CHAR: _character,
    BasicType.BOOLEAN: _boolean,
    **{kind: _integer_within(limit) for kind, limit in _LIMITS.items()},
    BasicType.BIG_INT: _integer,
    BasicType.FLOAT: single,
    BasicType.DOUBLE: _double,
    BasicType.BIG_DEC: _decimal,
    BasicType.INSTANT: _instant,
}
_FORMATS: Final = {
    BasicType.BYTE: "b",
    BasicType.SHORT: "h",
    BasicType.INT: "i",
    BasicType.LONG: "q",
}
_KINDS: Final[dict[BasicType, type]] = {
    **dict.fromkeys((BasicType.STRING, BasicType.CHAR), str),
    **dict.fromkeys((*_LIMITS, BasicType.BIG_INT), int),
    BasicType.BOOLEAN: bool,
    BasicType.DOUBLE: float,
    BasicType.BIG_DEC: Decimal,
    BasicType.INSTANT: Instant,
}
_MISFITS: Final = {
    BasicType.STRING: "kind({0}) is not str",
    BasicType.CHAR: "kind({0}) is not str or len({0}) != 1",
    BasicType.BOOLEAN: "kind({0}) is not bool",
    **{
        # Python compares small numbers in a third of the time.
        kind: f"kind({{0}}) is not int or not {-_SMALL} < {{0}} < {_SMALL} and not {-limit} <= {{0}} < {limit}"
        if limit > _SMALL
        else f"kind({{0}}) is not int or not {-limit} <= {{0}} < {limit}"
        for kind, limit in _LIMITS.items()
    },
    BasicType.BIG_INT: "kind({0}) is not int",
    BasicType.FLOAT: ALWAYS,
    BasicType.DOUBLE: "kind({0}) is not float",
    BasicType.BIG_DEC: "kind({0}) is not Decimal or not {0}.is_finite()",
    BasicType.INSTANT: "kind({0}) is not Instant",
}


class BasicTypeInfo(TypeInformation):
    """Describes numbers, strings and booleans.

    A number becomes the number of the declared type that it is equal to, also if it is one of NumPy's, a bool, a
    `Decimal` or a fraction; a text whose class is derived from `str` becomes a `str`.

    Args:
        basic_type: Which of them.

    Example:
        >>> BasicTypeInfo.INT_TYPE_INFO()
        Integer
    """

    def __init__(self, basic_type: BasicType) -> None:
        self.basic_type = basic_type

    def _converted(self, value: Any) -> Any:
        try:
            return _CONVERSIONS[self.basic_type](value)
        except (ArithmeticError, TypeError, ValueError):
            pass
        raise UnfitError(self, value)

    def misfit(self, value: str) -> str:
        """See `TypeInformation.misfit`."""
        return _MISFITS[self.basic_type].format(value)

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        kind = self.basic_type
        if kind is BasicType.FLOAT or not are_all(_KINDS[kind], values):
            return False
        if kind in _FORMATS:
            return _fit(_FORMATS[kind], values)
        if kind is BasicType.CHAR:
            return countOf(map(len, values), 1) == len(values)
        return kind is not BasicType.BIG_DEC or all(map(Decimal.is_finite, values))

    @property
    def is_plain(self) -> bool:
        """See `TypeInformation.is_plain`."""
        return self.basic_type not in {BasicType.BIG_DEC, BasicType.INSTANT}

    def _identity(self) -> object:
        return self.basic_type

    def __repr__(self) -> str:
        return self.basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of `str`."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of `bool`."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of an `int` of 8 bits with sign."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of an `int` of 16 bits with sign."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of an `int` of 32 bits with sign."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of an `int` of 64 bits with sign."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of a `float` that is rounded to 32 bits."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of a `float`, which has 64 bits."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of a `str` of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of an `int` of any size; columns hold 38 digits."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """Return the description of a `Decimal`; columns hold 38 digits, 18 after the point."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> InstantTypeInfo:
        """Return the description of an `Instant`; columns hold microseconds."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """Describes points in time, stored as microseconds since 1970-01-01 00:00 UTC.

    Args:
        basic_type: `BasicType.INSTANT`.

    Example:
        >>> InstantTypeInfo(BasicType.INSTANT).to_internal_type(Instant.of_epoch_milli(5))
        5000
    """

    def need_conversion(self) -> bool:
        """See `TypeInformation.need_conversion`."""
        return True

    def to_internal_type(self, obj: Instant | None) -> int | None:
        """See `TypeInformation.to_internal_type`."""
        return None if obj is None else obj.seconds * 1_000_000 + obj.nanos // 1_000

    def from_internal_type(self, obj: int | None) -> Instant | None:
        """See `TypeInformation.from_internal_type`."""
        return None if obj is None else Instant(0, obj * 1_000)


class PickledBytesTypeInfo(TypeInformation):
    """Describes any object that can be pickled, stored as its pickle.

    Example:
        >>> info = PickledBytesTypeInfo()
        >>> info.from_internal_type(info.to_internal_type({1, 2}))
        {1, 2}
    """

    def need_conversion(self) -> bool:
        """See `TypeInformation.need_conversion`."""
        return True

    def to_internal_type(self, obj: Any) -> bytes | None:
        """See `TypeInformation.to_internal_type`."""
        return None if obj is None else pickle.dumps(obj, protocol=5)

    def from_internal_type(self, obj: bytes | None) -> Any:
        """See `TypeInformation.from_internal_type`."""
        return None if obj is None else pickle.loads(obj)

    def _identity(self) -> object:
        return ()

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


class ExternalTypeInfo(WrappingTypeInfo):
    """Describes a type at the border to tables; it behaves as the one that it wraps.

    Example:
        >>> ExternalTypeInfo(BasicTypeInfo.INT_TYPE_INFO())
        ExternalTypeInfo<Integer>
    """

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self.type_info!r}>"
