"""Descriptions of types, and `Types`, by which a program makes them."""

# ruff: noqa: N802 - the names are PyFlink's
from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.typeinfo.basic_typeinfo import (
    BasicTypeInfo,
    PickledBytesTypeInfo,
)
from penstock.common.typeinfo.composite_typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from penstock.common.typeinfo.time_typeinfo import SqlTimeTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation

if TYPE_CHECKING:
    from collections.abc import Sequence


class Types:
    """Makes the descriptions of the common types.

    Example:
        >>> Types.ROW_NAMED(["id", "tags"], [Types.INT(), Types.LIST(Types.STRING())])
        RowTypeInfo(id: Integer, tags: ListTypeInfo<String>)
    """

    @staticmethod
    def STRING() -> TypeInformation:
        """Return the description of `str`."""
        return BasicTypeInfo.STRING_TYPE_INFO()

    @staticmethod
    def BYTE() -> TypeInformation:
        """Return the description of an `int` from -128 to 127."""
        return BasicTypeInfo.BYTE_TYPE_INFO()

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """Return the description of `bool`."""
        return BasicTypeInfo.BOOLEAN_TYPE_INFO()

    @staticmethod
    def SHORT() -> TypeInformation:
        """Return the description of an `int` of 16 bits."""
        return BasicTypeInfo.SHORT_TYPE_INFO()

    @staticmethod
    def INT() -> TypeInformation:
        """Return the description of an `int` of 32 bits."""
        return BasicTypeInfo.INT_TYPE_INFO()

    @staticmethod
    def LONG() -> TypeInformation:
        """Return the description of an `int` of 64 bits."""
        return BasicTypeInfo.LONG_TYPE_INFO()

    @staticmethod
    def FLOAT() -> TypeInformation:
        """Return the description of a `float` that is rounded to 32 bits."""
        return BasicTypeInfo.FLOAT_TYPE_INFO()

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """Return the description of `float`."""
        return BasicTypeInfo.DOUBLE_TYPE_INFO()

    @staticmethod
    def CHAR() -> TypeInformation:
        """Return the description of a `str` of one character."""
        return BasicTypeInfo.CHAR_TYPE_INFO()

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """Return the description of an `int` of any size; columns hold 38 digits."""
        return BasicTypeInfo.BIG_INT_TYPE_INFO()

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """Return the description of a `Decimal`; columns hold 38 digits, 18 after the point."""
        return BasicTypeInfo.BIG_DEC_TYPE_INFO()

    @staticmethod
    def INSTANT() -> TypeInformation:
        """Return the description of `penstock.common.Instant`; columns hold microseconds."""
        return BasicTypeInfo.INSTANT_TYPE_INFO()

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """Return the description of `datetime.date`."""
        return SqlTimeTypeInfo.DATE()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """Return the description of `datetime.time`."""
        return SqlTimeTypeInfo.TIME()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """Return the description of `datetime.datetime`, to the microsecond."""
        return SqlTimeTypeInfo.TIMESTAMP()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Return the description of any object that can be pickled."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """Return the description of rows whose fields are called f0, f1 and so on.

        Args:
            field_types: The types of the fields.

        Returns:
            The description.

        Raises:
            UnsupportedTypeError: If one of them is no type information.
        """
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(
        field_names: Sequence[str], field_types: Sequence[TypeInformation]
    ) -> RowTypeInfo:
        """Return the description of rows whose fields have names.

        Args:
            field_names: The names of the fields.
            field_types: Their types, in the same order.

        Returns:
            The description.

        Raises:
            UnsupportedTypeError: If one of the types is no type information, or their number is
                not that of the names.
        """
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TupleTypeInfo:
        """Return the description of tuples.

        Args:
            field_types: The types of the fields.

        Returns:
            The description.

        Raises:
            UnsupportedTypeError: If one of them is no type information.
        """
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> PrimitiveArrayTypeInfo:
        """Return the description of arrays none of whose elements is missing.

        Args:
            element_type: The type of the elements: a number, a boolean or a character. Arrays of
                `Types.BYTE()` are `bytes`.

        Returns:
            The description.

        Raises:
            UnsupportedTypeError: If there is no such array of this type.
        """
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> BasicArrayTypeInfo:
        """Return the description of arrays whose elements may be missing.

        Args:
            element_type: The type of the elements: a number, a boolean, a character or a string.

        Returns:
            The description.

        Raises:
            UnsupportedTypeError: If there is no such array of this type.
        """
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> ObjectArrayTypeInfo:
        """Return the description of arrays of anything.

        Args:
            element_type: The type of the elements.

        Returns:
            The description.

        Raises:
            UnsupportedTypeError: If it is no type information.
        """
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> MapTypeInfo:
        """Return the description of dicts.

        Args:
            key_type_info: The type of the keys.
            value_type_info: The type of the values.

        Returns:
            The description.

        Raises:
            UnsupportedTypeError: If one of them is no type information.
        """
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> ListTypeInfo:
        """Return the description of lists.

        Args:
            element_type_info: The type of the elements.

        Returns:
            The description.

        Raises:
            UnsupportedTypeError: If it is no type information.
        """
        return ListTypeInfo(element_type_info)
