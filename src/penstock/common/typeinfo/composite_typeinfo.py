"""Descriptions of the types whose values are made of values: arrays, lists, maps, tuples, rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from operator import countOf, is_
from typing import Any, Final

from penstock.common.typeinfo.basic_typeinfo import BasicType, BasicTypeInfo
from penstock.common.typeinfo.type_information import (
    ALWAYS,
    NEVER,
    TypeInformation,
    UnfitError,
    are_all,
    require_type_information,
)
from penstock.common.types import Row, default_names, field_names_of, row_of, unknown_field
from penstock.errors import UnsupportedTypeError

__all__ = [
    "BasicArrayTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SequenceTypeInfo",
    "TupleTypeInfo",
]

_BYTES = (bytes, bytearray, memoryview)
_ORDER_HINT: Final = "The order of a set may differ between processes: return sorted(...) of it."
_PRIMITIVES = frozenset(BasicType) - {
    BasicType.STRING,
    BasicType.BIG_INT,
    BasicType.BIG_DEC,
    BasicType.INSTANT,
}


class SequenceTypeInfo(TypeInformation):
    """Describes several values of one type in order.

    Args:
        element_type: The type of the elements.

    Raises:
        UnsupportedTypeError: If there can be no such sequence of this type.
    """

    def __init__(self, element_type: TypeInformation) -> None:
        require_type_information([element_type], f"the elements of a {type(self).__name__}")
        self.element_type = element_type

    def need_conversion(self) -> bool:
        """See `TypeInformation.need_conversion`."""
        return self.element_type.need_conversion()

    def to_internal_type(self, obj: Iterable[Any] | None) -> Any:
        """See `TypeInformation.to_internal_type`."""
        return self._convert(obj, self.element_type.to_internal_type)

    def from_internal_type(self, obj: Iterable[Any] | None) -> Any:
        """See `TypeInformation.from_internal_type`."""
        return self._convert(obj, self.element_type.from_internal_type)

    def _convert(self, values: Any, convert: Any) -> Any:
        if values is None or not self.need_conversion():
            return values
        return [convert(value) for value in values]

    def _converted(self, value: Any) -> Any:
        if isinstance(value, _BYTES) and self._may_be_bytes():
            return bytes(value)
        elements = self._elements(value)
        converted = [self._element(element, position) for position, element in enumerate(elements)]
        return _unless_same(value, elements, converted, list)

    def _may_be_bytes(self) -> bool:
        return False

    def _elements(self, value: Any) -> list[Any]:
        if isinstance(value, list):
            return value
        if isinstance(value, (str, *_BYTES)):
            raise UnfitError(self, value)
        if hasattr(value, "tolist"):  # as arrays of Python and of NumPy have
            value = value.tolist()
        if not isinstance(value, Sequence):
            raise UnfitError(self, value, _ORDER_HINT if isinstance(value, Set) else None)
        return list(value)

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        return are_all(list, values) and self.element_type.fits_all(
            list(chain.from_iterable(values))
        )

    def _element(self, element: Any, position: int) -> Any:
        try:
            return self.element_type.converted(element)
        except UnfitError as error:
            raise error.inside(f"[{position}]") from None

    def _identity(self) -> object:
        return self.element_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.element_type!r}>"


class ListTypeInfo(SequenceTypeInfo):
    """Describes lists; where the elements are of 8 bits, a `bytes` will do.

    Example:
        >>> ListTypeInfo(BasicTypeInfo.INT_TYPE_INFO())
        ListTypeInfo<Integer>
    """

    @property
    def elem_type(self) -> TypeInformation:
        """The type of the elements, by PyFlink's name for it."""
        return self.element_type

    def _may_be_bytes(self) -> bool:
        return self.element_type == BasicTypeInfo.BYTE_TYPE_INFO()


class ObjectArrayTypeInfo(SequenceTypeInfo):
    """Describes arrays of anything.

    Example:
        >>> ObjectArrayTypeInfo(BasicTypeInfo.STRING_TYPE_INFO())
        ObjectArrayTypeInfo<String>
    """


class _ArrayTypeInfo(SequenceTypeInfo):
    _element_kinds: frozenset[BasicType]

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        kind = element_type.basic_type if isinstance(element_type, BasicTypeInfo) else None
        if kind not in self._element_kinds:
            names = ", ".join(sorted(kind.value for kind in self._element_kinds))
            raise UnsupportedTypeError(
                f"There is no {type(self).__name__} of {element_type!r}.",
                hint=f"Its elements can be: {names}. Types.OBJECT_ARRAY takes any type.",
            )


