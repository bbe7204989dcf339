"""Descriptions of the types whose values are made of values: arrays, lists, maps, tuples, rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from typing import Any

from penstock.common.typeinfo.basic_typeinfo import BasicType, BasicTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation, require_type_information
from penstock.common.types import Row, field_names_of, row_of, unknown_field
from penstock.errors import TypeMismatchError, UnsupportedTypeError

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

    def _accepts(self, value: Any) -> bool:
        return (
            isinstance(value, Iterable)
            and isinstance(value, Sized)
            and not isinstance(value, (str, Mapping, *_BYTES))
        )

    def _check_value(self, value: Any, where: str) -> None:
        super()._check_value(value, where)
        if isinstance(value, _BYTES):
            return  # whose elements, read one by one, have no sign
        for position, element in enumerate(value):
            self.element_type.check(element, f"{where}[{position}]")

    def _identity(self) -> object:
        return self.element_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.element_type!r}>"


class ListTypeInfo(SequenceTypeInfo):
    """Describes lists.

    Example:
        >>> ListTypeInfo(BasicTypeInfo.INT_TYPE_INFO())
        ListTypeInfo<Integer>
    """


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

    def _accepts(self, value: Any) -> bool:
        if self.element_type == BasicTypeInfo.BYTE_TYPE_INFO():
            return isinstance(value, _BYTES)
        return super()._accepts(value) and all(element is not None for element in value)


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

    def _accepts(self, value: Any) -> bool:
        return isinstance(value, Mapping)

    def _check_value(self, value: Any, where: str) -> None:
        super()._check_value(value, where)
        for key, item in value.items():
            self.key_type_info.check(key, f"the key {key!r} of {where}")
            self.value_type_info.check(item, f"{where}[{key!r}]")

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
        fields = zip(self._field_types, self.field_values(obj, "the value"), strict=True)
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
        fields = self._read_fields(value)
        if fields is None or len(fields) != len(self._field_types):
            raise self._mismatch(value, where)
        return fields

    @abstractmethod
    def _read_fields(self, value: Any) -> Sequence[Any] | None:
        """Return the fields of a value that is not None; None if it has not the right ones."""

    @abstractmethod
    def _make(self, fields: list[Any]) -> Any:
        """Return the value that has these fields."""

    @abstractmethod
    def _field_labels(self) -> list[str]:
        """Return how an error calls the fields, after what it calls the value."""

    def _check_value(self, value: Any, where: str) -> None:
        fields = self.field_values(value, where)
        with suppress(TypeMismatchError):
            for field_type, field in zip(self._field_types, fields, strict=True):
                field_type.check(field)
            return
        # Only an error needs the labels.
        for label, field_type, field in zip(
            self._field_labels(), self._field_types, fields, strict=True
        ):
            field_type.check(field, f"{where}{label}")

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

    def _make(self, fields: list[Any]) -> tuple[Any, ...]:
        return tuple(fields)

    def _field_labels(self) -> list[str]:
        return [f"[{position}]" for position in range(len(self._field_types))]

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self._field_types))})"


class RowTypeInfo(_FieldsTypeInfo):
    """Describes rows.

    A tuple, a list or a row without names is taken field by field in order. If field names are
    given, a row that has names, a dict (whose missing keys count as None) and an object that has
    attributes are taken by name. As in Flink, two row types are equal if their fields' types are,
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
        self._field_names = self._given_names or tuple(f"f{i}" for i in range(len(field_types)))

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
        names = self._given_names
        if isinstance(value, Row):
            row_names = field_names_of(value)
            if names is None or row_names is None:
                return tuple(value)
            return [value[name] for name in names] if set(names) <= set(row_names) else None
        if isinstance(value, (tuple, list)):
            return value
        if isinstance(value, Mapping):
            return [value.get(name) for name in self._field_names]
        if not all(hasattr(value, name) for name in self._field_names):
            return None
        return [getattr(value, name) for name in self._field_names]

    def _make(self, fields: list[Any]) -> Row:
        return row_of(self._given_names, tuple(fields))

    def _field_labels(self) -> list[str]:
        return [f".{name}" for name in self._field_names]

    def __repr__(self) -> str:
        if self._given_names is None:
            return f"RowTypeInfo({', '.join(map(repr, self._field_types))})"
        fields = zip(self._given_names, self._field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {kind!r}' for name, kind in fields)})"
