"""Which functions are harmless, and that functions which only look so change no result."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from operator import attrgetter, itemgetter
from types import CodeType, FunctionType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.running import collect

from penstock.common import WatermarkStrategy
from penstock.datastream import RuntimeExecutionMode
from penstock.runtime.objects import harmless
from penstock.runtime.objects.harmless import are_plain, is_harmless
from penstock.testing import local_environment
from penstock.testing.source import TestingSource

BUCKETS = 10
shared: list[Any] = [0]
anything: Any = 1


class Keeping:
    last: list[Any] = [0]

    def keep(self, number: int) -> list[Any]:
        self.last[0] = number
        return self.last


def named(number: int) -> dict[str, Any]:
    return {"number": number, "bucket": number % BUCKETS, "all": [number, (number, str(number))]}


def with_default(number: int, seen: list[int] = []) -> list[int]:  # noqa: B006 - is what is tested
    seen.append(number)
    return seen


def with_keyword_default(number: int, *, seen: list[int] = [0]) -> list[int]:  # noqa: B006
    seen[0] = number
    return seen


def of_global(number: int) -> list[Any]:
    shared[0] = number
    return shared


def setting_global(number: int) -> int:
    global anything  # noqa: PLW0603 - is what is tested
    anything = [number]
    return number


def deep_inside(number: int) -> list[Any]:
    def inner() -> list[Any]:
        return [*map(lambda item: (item, shared), range(number))]  # noqa: C417

    return inner()


def by_frame(number: int) -> Any:
    items = (item for item in (number,))
    found = items.gi_frame.f_globals["shared"]  # type: ignore[attr-defined]
    found[0] = number
    return found


def by_format(number: int) -> str:
    text = "{0.gi_frame}"
    return text.format(item for item in (number,))


def importing(number: int) -> Any:
    import sys

    return sys.modules


def defining(number: int) -> Any:
    class Local:
        pass

    return Local


def attribute_of_function(number: int) -> Any:
    def inner() -> int:
        return number

    inner.seen = number  # type: ignore[attr-defined]
    return inner


def catching(number: int) -> Any:
    try:
        return [number // 0]
    except ZeroDivisionError as error:
        return error.args


def around() -> Callable[[int], Any]:
    seen = [0]

    def inner(number: int) -> list[int]:
        seen[0] = number
        return seen

    return inner


def constant_list() -> Callable[[int], Any]:
    code = (lambda number: "constant").__code__
    constants = tuple(shared if item == "constant" else item for item in code.co_consts)
    return FunctionType(code.replace(co_consts=constants), {})


def shadowed(name: str, value: Any) -> Callable[[int], Any]:
    """Return a function for which a name of a built-in function stands for something else."""
    return FunctionType((lambda number: len([number])).__code__, {name: value})


def other_builtins() -> Callable[[int], Any]:
    return FunctionType(
        (lambda number: len([number])).__code__, {"__builtins__": {"len": lambda _: shared}}
    )


class Globals(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        return lambda _: shared


HARMFUL: list[Any] = [
    with_default,
    with_keyword_default,
    of_global,
    setting_global,
    deep_inside,
    by_frame,
    by_format,
    importing,
    defining,
    attribute_of_function,
    catching,
    around(),
    constant_list(),
    shadowed("len", lambda _: shared),
    other_builtins(),
    FunctionType((lambda number: len([number])).__code__, Globals()),
    Keeping().keep,
    Keeping,
    functools.partial(with_default),
    len,
    shared.append,
    lambda number: number.__class__,
    lambda number: Keeping.last,
    lambda number: eval("shared"),
    lambda number: globals(),
    lambda number: getattr(number, "seen"),  # noqa: B009
    lambda number: print(number, 1),
    lambda number: type(number, (), {}),
    lambda number: b"text".decode("user's own"),
    lambda number: "text".encode(errors="user's own"),
    lambda number: [named(number)],
]


@pytest.mark.parametrize("function", HARMFUL)
def test_what_can_reach_anything_else_is_harmful(function: Any) -> None:
    assert not is_harmless(function)


@pytest.mark.parametrize(
    "function",
    [
        named,
        lambda number: number,
        lambda number: {"a": [number, {number}], "b": f"{number:>5}"},
        lambda number: sorted((item for item in range(number)), key=lambda item: -item),
        lambda number: {item: total for item in range(3) if (total := item + number)},
        lambda pair: {**pair, "sum": sum(pair.values())},
        lambda pair: pair.setdefault("all", []).append(1) or pair,
        lambda text, times=2, *, end=("a", None): text.strip().split(",") * times + list(end),
    ],
)
def test_what_depends_on_its_arguments_alone_is_harmless(function: Any) -> None:
    assert is_harmless(function)


def test_what_a_name_stands_for_is_asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_harmless(named)
    monkeypatch.setitem(globals(), "BUCKETS", shared)
    assert not is_harmless(named)


def test_defaults_and_code_that_were_replaced_are_harmful() -> None:
    def count(pair: Any, most: Any = 3) -> Any:
        return most

    assert is_harmless(count)
    count.__defaults__ = (shared,)
    assert not is_harmless(count)
    count.__defaults__ = (3,)
    count.__code__ = of_global.__code__
    assert not is_harmless(count)


def test_plain_are_values_of_just_these_types() -> None:
    class Number(int):
        pass

    assert are_plain([1, "a", None, 2.5, True])
    assert are_plain([(1, "a"), (), (None,)])
    others: list[Any] = [Number(1), (1, Number(1)), [1], {}, b"a", (1, (2,)), (1, [])]
    for value in others:
        assert not are_plain([value])
        assert not are_plain([1, value])


def test_names_that_no_known_instruction_takes_make_code_harmful() -> None:
    code: CodeType = named.__code__
    assert harmless._global_names(code) is not None
    assert harmless._global_names(code.replace(co_names=(*code.co_names, "more"))) is None


LOOKING_HARMLESS: list[Callable[[], Callable[[Any], Any]]] = [
    lambda: named,
    lambda: lambda number: [number],
    lambda: lambda number: {"n": number},
    lambda: with_default,
    lambda: with_keyword_default,
    lambda: of_global,
    around,
]


def changed(value: Any) -> Any:
    if isinstance(value, dict):
        value["changed"] = len(value)
    else:
        value.append(len(value))
    return value


def begun_anew(new_function: Callable[[], Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return a function that has not been called yet."""
    with_default.__defaults__ = ([],)
    with_keyword_default.__kwdefaults__ = {"seen": [0]}
    shared[:] = [0]
    return new_function()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 99), min_size=1, max_size=80),
    st.sampled_from(LOOKING_HARMLESS),
    st.booleans(),
    st.sampled_from([1, 7, 8, 20, 1024]),
)
def test_results_are_what_one_record_after_the_other_gives(
    numbers: list[int],
    new_function: Callable[[], Callable[[Any], Any]],
    crosses: bool,
    block_size: int,
) -> None:
    """Functions that look alike, harmless or not, and one that changes what it is given."""
    function = begun_anew(new_function)
    wanted = [
        repr(changed(copy.deepcopy(result) if crosses else result))
        for result in map(function, numbers)
    ]

    env = local_environment()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    source = TestingSource([numbers], block_size=block_size)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    stream = stream.map(begun_anew(new_function))
    if crosses:
        stream = stream.key_by(lambda value: 1)

    assert collect({"found": stream.map(changed).map(repr)})["found"] == wanted