class BasicArrayTypeInfo(_ArrayTypeInfo):
    """Describes arrays of numbers, strings or booleans, any of which may be missing.

    Example:
        >>> BasicArrayTypeInfo(BasicTypeInfo.STRING_TYPE_INFO())
        BasicArrayTypeInfo<String>
    """

    _element_kinds = _PRIMITIVES | {BasicType.STRING}


class PrimitiveArrayTypeInfo(_ArrayTypeInfo):
    """Describes arrays of numbers or booleans, none of which may be missing.

    An array of bytes is a `bytes`; the others are sequences of any kind.

    Example:
        >>> PrimitiveArrayTypeInfo(BasicTypeInfo.BYTE_TYPE_INFO()).check(b"abc")
    """

    _element_kinds = _PRIMITIVES

    def _converted(self, value: Any) -> Any:
        if self._may_be_bytes() and not isinstance(value, _BYTES):
            raise UnfitError(self, value)
        return super()._converted(value)

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        return not self._may_be_bytes() and super().fits_all(values)

    def _may_be_bytes(self) -> bool:
        return self.element_type == BasicTypeInfo.BYTE_TYPE_INFO()

    def _element(self, element: Any, position: int) -> Any:
        if element is None:
            raise UnfitError(self.element_type, None).inside(f"[{position}]")
        return super()._element(element, position)


class MapTypeInfo(TypeInformation):
    """Describes dicts.

    Args:
        key_type_info: The type of the keys.
        value_type_info: The type of the values.

    Raises:
        UnsupportedTypeError: If one of them is no type information.

    Example:
        >>> MapTypeInfo(BasicTypeInfo.STRING_TYPE_INFO(), BasicTypeInfo.INT_TYPE_INFO())
        MapTypeInfo<String, Integer>
    """

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        require_type_information([key_type_info, value_type_info], "the keys or values of a map")
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info

    def need_conversion(self) -> bool:
        """See `TypeInformation.need_conversion`."""
        return True

    def to_internal_type(self, obj: Mapping[Any, Any] | None) -> list[tuple[Any, Any]] | None:
        """Turn a dict into a list of pairs; see `TypeInformation.to_internal_type`."""
        if obj is None:
            return None
        key, value = self.key_type_info.to_internal_type, self.value_type_info.to_internal_type
        return [(key(k), value(v)) for k, v in obj.items()]

    def from_internal_type(self, obj: Iterable[tuple[Any, Any]] | None) -> dict[Any, Any] | None:
        """See `TypeInformation.from_internal_type`."""
        if obj is None:
            return None
        key, value = self.key_type_info.from_internal_type, self.value_type_info.from_internal_type
        return {key(k): value(v) for k, v in obj}

    def _converted(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise UnfitError(self, value)
        keys = [self._key(key) for key in value]
        items = [self._item(item, key) for key, item in value.items()]
        is_same = _are_same(value, keys) and _are_same(value.values(), items)
        return value if is_same and type(value) is dict else dict(zip(keys, items, strict=True))

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        return (
            are_all(dict, values)
            and self.key_type_info.fits_all(list(chain.from_iterable(values)))
            and self.value_type_info.fits_all(list(chain.from_iterable(map(dict.values, values))))
        )

    def _key(self, key: Any) -> Any:
        try:
            return self.key_type_info.converted(key)
        except UnfitError as error:
            raise error.inside("", before=f"the key {key!r} of ") from None

    def _item(self, item: Any, key: Any) -> Any:
        try:
            return self.value_type_info.converted(item)
        except UnfitError as error:
            raise error.inside(f"[{key!r}]") from None

    def _identity(self) -> object:
        return (self.key_type_info, self.value_type_info)

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type_info!r}, {self.value_type_info!r}>"


