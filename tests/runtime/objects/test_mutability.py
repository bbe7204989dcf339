from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import threading
import types
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row
from penstock.runtime.job_pickle import loads
from penstock.runtime.objects.harmless import PLAIN_TYPES
from penstock.runtime.objects.mutability import (
    Kept,
    all_immutable,
    copied,
    copied_if_plain,
    copied_if_possible,
    is_immutable,
    kept,
)
from penstock.runtime.objects.mutability import given as given_back

T = TypeVar("T")


class Kind(enum.Enum):
    A = ("a", 1)


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


@dataclasses.dataclass(frozen=True)
class Trip:
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "stops", [])


@dataclasses.dataclass(frozen=True)
class Basket:
    name: str

    @functools.cached_property
    def items(self) -> list[int]:
        return []


@dataclasses.dataclass(frozen=True)
class SmallBasket(Basket):
    size: int = 1


@dataclasses.dataclass(frozen=True)
class Memo:
    name: str

    def seen(self) -> Any:
        if "_seen" not in vars(self):
            object.__setattr__(self, "_seen", [])
        return self._seen  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True)
class Wrapped:
    name: str

    @functools.wraps(Memo.seen)
    def seen(self) -> Any:
        return Memo.seen(self)  # type: ignore[arg-type]


class WithSlot:
    __slots__ = ("seen",)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted(WithSlot):
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", [])


@dataclasses.dataclass(frozen=True)
class Listed(list[int]):
    name: str


@dataclasses.dataclass(frozen=True)
class Asking:
    name: str

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


class Noted(NamedTuple):
    name: str


class NotedMore(Noted):
    pass


class Tags(frozenset[str]):
    __slots__ = ("seen",)


class Text(str):  # noqa: SLOT000 - that it has attributes is what is tested
    pass


class Celsius(np.float64):
    pass


class Kelvin(np.float64):
    __slots__ = ("seen",)


class Shape(enum.Enum):
    ROUND = "round"
    LONG = "long"

    def __init__(self, _: str) -> None:
        self.seen: list[int] = []


class Frozen:
    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(name)


