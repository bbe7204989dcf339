from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import FunctionNotSerializableError
from penstock.graph.unpicklable import pickle_by_value
from penstock.runtime.operators.function_operator import MapOperator

LOCK_REASON = "is a lock (cannot pickle '_thread.lock' object)."


def explained(value: Any) -> str:
    with pytest.raises(FunctionNotSerializableError) as caught:
        pickle_by_value(value, "It")
    said = str(caught.value).partition("\n")[0]
    return said.removeprefix("It cannot be pickled, so that no worker could run it: ")


class Counter:
    def __init__(self) -> None:
        self.count = 0
        self.parts = {"first": [1, threading.Lock()]}

    def map(self, value: int) -> int:
        return value + self.count


def with_lock(lock: Any) -> Callable[[int], Any]:
    return lambda value: (value, lock)


def test_a_variable_of_a_closure() -> None:
    assert explained(with_lock(threading.Lock())) == f"variable 'lock' {LOCK_REASON}"


def test_a_default_value() -> None:
    lock = threading.Lock()
    assert explained(lambda value, own=lock: own) == f"default value 'own' {LOCK_REASON}"


def test_an_attribute_of_a_users_object_inside_an_operator() -> None:
    expected = f"attribute 'parts', item 'first', item 1 {LOCK_REASON}"
    assert explained(MapOperator(Counter())) == expected


def test_a_bound_method() -> None:
    expected = f"attribute 'parts', item 'first', item 1 {LOCK_REASON}"
    assert explained(Counter().map) == expected


def test_a_partial_function() -> None:
    function = functools.partial(with_lock, threading.Lock())
    assert explained(function) == f"item 0 {LOCK_REASON}"
    function = functools.partial(with_lock, lock=threading.Lock())
    assert explained(function) == f"item 'lock' {LOCK_REASON}"


def test_a_global_variable_and_a_method_of_the_users_script() -> None:
    script = {"__name__": "__main__", "client": threading.Lock()}
    exec("class Ask:\n    def map(self, value):\n        return client, value\n", script)
    ask: Any = script["Ask"]
    assert explained(ask()) == f"method 'map', global variable 'client' {LOCK_REASON}"


def test_the_value_itself() -> None:
    assert explained(threading.Lock()) == "cannot pickle '_thread.lock' object"


def test_a_variable_without_a_value_does_not_hide_the_reason() -> None:
    def function(value: int) -> Any:
        return later, lock

    lock = threading.Lock()
    assert explained(function) == "cannot pickle '_thread.lock' object"
    later = 1


def test_an_object_that_contains_itself() -> None:
    counter = Counter()
    counter.parts["self"] = [counter]
    assert LOCK_REASON in explained(counter)


class FakeSession:
    """Of a module of Spark's, and cannot be pickled."""

    __module__ = "pyspark.sql.session"

    def __init__(self) -> None:
        self._lock = threading.RLock()


def test_what_is_of_spark_is_told_to_be_no_use_in_a_function() -> None:
    spark = FakeSession()

    with pytest.raises(FunctionNotSerializableError) as caught:
        pickle_by_value(lambda number: (spark, number), "Operator 'Map'")

    assert caught.value.message.endswith(
        "variable 'spark' is a FakeSession, which cannot be used in a function."
    )
    assert "from_data_frame()" in str(caught.value.hint)


def test_a_session_of_spark_connect_cannot_be_used_either_though_it_can_be_pickled() -> None:
    client = pytest.importorskip("pyspark.sql.connect.session", exc_type=ImportError)
    spark = client.SparkSession.__new__(client.SparkSession)
    spark._session_id = "one"

    with pytest.raises(FunctionNotSerializableError) as caught:
        pickle_by_value(lambda number: (spark, number), "Operator 'Map'")

    assert caught.value.message.endswith(
        "variable 'spark' is a SparkSession, which cannot be used in a function."
    )


def test_an_abbreviation_has_its_article() -> None:
    assert "'lock' is an RLock (" in explained(with_lock(threading.RLock()))