class _FieldsTypeInfo(TypeInformation):
    """Describes values with a fixed number of fields, stored as a tuple."""

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        require_type_information(field_types, f"a field of a {type(self).__name__}")
        self._field_types = list(field_types)

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields.

        Returns:
            The types, in the order of the fields.
        """
        return list(self._field_types)

    def need_conversion(self) -> bool:
        """See `TypeInformation.need_conversion`."""
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Turn a value into the tuple of its fields' stored forms.

        Args:
            obj: A value of this type, or None.

        Returns:
            The tuple; None for None.

        Raises:
            TypeMismatchError: If the value has not the fields that it should have.
        """
        if obj is None:
            return None
        fields = zip(self._field_types, self.field_values(obj), strict=True)
        return tuple([field_type.to_internal_type(field) for field_type, field in fields])

    def from_internal_type(self, obj: Iterable[Any] | None) -> Any:
        """See `TypeInformation.from_internal_type`."""
        if obj is None:
            return None
        fields = zip(self._field_types, obj, strict=True)
        return self._make([field_type.from_internal_type(field) for field_type, field in fields])

    def field_values(self, value: Any, where: str = "the value") -> Sequence[Any]:
        """Return the fields of a value as they are, in the order of their types.

        Args:
            value: A value of this type.
            where: How an error calls it.

        Raises:
            TypeMismatchError: If it has not the fields that it should have.
        """
        try:
            return self._fields(value)
        except UnfitError as error:
            raise error.told(where) from None

    def _fields(self, value: Any) -> Sequence[Any]:
        fields = self._read_fields(value)
        if fields is None or len(fields) != len(self._field_types):
            raise UnfitError(self, value, self._hint_for(value))
        return fields

    def _hint_for(self, value: Any) -> str | None:
        """Return what to do about a value that has not the fields that it should have."""
        return None

    @abstractmethod
    def _read_fields(self, value: Any) -> Sequence[Any] | None:
        """Return the fields of a value that is not None; None if it has not the right ones."""

    @abstractmethod
    def _make(self, fields: list[Any]) -> Any:
        """Return the value that has these fields."""

    def _converted_fields(self, fields: Sequence[Any]) -> list[Any]:
        converted: list[Any] = []
        for field_type, field in zip(self._field_types, fields, strict=True):
            try:
                converted.append(field_type.converted(field))
            except UnfitError as error:
                raise error.inside(self._field_labels()[len(converted)]) from None
        return converted

    @abstractmethod
    def _field_labels(self) -> list[str]:
        """Return how an error calls the fields, after what it calls the value."""

    def misfits_in(self, fields: str) -> str:
        """Return the test, in Python, that is false for no fields that `convert` would leave as they are.

        Args:
            fields: The expression for a tuple of so many fields.

        Returns:
            The test; see `TypeInformation.misfit`.
        """
        tests = [
            field_type.misfit(f"{fields}[{position}]")
            for position, field_type in enumerate(self._field_types)
        ]
        if ALWAYS in tests:
            return ALWAYS
        return " or ".join(test for test in tests if test != NEVER) or NEVER

    def fit_all_fields(self, values: Sequence[tuple[Any, ...]]) -> bool:
        """Whether `convert` leaves the fields of many values as they are; false if that cannot be told so quickly.

        Args:
            values: The fields of each value.
        """
        width = len(self._field_types)
        if countOf(map(len, values), width) != len(values):
            return False
        columns = zip(*values, strict=True)
        return not values or all(
            field_type.fits_all(column)
            for field_type, column in zip(self._field_types, columns, strict=True)
        )

    def _identity(self) -> object:
        return tuple(self._field_types)


class TupleTypeInfo(_FieldsTypeInfo):
    """Describes tuples whose fields have a type each. Lists and rows pass for tuples.

    Args:
        field_types: The types of the fields.

    Raises:
        UnsupportedTypeError: If one of them is no type information.

    Example:
        >>> TupleTypeInfo([BasicTypeInfo.STRING_TYPE_INFO(), BasicTypeInfo.INT_TYPE_INFO()])
        TupleTypeInfo(String, Integer)
    """

    def _read_fields(self, value: Any) -> Sequence[Any] | None:
        return tuple(value) if isinstance(value, (tuple, list, Row)) else None

    def _converted(self, value: Any) -> Any:
        fields = self._fields(value)
        return _unless_same(value, fields, self._converted_fields(fields), tuple)

    def misfit(self, value: str) -> str:
        """See `TypeInformation.misfit`."""
        inside = self.misfits_in(value)
        if inside == ALWAYS:
            return ALWAYS
        shape = f"kind({value}) is not tuple or len({value}) != {len(self._field_types)}"
        return shape if inside == NEVER else f"{shape} or {inside}"

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        return are_all(tuple, values) and self.fit_all_fields(values)

    @property
    def is_plain(self) -> bool:
        """See `TypeInformation.is_plain`."""
        return all(field_type.is_plain for field_type in self._field_types)

    def _make(self, fields: list[Any]) -> tuple[Any, ...]:
        return tuple(fields)

    def _field_labels(self) -> list[str]:
        return [f"[{position}]" for position in range(len(self._field_types))]

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self._field_types))})"