def test_what_harmless_functions_make_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[Any] = []

    def counting(value: Any) -> Any:
        copies.append(value)
        return copy.deepcopy(value)

    for name in ("objects.unshared.copied_if_plain", "exchange.partitioners.copied_if_possible"):
        monkeypatch.setattr(f"penstock.runtime.{name}", counting)
    env = local_environment()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    numbers = env.from_source(
        TestingSource([[1], [*range(500)]]), WatermarkStrategy.no_watermarks(), "numbers"
    )

    found = collect({"found": numbers.map(named).key_by(lambda value: value["bucket"]).map(repr)})[
        "found"
    ]

    assert sorted(found[1:]) == sorted(repr(named(number)) for number in range(500))
    assert len(copies) < 100


def test_a_key_selector_changes_the_records_of_its_own_branch_only() -> None:
    env = local_environment()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    source = TestingSource([[*range(100)]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(named)
    keyed = numbers.key_by(lambda value: value.pop("bucket"))

    found = collect({"others": numbers.rebalance().map(len), "keyed": keyed.map(len)})

    assert found == {"others": [3] * 100, "keyed": [2] * 100}


@given(st.lists(st.integers() | st.text() | st.tuples(st.integers()), min_size=1, max_size=3))
def test_what_gets_items_by_plain_names_is_harmless(names: list[Any]) -> None:
    assert is_harmless(itemgetter(*names))
    assert not is_harmless(itemgetter(*names, slice(1)))
    assert not is_harmless(attrgetter("a"))
