"""What every description of a type can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo.with_article import with_article
from penstock.errors import TypeMismatchError, UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["TypeInformation", "WrappingTypeInfo", "require_type_information"]


class TypeInformation(ABC):
    """Describes the type of a stream's records, of a state's values or of a sink's columns.

    Records are Python objects and pass between Python functions as they are: a type information
    converts and checks nothing there. At the borders, where records become columns, it says how.

    Two are equal if they describe the same type; they can be hashed and pickled, and are made by
    `penstock.common.typeinfo.Types`.
    """

    def need_conversion(self) -> bool:
        """Tell whether `to_internal_type` does anything.

        Returns:
            False if values are stored as they are.
        """
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """Turn a value into the form in which it is stored in a column.

        The type of that column is `penstock.common.typeinfo.arrow_types.to_arrow_type(self)`.

        Args:
            obj: A value of this type, or None.

        Returns:
            The stored form; None for None.
        """
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """Turn the stored form back into the value.

        Args:
            obj: What `to_internal_type` returned, or None.

        Returns:
            The value; None for None.
        """
        return obj

    def check(self, value: Any, where: str = "the value") -> None:
        """Make sure that a value is of this type.

        None stands for a missing value of any type. This costs a few hundred nanoseconds and more,
        so it is meant for the borders, not for each record between two functions.

        Args:
            value: The value.
            where: How an error calls it.

        Raises:
            TypeMismatchError: If it is not; the message names the innermost value that does not fit.
        """
        if value is not None:
            self._check_value(value, where)

    def _check_value(self, value: Any, where: str) -> None:
        """Check a value that is not None; composite types check what is inside of it as well."""
        if not self._accepts(value):
            raise self._mismatch(value, where)

    def _accepts(self, value: Any) -> bool:
        """Tell whether a value that is not None is of this type, not looking inside of it."""
        return True

    def _mismatch(self, value: Any, where: str) -> TypeMismatchError:
        return TypeMismatchError(
            f"{where} is no {self!r}: {_shortened(value)}, {with_article(type(value).__name__)}.",
            hint="Return what was declared, or declare another type: see penstock.common.Types.",
        )

    @abstractmethod
    def _identity(self) -> object:
        """Return what makes this one differ from others of its class."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((type(self), self._identity()))


class WrappingTypeInfo(TypeInformation):
    """Describes the same values as another type information, under another name.

    Args:
        type_info: The wrapped description.

    Raises:
        UnsupportedTypeError: If that is no type information.
    """

    def __init__(self, type_info: TypeInformation) -> None:
        require_type_information([type_info], with_article(type(self).__name__))
        self.type_info = type_info

    def need_conversion(self) -> bool:
        """See `TypeInformation.need_conversion`."""
        return self.type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """See `TypeInformation.to_internal_type`."""
        return self.type_info.to_internal_type(obj)

    def from_internal_type(self, obj: Any) -> Any:
        """See `TypeInformation.from_internal_type`."""
        return self.type_info.from_internal_type(obj)

    def check(self, value: Any, where: str = "the value") -> None:
        """See `TypeInformation.check`."""
        self.type_info.check(value, where)

    def _identity(self) -> object:
        return self.type_info


def require_type_information(types: Iterable[object], of: str) -> None:
    """Make sure that the parts of a composite type are descriptions of types themselves.

    Args:
        types: The parts.
        of: How an error calls what they are parts of.

    Raises:
        UnsupportedTypeError: If one of them is anything else.
    """
    for part in types:
        if not isinstance(part, TypeInformation):
            hint = "Types.INT() and its likes describe a type, with the parentheses."
            raise UnsupportedTypeError(f"{part!r} cannot be the type of {of}.", hint=hint)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