class RowTypeInfo(_FieldsTypeInfo):
    """Describes rows.

    A tuple, a list or a row without names is taken field by field in order; a row that has names, a dict (whose
    missing keys count as None) and an object that has attributes by name. What is declared to be such a row becomes
    one with the declared names, in their order. As in Flink, two row types are equal if their fields' types are,
    whatever the names.

    Args:
        field_types: The types of the fields.
        field_names: Their names. Default: f0, f1 and so on.

    Raises:
        UnsupportedTypeError: If one of the types is no type information, or their number is not
            that of the names.

    Example:
        >>> RowTypeInfo([BasicTypeInfo.INT_TYPE_INFO()], ["id"])
        RowTypeInfo(id: Integer)
    """

    def __init__(
        self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None
    ) -> None:
        super().__init__(field_types)
        if field_names is not None and len(field_names) != len(field_types):
            raise UnsupportedTypeError(
                f"A row type cannot have {len(field_types)} field types and {len(field_names)} "
                f"field names.",
                hint="Give one name for each type.",
            )
        self._given_names = None if field_names is None else tuple(field_names)
        self._field_names = self._given_names or default_names(len(field_types))

    def get_field_names(self) -> list[str]:
        """Return the names of the fields.

        Returns:
            The names, in order: those given, else f0, f1 and so on.
        """
        return list(self._field_names)

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a field.

        Args:
            field_name: The name of the field.

        Returns:
            The position, counted from 0.

        Raises:
            UnknownFieldError: If there is no such field.
        """
        if field_name not in self._field_names:
            raise unknown_field(field_name, self._field_names)
        return self._field_names.index(field_name)

    def _read_fields(self, value: Any) -> Sequence[Any] | None:
        names = self._field_names
        if isinstance(value, Row):
            own = field_names_of(value)
            if own is None or own == names:
                return tuple(value)
            return [value[name] for name in names] if set(names) <= set(own) else None
        if isinstance(value, (tuple, list)):
            return value
        if isinstance(value, Mapping):
            return [value.get(name) for name in names]
        if not all(hasattr(value, name) for name in names):
            return None
        return [getattr(value, name) for name in names]

    def _hint_for(self, value: Any) -> str | None:
        names = ", ".join(self._field_names)
        own = field_names_of(value) if isinstance(value, Row) else None
        if own is not None and self._given_names is None:
            return f"The declared fields are: {names}. Types.ROW_NAMED gives them other names."
        return f"The declared fields are: {names}."

    def _converted(self, value: Any) -> Row:
        fields = self._fields(value)
        converted = self._converted_fields(fields)
        if not isinstance(value, Row):
            return self._make(converted)
        if field_names_of(value) == self._field_names and _are_same(fields, converted):
            return value
        row = self._make(converted)
        row.set_row_kind(value.get_row_kind())
        return row

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        return (
            are_all(Row, values)
            and countOf(map(field_names_of, values), self._field_names) == len(values)
            and self.fit_all_fields(list(map(tuple, values)))
        )

    def _make(self, fields: list[Any]) -> Row:
        return row_of(self._field_names, tuple(fields))

    def _field_labels(self) -> list[str]:
        return [f".{name}" for name in self._field_names]

    def __repr__(self) -> str:
        if self._given_names is None:
            return f"RowTypeInfo({', '.join(map(repr, self._field_types))})"
        fields = zip(self._given_names, self._field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {kind!r}' for name, kind in fields)})"


def _are_same(values: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(map(is_, values, others))


def _unless_same(value: Any, parts: Sequence[Any], converted: list[Any], kind: Any) -> Any:
    """Return the value of a kind that has the converted parts: the value itself, if it is that one."""
    return value if type(value) is kind and _are_same(parts, converted) else kind(converted)
