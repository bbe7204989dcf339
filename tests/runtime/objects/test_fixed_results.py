"""Which functions make nothing but what nobody can change, and that those which only look so change no result."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Journal

from penstock.common import WatermarkStrategy
from penstock.datastream import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    RuntimeExecutionMode,
    SinkFunction,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.runtime.objects.fixed_results import makes_fixed, reads_names
from penstock.runtime.objects.harmless import is_harmless
from penstock.testing import local_environment
from penstock.testing.source import TestingSource

BUCKETS: Any = 10
shared: list[Any] = [0]


class Methods:
    seen = 0

    def adding(self, left: Any, right: Any) -> Any:
        return left[0], left[1] + right[1]

    def counting(self, value: Any) -> Any:
        self.seen += 1
        return value

    def giving_itself(self, value: Any) -> Any:
        return self

    @classmethod
    def of_class(cls, value: Any) -> Any:
        return cls

    @staticmethod
    def static(value: Any) -> Any:
        return -value


def in_a_loop(text: str) -> Any:
    total = 0
    for place, letter in ((1, "a"), (2, "b")):
        if letter in text and place:
            total += place
    return f"{total:>3}{text!r}" if total > 2 else (total, text[1:], text.upper().strip())


def with_default(number: int, seen: list[int] = []) -> Any:  # noqa: B006 - is what is tested
    seen.append(number)
    return seen


def with_rest(*values: Any) -> Any:
    return values


def with_options(**values: Any) -> Any:
    return values


def around() -> Callable[[Any], Any]:
    seen = [0]
    return lambda value: seen


def unpacking(value: Any) -> Any:
    _, *rest = value
    return rest


def generating(value: Any) -> Any:
    yield value


async def waiting(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    "function",
    [
        lambda value: value,
        lambda value: 5,
        lambda left, right: (left[0], left[1] + right[1]),
        lambda value: (value, (value, None)),
        lambda value: (value % 100, str(value), max(value, 3), BUCKETS),
        lambda value: value[1:3] if not value else -value[0],
        lambda value: value.partition(",")[0].zfill(5),
        in_a_loop,
        with_rest,
        Methods().adding,
        Methods.static,
    ],
)
def test_what_makes_only_numbers_texts_and_tuples(function: Any) -> None:
    assert makes_fixed(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda value: [value],
        lambda value: {"value": value},
        lambda value: {value},
        lambda value: [item for item in value],  # noqa: C416
        lambda value: (item for item in value),
        lambda value: lambda: value,
        lambda value: value.split(","),
        lambda value: value.splitlines(),
        lambda value: value.maketrans("a", "b"),
        lambda value: value.__class__,
        lambda value: list(value),  # noqa: PLW0108
        lambda value: sorted(value),  # noqa: PLW0108
        lambda value: (dict, value),
        lambda value: zip(value, value, strict=True),
        lambda value: reversed(value),  # noqa: PLW0108
        lambda value: (yield value),
        with_default,
        with_options,
        around(),
        unpacking,
        generating,
        waiting,
        FunctionType((lambda value: "x").__code__.replace(co_consts=(None, [])), {}),
        Methods().counting,
        Methods().giving_itself,
        Methods.of_class,
        functools.partial(in_a_loop),
        len,
        Methods,
    ],
)
def test_what_may_make_anything_else(function: Any) -> None:
    assert not makes_fixed(function)


def test_names_are_a_matter_of_what_they_stand_for_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_name(value: Any) -> Any:
        return value % BUCKETS

    assert makes_fixed(of_name)
    assert reads_names(of_name)
    assert not reads_names(in_a_loop)
    assert not reads_names(Methods().adding)
    assert is_harmless(of_name)
    monkeypatch.setitem(globals(), "BUCKETS", shared)
    assert makes_fixed(of_name)
    assert not is_harmless(of_name)


class Add:
    """Adds pairs, and what it gives is now a tuple and now a list that is used again."""

    def __init__(self, lists: bool) -> None:
        self._lists = lists
        self._last: list[Any] = []

    def reduce(self, left: Any, right: Any) -> Any:
        total = left[1] + right[1]
        if not self._lists or total % 3:
            return left[0], total
        self._last[:] = left[0], total
        return self._last


def add(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1]


def add_to_list(left: Any, right: Any) -> Any:
    total = [*left]
    total[1] += right[1]
    return total


def add_in_place(left: Any, right: Any) -> Any:
    if type(left) is tuple:
        return [left[0], left[1] + right[1]]
    left[1] += right[1]
    return left


REDUCING: list[Callable[[], Any]] = [
    lambda: add,
    lambda: add_to_list,
    lambda: add_in_place,
    lambda: Add(lists=False),
    lambda: Add(lists=True),
]
BEFORE: list[Callable[[Any], Any]] = [
    lambda number: (number % 3, number),
    lambda number: [number % 3, number] if number % 4 else (number % 3, number),
    lambda number: (number % BUCKETS % 3, number, "more") if number % 2 else (0, number),
]
AFTER: list[Callable[[Any], Any]] = [
    lambda pair: pair,
    lambda pair: (pair[1], pair),
    lambda pair: pair[1],
    lambda pair: [pair],
]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 60),
    st.sampled_from(BEFORE),
    st.sampled_from(REDUCING),
    st.lists(st.sampled_from(AFTER), max_size=1),
    st.sampled_from([HashMapStateBackend, EmbeddedRocksDBStateBackend]),
)
def test_rolling_results_are_what_one_record_after_the_other_gives(
    count: int,
    before: Callable[[Any], Any],
    new_reducing: Callable[[], Any],
    after: list[Callable[[Any], Any]],
    backend: type[Any],
) -> None:
    """Numbers that are known to be such, and functions whose results are known or have to be looked at."""
    reducing = new_reducing()
    call = getattr(reducing, "reduce", reducing)
    sums: dict[Any, Any] = {}
    wanted = []
    for number in range(1, count + 1):
        value = copy.deepcopy(before(number))
        key = value[0]
        result = call(copy.deepcopy(sums[key]), value) if key in sums else value
        sums[key] = copy.deepcopy(result)
        for function in after:
            result = function(result)
        wanted.append(repr(result))

    env = local_environment()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_state_backend(backend())
    source = NumberSequenceSource(1, count) if count else TestingSource([[]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    stream = numbers.map(before).key_by(lambda value: value[0]).reduce(new_reducing())
    for function in after:
        stream = stream.map(function)
    sunk: list[Any] = Journal()
    stream.add_sink(sunk.append)
    env.execute("sums")

    assert list(map(repr, sunk)) == wanted


class Changing(SinkFunction):
    """Changes what a name stands for, and what it stood for."""

    def __init__(self, sunk: list[Any]) -> None:
        self._sunk = sunk

    def invoke(self, value: Any) -> None:
        self._sunk.append(value)
        of_changing_name.__globals__["changing"] = shared
        shared[0] = value if isinstance(value, int) else 0


changing: Any = 1


def of_changing_name(number: int) -> Any:
    return changing if number > 1 else number


def test_a_name_that_a_function_behind_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "changing", 1)
    sunk: list[Any] = Journal()
    env = local_environment()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    numbers = env.from_source(
        NumberSequenceSource(1, 3), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.map(of_changing_name).add_sink(Changing(sunk))
    env.execute("names")

    assert sunk == [1, [1], [0]]