class Odd(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Price(Generic[T]):
    amount: T
    currency: str

    @property
    def text(self) -> str:
        return f"{self.amount} {self.currency}"

    @staticmethod
    def of(amount: Any) -> Price[Any]:
        return Price(amount, "EUR")

    @functools.lru_cache(maxsize=1)  # noqa: B019 - it is looked at, not called
    def rounded(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Discount(Price[T]):
    percent: int = 0


@dataclasses.dataclass(frozen=True)
class Nothing:
    pass


def with_attribute(value: Any) -> Any:
    value.seen = []
    return value


CAN_CHANGE: list[Any] = [
    *(Trip("a"), Basket("a"), SmallBasket("a"), Memo("a"), Wrapped("a"), Slotted("a")),
    *(Listed("a"), Asking("a"), NotedMore("a"), Text("a"), Celsius(1), with_attribute(Kelvin(1))),
    *(with_attribute(Tags("a")), Shape.ROUND, Frozen("a"), [].append, {}.get, Discount([1], "EUR")),
    *(slice(1, 2), types.MappingProxyType({"a": 1}), functools.partial(print), ValueError("a")),
    *(pd.Timestamp(0).replace, with_attribute(pd.Timestamp(0)), Row("a"), Link(Trip("a")).to),
    *(np.array([(1, 2)], dtype="i4,i4")[0], lambda: None, object(), iter([1]), range(3).__iter__()),
]
CANNOT_CHANGE: list[Any] = [
    *(Price(1, "EUR"), Discount(1, "EUR", 2), Link((1, Link(None))), Nothing(), Noted("a")),
    *(Odd.A | Odd.B, Kind.A, len, dict.fromkeys, int, np.float64(1), np.datetime64(1, "D")),
    *(pd.Timestamp(0), pd.Timedelta(0), frozenset({"a"}), Ellipsis, "a".join),
]


@pytest.mark.parametrize("value", CAN_CHANGE, ids=lambda value: type(value).__name__)
def test_what_can_be_changed_in_any_way(value: Any) -> None:
    assert not is_immutable(value)
    assert not is_immutable((1, value))
    assert not all_immutable([value, value])


@pytest.mark.parametrize("value", CANNOT_CHANGE, ids=lambda value: type(value).__name__)
def test_what_nobody_can_change(value: Any) -> None:
    assert is_immutable(value)
    assert is_immutable((1, value))
    assert all_immutable([value, value])


def test_attributes_that_are_no_fields_are_copied() -> None:
    trip, basket = Trip("a"), Basket("a")
    basket.items.append(1)
    held = [kept(trip), kept(basket)]
    trip.stops.append(1)  # type: ignore[attr-defined]
    basket.items.append(2)
    given_trip, given_basket = map(given_back, held)
    assert (given_trip.stops, given_basket.items) == ([], [1])
    assert (copied(trip).stops, copied(basket).items) == ([1], [1, 2])
    assert copied(basket).items is not basket.items


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


class Thing:
    def __init__(self, content: Any) -> None:
        self.content = content


def parts_of(value: Any) -> list[Any]:
    """What a value holds, in its order."""
    if isinstance(value, Thing):
        return [value.content]
    if isinstance(value, dict):
        return [part for item in value.items() for part in item]
    return list(value) if isinstance(value, (list, tuple, Row)) else []


def shape(value: Any) -> list[Any]:
    """All that is in a value, and where it holds what it holds elsewhere too."""
    places: dict[int, int] = {}
    found: list[Any] = []
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if is_immutable(part):
            found.append(part)
        elif id(part) in places:
            found.append(("again", places[id(part)]))
        else:
            places[id(part)] = len(places)
            content = part if isinstance(part, (set, bytearray)) else len(parts_of(part))
            found.append((type(part), content))
            waiting += parts_of(part)
    return found


def everything_in(value: Any) -> list[Any]:
    """A value and all that is in it."""
    found: dict[int, Any] = {}
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if id(part) not in found:
            found[id(part)] = part
            waiting += parts_of(part)
    return list(found.values())


def mutable_ids(value: Any) -> set[int]:
    """The objects in a value that can be changed; not tuples, which hold such objects."""
    return {id(part) for part in everything_in(value) if not is_immutable(part)}


NUMBERS = [0, 1, 256, 257, 300, 0.5, -0.0, 1e300, float("inf")]
TEXTS = ["", "a", "ab", "ä", "€", "😀"]
LEAVES = [None, False, True, *NUMBERS, *TEXTS, Link(1), Order, b"ab", 2j]
KEYS = [*TEXTS, *range(10)]
KINDS = [list, dict, tuple, set, bytearray, Row, Thing]
keys = st.sampled_from(KEYS)


def made_of(drawn: bytes, itself: int | None) -> Any:
    """Make a value of up to eight parts; four numbers say what a part is, and what is in it.

    That are leaves and parts made before it.

    Args:
        drawn: How many parts there are, and the numbers of each.
        itself: Which of the lists the value is in, if in any.
    """
    made: list[Any] = [LEAVES[drawn[-1] % len(LEAVES)], [], {}]
    for place in range(1 + drawn[0] % 8):
        what, *numbers = drawn[1 + 4 * place :][:4]
        kind, chosen = KINDS[what % len(KINDS)], numbers[: what // len(KINDS) % 4]
        names = [KEYS[number % len(KEYS)] for number in chosen]
        parts = [
            made[number % len(made)] if number >= 128 else LEAVES[number % len(LEAVES)]
            for number in chosen
        ]
        if kind is dict:
            made.append(dict(zip(names, reversed(parts), strict=True)))
        elif kind is set:
            made.append(set(names))
        elif kind is bytearray:
            made.append(bytearray(chosen))
        elif kind is Thing:
            made.append(Thing(parts[0] if parts else made[0]))
        elif kind is Row:
            made.append(Row(*(parts or made[:1])))
        else:
            made.append(kind(parts))
    if itself is not None:
        inside = [part for part in made if type(part) is list]
        inside[itself % len(inside)].append(made[-1])
    return made[-1]


def values(*, holds_itself: bool = True) -> st.SearchStrategy[Any]:
    """Values, parts of which may be in them again and again, or hold them."""
    places = st.sampled_from([None] * 9 + [*range(9)]) if holds_itself else st.none()
    return st.builds(made_of, st.binary(min_size=34, max_size=34), places)


# Few leaves, of which few are not plain: else there is always one of these in a value.
PLAIN = [None, False, 1, 300, 0.5, "", "ab", "ä"]
small_values: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([*PLAIN * 2, Link(1), Order, b"ab", 2j, frozenset(), len]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(values())
def test_a_copy_has_the_same_in_it_and_shares_nothing_that_can_be_changed(value: Any) -> None:
    before = shape(value)
    found = copied(value)
    assert shape(found) == before == shape(value)
    assert not mutable_ids(found) & mutable_ids(value)

    plain = copied_if_plain(value)
    if plain is not None:
        assert shape(plain) == before
        assert not mutable_ids(plain) & mutable_ids(value)

    held = kept(value)
    if type(held) is Kept:
        one, other = held.value(), held.value()
        assert shape(one) == shape(other) == shape(loads(held.data)) == before
        assert not mutable_ids(one) & (mutable_ids(other) | mutable_ids(value))
        last = held.taken()
        assert shape(last) == before
        assert not mutable_ids(last) & (mutable_ids(one) | mutable_ids(other) | mutable_ids(value))
    else:
        assert is_immutable(value)


@settings(max_examples=100, deadline=None)
@given(small_values)
def test_plain_are_only_numbers_texts_and_what_holds_them(value: Any) -> None:
    def is_plain(part: Any) -> bool:
        if type(part) in (list, dict):
            return all(map(is_plain, parts_of(part)))
        return type(part) in PLAIN_TYPES

    assert (copied_if_plain(value) is not None) == (type(value) in (list, dict) and is_plain(value))


def test_large_values_are_copied_too() -> None:
    wide = [[number] for number in range(1000)]
    deep: list[Any] = []
    for _ in range(150):
        deep = [deep]
    for value in (wide, deep):
        found = copied(value)
        assert found == value
        assert not mutable_ids(found) & mutable_ids(value)
        assert kept(value).value() == value
