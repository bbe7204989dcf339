from __future__ import annotations

import copy
import dataclasses
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row
from penstock.runtime.job_pickle import loads
from penstock.runtime.mutability import Kept, copied, copied_if_possible, is_immutable, kept
from penstock.runtime.mutability import given as given_back


@dataclasses.dataclass(frozen=True)
class Late:
    number: int
    other: int = dataclasses.field(init=False)


@dataclasses.dataclass(frozen=True)
class Link:
    to: Any


@dataclasses.dataclass
class Order:
    item: str
    count: int


class WithState(Order):
    def __getstate__(self) -> Any:
        return {"item": self.item, "count": -self.count}


class WithNew:
    made = 0

    def __new__(cls) -> WithNew:
        cls.made += 1
        return super().__new__(cls)


class Extended(dict[str, int]):
    pass


def nested(depth: int, inner: Any) -> Any:
    value: Any = (inner,)
    for number in range(depth):
        value = (number, value)
    return value


def doubled(depth: int) -> Any:
    value: Any = (1, 2)
    for _ in range(depth):
        value = (value, value)
    return value


class TestIsImmutable:
    @pytest.mark.parametrize(("inner", "expected"), [(1, True), ([1], False)])
    def test_however_deep_a_value_is(self, inner: Any, expected: bool) -> None:
        assert is_immutable(nested(5000, inner)) is expected

    def test_a_value_that_holds_the_same_many_times_is_looked_at_once(self) -> None:
        assert is_immutable(doubled(200))
        assert kept(doubled(200))[0] is not None

    def test_a_value_that_holds_itself(self) -> None:
        link = Link(1)
        object.__setattr__(link, "to", (link, 1))
        assert is_immutable(link)

    def test_a_field_that_is_not_set_may_be_set_later(self) -> None:
        late = Late(1)
        assert not is_immutable(late)
        held = kept(late)
        object.__setattr__(late, "other", 2)
        assert not hasattr(given_back(held), "other")
        assert is_immutable(late)


class TestCopied:
    @given(st.text(), st.integers() | st.lists(st.integers()))
    def test_an_object_is_copied_as_pickle_would(self, item: str, count: Any) -> None:
        order = Order(item, count)
        expected = copy.deepcopy(order)
        order_copied = copied(order)
        order.item = "changed"
        if isinstance(count, list):
            count.append(1)
        assert order_copied == expected
        assert type(order_copied) is Order

    def test_a_class_that_says_how_it_is_pickled_is_asked(self) -> None:
        assert copied(WithState("pen", 2)).count == -2

        one = WithNew()
        copied(one)
        assert WithNew.made == 2

    def test_a_subclass_of_a_container_keeps_what_it_has(self) -> None:
        value = Extended(pen=1)
        value.note = "ink"  # type: ignore[attr-defined]
        found = copied(value)
        assert (found, found.note, type(found)) == ({"pen": 1}, "ink", Extended)
        assert found is not value

    def test_attributes_that_are_one_object_stay_one(self) -> None:
        shared = [1]
        order = Order(shared, shared)  # type: ignore[arg-type]
        found = copied(order)
        assert found.item is found.count
        assert found.item is not shared

    def test_what_cannot_be_copied_stays(self) -> None:
        lock = threading.Lock()
        assert copied_if_possible(lock) is lock


VALUES: list[Any] = [
    ["a", 1],
    {"a": 1},
    {"a": [1]},
    [[1], {"b": 2}],
    Row(name="a", count=1),
    Row([1]),
    bytearray(b"a"),
    {1, 2},
]


@pytest.mark.parametrize("value", VALUES)
def test_what_is_kept_is_what_it_was_then(value: Any) -> None:
    before = repr(value)
    held = kept(value)

    given = held.value()
    _change(value)
    _change(given)

    assert type(held) is Kept
    assert repr(held.value()) == before
    assert repr(loads(held.data)) == before
    assert held.value() is not held.value()


def _change(value: Any) -> None:
    if isinstance(value, set):
        value.clear()
    elif isinstance(value, dict):
        value["changed"] = 1
    elif isinstance(value, Row):
        value[0] = "changed"
    else:
        value.append(1)
