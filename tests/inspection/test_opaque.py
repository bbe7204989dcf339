from __future__ import annotations

import dataclasses
import enum
import io
import pickle
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from penstock.inspection.opaque import Opaque, is_opaque, without_classes
from penstock.runtime.state.frames import UNPICKLER, read_pickles


@dataclasses.dataclass(frozen=True)
class Order:
    number: int


@dataclasses.dataclass(frozen=True, slots=True)
class Slim:
    number: int


class Node:
    def __init__(self) -> None:
        self.next: Any = self


class Sign(enum.Enum):
    PLUS = 1

    def __reduce_ex__(self, _: Any) -> Any:
        """As Python 3.11.0 to 3.11.3 do."""
        return getattr, (type(self), self.name)


def a_function() -> None:
    """Pickled by its name."""


@pytest.fixture(autouse=True)
def gone() -> Iterator[ModuleType]:
    """A module that is there to pickle, and gone to unpickle."""
    module = ModuleType("gone_module")
    for member in (Order, Slim, Node, Sign, a_function):
        member.__module__ = "gone_module"
        setattr(module, member.__name__, member)
    sys.modules["gone_module"] = module
    yield module
    sys.modules.pop("gone_module", None)


def unpickled(*values: Any) -> list[Any]:
    data = b"".join(pickle.dumps(value) for value in values)
    del sys.modules["gone_module"]
    with without_classes():
        return list(read_pickles(data))


def test_stands_for_a_member_that_was_pickled_by_its_name() -> None:
    (found,) = unpickled(Sign.PLUS)

    assert repr(found) == "Sign('PLUS')"
    assert not hasattr(type(found), "_fields")


def test_stands_for_an_object() -> None:
    (found,) = unpickled(Order(7))

    assert isinstance(found, Opaque)
    assert repr(found) == "Order(number=7)"


def test_equal_objects_are_equal_keys() -> None:
    one, same, other, slim = unpickled(Order(7), Order(7), Order(8), Slim(7))

    assert one == same != other
    assert len({one: 1, same: 2, other: 3, slim: 4}) == 3


def test_stands_for_whatever_is_named() -> None:
    slim, node, function = unpickled(Slim(7), Node(), a_function)

    assert repr(slim) == "Slim([7])"
    assert repr(node) == "Node(next=...)"
    assert function.__name__ == "a_function"


def test_what_is_known_stays_itself() -> None:
    (found,) = unpickled([1, (Order(7), "x")])

    assert found[0] == 1
    assert repr(found) == "[1, (Order(number=7), 'x')]"
    assert [is_opaque(one) for one in (found[1], found[1][0], (1, "x"), 1)] == [
        True,
        True,
        False,
        False,
    ]


def test_can_be_pickled_again() -> None:
    (found,) = unpickled(Order(7))

    again = pickle.loads(pickle.dumps(found))

    assert again == found
    assert repr(again) == repr(found)


def test_elsewhere_a_class_that_is_gone_is_an_error() -> None:
    unpickled()

    assert UNPICKLER.get() is pickle.Unpickler
    with pytest.raises(ModuleNotFoundError):
        pickle.load(io.BytesIO(b"cgone_module\nOrder\n."))
