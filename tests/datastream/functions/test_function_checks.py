from __future__ import annotations

import functools
import operator
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from penstock.datastream.functions import (
    FilterFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    RuntimeContext,
)
from penstock.datastream.functions.function_checks import check_function, plain_callable
from penstock.errors import InvalidFunctionError
from penstock.runtime.user_code import UserFunction
from penstock.testing import local_environment


class Double(MapFunction):
    def map(self, value: int) -> int:
        return 2 * value


class Even(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 0


class DuckTyped:
    def map(self, value: int) -> int:
        return 3 * value


def generator(value: Any) -> Iterator[Any]:
    yield value


async def coroutine(value: Any) -> Any:
    return value


async def async_generator(value: Any) -> AsyncIterator[Any]:
    yield value


class AsyncCallable:
    async def __call__(self, value: Any) -> Any:
        return value


def refused(function: Any, method: str = "map", arguments: int = 1) -> str:
    with pytest.raises(InvalidFunctionError) as caught:
        check_function(function, method, arguments, f"{method}()")
    assert isinstance(caught.value, TypeError)
    assert caught.value.hint
    return str(caught.value)


@pytest.mark.parametrize(
    "function",
    [
        Double(),
        DuckTyped(),
        str,
        Path,
        abs,
        str.upper,
        "x".join,
        lambda value: value,
        lambda value, more=1: value + more,
        lambda *values: values,
        functools.partial(pow, 2),
        operator.itemgetter(0),
        np.negative,
    ],
)
def test_what_takes_one_argument_passes(function: Any) -> None:
    assert callable(UserFunction(check_function(function, "map", 1, "map()"), "map").call)


@pytest.mark.parametrize("nothing", [None, 3, "map", Even(), []])
def test_what_cannot_be_called_is_refused(nothing: Any) -> None:
    assert "cannot be called" in refused(nothing)


def test_a_class_in_place_of_an_object_is_refused() -> None:
    assert "Write Double() in place of Double." in refused(Double)


@pytest.mark.parametrize("method", ["map", "filter", "reduce", "get_key", "partition", "invoke"])
def test_a_generator_is_refused_where_one_result_is_wanted(method: str) -> None:
    assert "is a generator" in refused(generator, method)


@pytest.mark.parametrize("method", ["flat_map", "process_element"])
def test_a_generator_is_welcome_where_several_results_are(method: str) -> None:
    assert check_function(generator, method, 1, method) is generator


@pytest.mark.parametrize("method", ["map", "flat_map", "process_element"])
@pytest.mark.parametrize("function", [coroutine, async_generator, AsyncCallable()])
def test_an_asynchronous_function_is_refused(function: Any, method: str) -> None:
    assert "is asynchronous" in refused(function, method)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (lambda: None, 1, "with one argument, which "),
        (lambda a, b: (a, b), 1, "does not take: missing a required argument: 'b'"),
        (lambda a: a, 2, "with 2 arguments, which "),
        (lambda a, *, b: (a, b), 1, "missing a required "),
    ],
)
def test_a_wrong_number_of_arguments_is_refused(
    function: Any, arguments: int, expected: str
) -> None:
    assert expected in refused(function, arguments=arguments)


def test_methods_are_checked_as_functions_are() -> None:
    class NoArgument(MapFunction):
        def map(self) -> None:  # type: ignore[override]
            return None

    assert "NoArgument.map" in refused(NoArgument())


def test_a_plain_callable_is_called_itself_whatever_methods_it_has() -> None:
    added = UserFunction(check_function(np.add, "reduce", 2, "reduce()"), "reduce")
    assert added.call(3, 4) == 7
    again = cloudpickle.loads(cloudpickle.dumps(added))
    assert again.call(3, 4) == 7


def test_a_type_is_not_opened() -> None:
    env = local_environment()
    paths = env.from_collection(["a/b"]).map(Path).map(lambda path: path.name)
    assert list(paths.execute_and_collect()) == ["b"]


class Opened(KeySelector, Partitioner):
    def open(self, runtime_context: RuntimeContext) -> None:
        assert not hasattr(self, "divisor")
        self.name = runtime_context.get_task_name()
        self.divisor = 3

    def get_key(self, value: int) -> int:
        return value % self.divisor

    def partition(self, key: int, num_partitions: int) -> int:
        return key * self.divisor % num_partitions


@pytest.mark.parametrize(
    "copied", [lambda it: it, lambda it: cloudpickle.loads(cloudpickle.dumps(it))]
)
def test_a_key_selector_is_opened_before_its_first_call(copied: Callable[[Any], Any]) -> None:
    original = Opened()
    call = copied(plain_callable(original, "get_key"))
    assert [call(4), call(5)] == [1, 2]
    assert not hasattr(original, "divisor")
    assert copied(call)(7) == 1  # what was opened is not pickled


def test_a_key_selector_without_open_is_called_directly() -> None:
    class Last(KeySelector):
        def get_key(self, value: str) -> str:
            return value[-1]

    selector = Last()
    assert plain_callable(selector, "get_key") == selector.get_key
    assert plain_callable(len, "get_key") is len


def test_open_of_key_selectors_and_partitioners_in_a_program() -> None:
    env = local_environment(parallelism=2)
    numbers = env.from_collection(range(6))
    keyed = numbers.key_by(Opened()).reduce(operator.add)
    assert sorted(keyed.execute_and_collect()) == [0, 1, 2, 3, 5, 7]
    spread = numbers.partition_custom(Opened(), Opened()).map(lambda number: number)
    assert sorted(spread.execute_and_collect()) == [0, 1, 2, 3, 4, 5]
