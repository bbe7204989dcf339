from __future__ import annotations

from typing import Any

import pytest

from penstock.common.typeinfo import Types
from penstock.common.typeinfo.type_information import (
    ALWAYS,
    TypeInformation,
    UnfitError,
    WrappingTypeInfo,
    require_type_information,
)
from penstock.errors import TypeMismatchError, UnsupportedTypeError


class Even(TypeInformation):
    """A description that overrides nothing but what it must."""

    def _converted(self, value: Any) -> Any:
        if value % 2:
            raise UnfitError(self, value)
        return value

    def _identity(self) -> object:
        return ()

    def __repr__(self) -> str:
        return "Even"


def test_converts_nothing_by_default() -> None:
    value = object()

    assert not Even().need_conversion()
    assert Even().to_internal_type(value) is value
    assert Even().from_internal_type(value) is value


def test_a_value_of_another_type_is_named_with_its_type() -> None:
    Even().check(2)
    with pytest.raises(TypeMismatchError) as raised:
        Even().check(3, "the result")

    assert str(raised.value).startswith("the result is no Even: 3, an int.\n\nHint: ")


def test_one_that_converts_is_asked_about_every_value() -> None:
    assert Even().misfit("value") == ALWAYS
    assert WrappingTypeInfo(Even()).misfit("value") == ALWAYS


def test_a_long_value_is_shortened() -> None:
    with pytest.raises(TypeMismatchError) as raised:
        Types.INT().check("x" * 10_000)

    assert len(str(raised.value)) < 300


def test_none_is_a_missing_value_of_any_type() -> None:
    Even().check(None)


def test_descriptions_of_one_class_are_equal_if_they_describe_the_same() -> None:
    assert Even() == Even()
    assert hash(Even()) == hash(Even())
    assert Even() != Types.INT()
    assert Even() != "Even"


def test_a_wrapping_description_behaves_as_the_wrapped_one() -> None:
    wrapping = WrappingTypeInfo(Types.INSTANT())

    assert wrapping.need_conversion()
    assert wrapping.from_internal_type(1_000) == Types.INSTANT().from_internal_type(1_000)
    assert wrapping.to_internal_type(wrapping.from_internal_type(1_000)) == 1_000
    assert wrapping == WrappingTypeInfo(Types.INSTANT())
    assert wrapping != WrappingTypeInfo(Types.INT())
    assert wrapping != Types.INSTANT()
    with pytest.raises(TypeMismatchError, match="no Instant"):
        wrapping.check(1)


def test_forgotten_parentheses_are_explained() -> None:
    with pytest.raises(UnsupportedTypeError, match=r"Types.INT\(\)"):
        require_type_information([Types.STRING(), Types.INT], "a field")
