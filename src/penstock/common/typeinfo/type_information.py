"""What every description of a type can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import countOf
from typing import TYPE_CHECKING, Any, Final

from penstock.common.typeinfo.with_article import with_article
from penstock.errors import TypeMismatchError, UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "ALWAYS",
    "NEVER",
    "TypeInformation",
    "UnfitError",
    "WrappingTypeInfo",
    "are_all",
    "require_type_information",
    "without_wrappers",
]


NEVER: Final = "False"
"""The test that no value has to be converted."""

ALWAYS: Final = "True"
"""The test that every value has to be looked at."""

_HINT: Final = "Return what was declared, or declare another type: see penstock.common.Types."


class UnfitError(Exception):
    """Says which value does not fit a type, and where it is inside of another one.

    Args:
        type_info: The type.
        value: The value.
        hint: What to do about it; None for what helps with any type.
    """

    def __init__(self, type_info: TypeInformation, value: Any, hint: str | None = None) -> None:
        super().__init__(type_info, value)
        self._type_info = type_info
        self._value = value
        self._hint = hint
        self._path: list[tuple[str, str]] = []

    def inside(self, after: str, before: str = "") -> UnfitError:
        """Return the error for the value that this one's value is in.

        Args:
            after: What stands behind the name of that value, as `[0]`.
            before: What stands before it.
        """
        self._path.append((before, after))
        return self

    def told(self, where: str) -> TypeMismatchError:
        """Return the error that a user sees.

        Args:
            where: How it calls the outermost value.
        """
        for before, after in reversed(self._path):
            where = f"{before}{where}{after}"
        value = self._value
        return TypeMismatchError(
            f"{where} is no {self._type_info!r}: {_shortened(value)}, "
            f"{with_article(type(value).__name__)}.",
            hint=self._hint or _HINT,
        )


class TypeInformation(ABC):
    """Describes the type of a stream's records, of a state's values or of a sink's columns.

    Records are Python objects. What a function returns whose results have a declared type is made a value
    of exactly that type, if it is equal to one, and refused if it is not: see `convert`. At the borders, where
    records become columns, the type says how.

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

    def convert(self, value: Any, where: str = "the value") -> Any:
        """Return a value as one of exactly this type.

        What is equal to a value of this type becomes that value: `True` or `1.0` the int `1`, a list the tuple,
        a tuple the row with the declared names. Only floating point numbers are rounded, to 32 bits where that is
        declared. None stands for a missing value of any type.

        Args:
            value: The value; it is not changed.
            where: How an error calls it.

        Returns:
            The value itself if it is of exactly this type already.

        Raises:
            TypeMismatchError: If it is equal to no value of this type; the message names the innermost value
                that does not fit.

        Example:
            >>> from penstock.common import Types
            >>> Types.TUPLE([Types.INT(), Types.DOUBLE()]).convert([True, 2])
            (1, 2.0)
        """
        try:
            return self.converted(value)
        except UnfitError as error:
            unfit = error
        raise unfit.told(where)

    def check(self, value: Any, where: str = "the value") -> None:
        """Make sure that a value is of this type, or can be converted to it.

        Args:
            value: The value.
            where: How an error calls it.

        Raises:
            TypeMismatchError: If it is not; see `convert`.
        """
        self.convert(value, where)

    def converted(self, value: Any) -> Any:
        """As `convert`, for types that consist of this one.

        Raises:
            UnfitError: If the value is equal to none of this type.
        """
        return None if value is None else self._converted(value)

    def _converted(self, value: Any) -> Any:
        """Convert a value that is not None; composite types convert what is inside of it as well."""
        return value

    def misfit(self, value: str) -> str:
        """Return a test, in Python, that is false for no value that `convert` would not return as it is.

        It is part of code that looks at many values. Names in it are those of `MISFIT_NAMES`.

        Args:
            value: The expression for the value.

        Returns:
            The test; `NEVER` if every value is of this type, `ALWAYS` if it cannot be told so simply.
        """
        converts = type(self)._converted is not TypeInformation._converted  # noqa: SLF001 - its own
        return ALWAYS if converts else NEVER

    def fits_all(self, values: Sequence[Any]) -> bool:
        """Whether `convert` returns each of many values as it is; false if that cannot be told so quickly.

        Args:
            values: The values.
        """
        return self.misfit("value") == NEVER

    @property
    def is_plain(self) -> bool:
        """Whether all values are texts, numbers and bools, or tuples of these."""
        return False

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

    def _converted(self, value: Any) -> Any:
        return self.type_info.converted(value)

    def misfit(self, value: str) -> str:
        """See `TypeInformation.misfit`."""
        return self.type_info.misfit(value)

    def fits_all(self, values: Sequence[Any]) -> bool:
        """See `TypeInformation.fits_all`."""
        return self.type_info.fits_all(values)

    @property
    def is_plain(self) -> bool:
        """See `TypeInformation.is_plain`."""
        return self.type_info.is_plain

    def _identity(self) -> object:
        return self.type_info


def without_wrappers(type_info: TypeInformation | None) -> TypeInformation | None:
    """Return the description itself of a type that may be described under another name."""
    while isinstance(type_info, WrappingTypeInfo):
        type_info = type_info.type_info
    return type_info


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


def are_all(kind: type, values: Sequence[Any]) -> bool:
    """Whether all values are of a type, not of one derived from it."""
    return countOf(map(type, values), kind) == len(values)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
