"""Descriptions of the types whose values have no parts."""

# ruff: noqa: N802 - the names are PyFlink's
from __future__ import annotations

import pickle
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any, Final

from penstock.common.time import Instant
from penstock.common.typeinfo.type_information import TypeInformation, WrappingTypeInfo

__all__ = [
    "BasicType",
    "BasicTypeInfo",
    "ExternalTypeInfo",
    "InstantTypeInfo",
    "PickledBytesTypeInfo",
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


_LIMITS: Final = {
    BasicType.BYTE: 1 << 7,
    BasicType.SHORT: 1 << 15,
    BasicType.INT: 1 << 31,
    BasicType.LONG: 1 << 63,
}
_FLOATS: Final = (BasicType.FLOAT, BasicType.DOUBLE)


class BasicTypeInfo(TypeInformation):
    """Describes numbers, strings and booleans.

    Numbers of NumPy pass as numbers, booleans do not.

    Args:
        basic_type: Which of them.

    Example:
        >>> BasicTypeInfo.INT_TYPE_INFO()
        Integer
    """

    def __init__(self, basic_type: BasicType) -> None:
        self.basic_type = basic_type

    def _accepts(self, value: Any) -> bool:
        kind = self.basic_type
        if type(value) is int and kind in _LIMITS:
            return -_LIMITS[kind] <= value < _LIMITS[kind]
        if kind is BasicType.BOOLEAN:
            return type(value).__name__ in {"bool", "bool_"}  # bool_ is NumPy's
        if isinstance(value, bool):
            return False
        if kind in _LIMITS:
            return isinstance(value, Integral) and -_LIMITS[kind] <= int(value) < _LIMITS[kind]
        if kind in _FLOATS:
            return isinstance(value, Real)
        if kind is BasicType.CHAR:
            return isinstance(value, str) and len(value) == 1
        return isinstance(value, _PYTHON_TYPES[kind])

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
        """Return the description of a `float` kept in 32 bits."""
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


_PYTHON_TYPES: Final[dict[BasicType, tuple[type, ...]]] = {
    BasicType.STRING: (str,),
    BasicType.BIG_INT: (Integral,),
    BasicType.BIG_DEC: (Decimal, Integral),
    BasicType.INSTANT: (Instant,),
}


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
