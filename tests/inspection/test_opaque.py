from __future__ import annotations

import dataclasses
import enum
import io
import os
import pickle
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest

from penstock.common import Duration, Instant, Row, RowKind, Time
from penstock.common.rows.data_frame_row import row_factory
from penstock.inspection.opaque import Opaque, is_opaque, without_classes
from penstock.runtime.job_pickle import UNPICKLER, JobUnpickler
from penstock.runtime.keys.window_values import CountWindow, GlobalWindow, TimeWindow
from penstock.runtime.state.frames import read_pickles
from penstock.runtime.windows.evictors import TimestampedValue
from penstock.runtime.windows.triggers.trigger import TriggerResult


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

    assert UNPICKLER.get() is JobUnpickler
    with pytest.raises(ModuleNotFoundError):
        pickle.load(io.BytesIO(b"cgone_module\nOrder\n."))


class Harmful:
    """What whoever writes a checkpoint can have unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("planted",)


def only_looked_at(*values: Any) -> list[Any]:
    data = b"".join(pickle.dumps(value) for value in values)
    with without_classes(import_classes=False):
        return list(read_pickles(data))


def test_where_classes_are_not_imported_nothing_that_is_named_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    (found,) = only_looked_at(Harmful())

    assert repr(found) == "mkdir('planted')"
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize(
    "text",
    [
        b"cbuiltins\neval\n(S'1+1'\ntR.",
        b"cos\nsystem\n(S'true'\ntR.",
        # A name with a dot reaches what a module, whatever it is, has imported.
        b"\x80\x04\x8c\x15penstock.common.types\x8c\x12row_of.__globals__\x93.",
        b"\x80\x04\x8c\x08datetime\x8c\x08sys.exit\x93)R.",
    ],
)
def test_no_way_of_naming_something_reaches_it(text: bytes) -> None:
    with without_classes(import_classes=False):
        (found,) = read_pickles(text)
    assert isinstance(found, Opaque) or issubclass(found, Opaque)


def test_plain_data_is_what_it_is_where_classes_are_not_imported() -> None:
    deleted = Row(1)
    deleted.set_row_kind(RowKind.DELETE)
    values = [
        (1, 2.5, "three", b"4", None, True, 1j, [5], {6: 7}, {8}, frozenset({9}), bytearray(b"x")),
        (
            datetime(2026, 3, 4, 5, tzinfo=UTC),
            timedelta(1),
            Decimal("0.1"),
            Fraction(1, 3),
            UUID(int=1),
        ),
        (Counter("ab"), OrderedDict(a=1), deque([1]), range(3), defaultdict(list, a=[1])),
        (Row(1, 2), Row(a=1), deleted, row_factory(["a", "b"])((1, 2))),
        (TimeWindow(0, 10), CountWindow(1), GlobalWindow.get(), TimestampedValue("a", 1)),
        (Time.seconds(1), Duration.of_seconds(1), Instant.of_epoch_milli(1), TriggerResult.FIRE),
    ]
    found = only_looked_at(*values)
    assert found[2][-1]["a"] == [1]
    assert [*found[:2], found[2][:-1], *found[3:]] == [*values[:2], values[2][:-1], *values[3:]]


class ByName:
    """Pickled as Python 3.11.0 to 3.11.3 pickle a member of an enum."""

    def __init__(self, owner: Any, name: str) -> None:
        self._parts = owner, name

    def __reduce__(self) -> Any:
        return getattr, self._parts


def test_members_of_enums_may_be_named() -> None:
    fire, plus, method = only_looked_at(
        ByName(TriggerResult, "FIRE"), Sign.PLUS, ByName(str, "upper")
    )
    assert fire is TriggerResult.FIRE
    assert repr(plus) == "Sign('PLUS')"
    assert repr(method) == "getattr(<class 'str'>, 'upper')"


def test_objects_of_other_classes_are_shown_though_they_could_be_imported() -> None:
    sys.modules["gone_module"] = sys.modules[__name__]
    (found,) = only_looked_at(Order(7))
    assert repr(found) == "Order(number=7)"
    assert is_opaque(found)
