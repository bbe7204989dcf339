from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.objects.test_mutability import Extended, Late, Link, Thing, everything_in, values
from tests.runtime.task.test_chain import Built, line

from penstock.runtime.exchange.elements import Block
from penstock.runtime.objects.mutability import IMMUTABLE_TYPES, copied, is_immutable
from penstock.runtime.objects.unshared import is_unshared, to_wait
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import FlatMapOperator, MapOperator
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator


class TestIsUnshared:
    @settings(max_examples=200, deadline=None)
    @given(values(holds_itself=False), st.integers(0, 255))
    def test_nobody_else_has_anything_that_can_be_changed_in_it(
        self, given_value: Any, number: int
    ) -> None:
        value = copied(given_value)
        del given_value
        if not is_unshared(value, IMMUTABLE_TYPES, 1):
            return
        assert type(value) in (list, dict, tuple, set)
        parts = [part for part in everything_in(value) if not is_immutable(part)]
        if not parts:
            return
        keeper = [parts[number % len(parts)]]
        del parts
        assert not is_unshared(value, IMMUTABLE_TYPES, 1)
        del keeper
        assert is_unshared(value, IMMUTABLE_TYPES, 1)

    @pytest.mark.parametrize(
        "new",
        [
            list,
            lambda: {"a": 1, "b": "c"},
            lambda: {"a": [1, {"b": (1, [2])}], "c": {1, 2}},
            lambda: ([1], 2),
            lambda: json.loads('{"a": [1, {"b": null}], "c": {"d": "e"}}'),
            lambda: {"a": Link(1), "b": [Late]},
        ],
    )
    def test_what_was_just_made_is_nobody_elses(self, new: Callable[[], Any]) -> None:
        value = new()
        assert is_unshared(value, IMMUTABLE_TYPES, 1)
        other = value
        assert not is_unshared(value, IMMUTABLE_TYPES, 1)
        assert is_unshared(other, IMMUTABLE_TYPES, 2)

    @pytest.mark.parametrize("shared", [[1], {"a": 1}, {1}, ([1],), Thing(1), bytearray(b"a")])
    def test_what_is_deep_inside_counts(self, shared: Any) -> None:
        assert not is_unshared({"a": [1, (2, {"b": shared})]}, IMMUTABLE_TYPES, 0)
        assert not is_unshared(({"b": shared}, 1), IMMUTABLE_TYPES, 0)

    def test_what_holds_the_same_twice_or_itself_is_shared(self) -> None:
        inner = [1]
        value: list[Any] = [inner, inner]
        del inner
        assert not is_unshared(value, IMMUTABLE_TYPES, 1)
        value = []
        value.append(value)
        assert not is_unshared(value, IMMUTABLE_TYPES, 1)

    def test_weak_references_count(self) -> None:
        value = {1, 2}
        assert is_unshared(value, IMMUTABLE_TYPES, 1)
        reference = weakref.ref(value)
        assert not is_unshared(value, IMMUTABLE_TYPES, 1)
        assert reference() is value

    def test_a_key_that_can_be_changed_counts(self) -> None:
        assert not is_unshared({Thing(1): 1}, IMMUTABLE_TYPES, 0)

    def test_other_objects_are_taken_for_shared(self) -> None:
        assert not is_unshared(Thing(1), IMMUTABLE_TYPES, 0)
        assert not is_unshared(Extended(), IMMUTABLE_TYPES, 0)


def test_what_waits_is_the_result_itself_a_copy_or_nothing() -> None:
    lock = [threading.Lock()]
    for may_copy in (False, True):
        fresh: dict[str, Any] = {"a": [1]}
        assert to_wait(fresh, 1, may_copy=may_copy) == ({"a": [1]}, True)
        fresh["b"] = 2j
        assert to_wait(fresh, 1, may_copy=may_copy) == ({"a": [1], "b": 2j}, False)
        shared = fresh
        found = to_wait(shared, 1, may_copy=may_copy)
        assert found == ((shared, False) if may_copy else None)
        assert found is None or found[0] is not shared
        assert to_wait(lock, 1, may_copy=may_copy) is None


def making(keeps: str) -> Callable[..., Any]:
    """Return what makes a dict around a list, and keeps one of these, or neither."""
    kept: list[Any] = []

    def make(number: int) -> Any:
        value = {"numbers": [number]}
        if keeps == "the list":
            kept.append(value["numbers"])
        elif keeps == "the dict":
            kept.append(value)
        return value

    return make


def mapping(keeps: str) -> StreamOperator:
    return MapOperator(making(keeps))


def flat_mapping(keeps: str) -> StreamOperator:
    make = making(keeps)
    return FlatMapOperator(lambda number: (make(number) for _ in "1"))


def processing(keeps: str, kind: type[Any] = ProcessOperator) -> StreamOperator:
    make = making(keeps)
    return kind(lambda number, _: (make(number) for _ in "1"))  # type: ignore[no-any-return]


def processing_alone(keeps: str) -> StreamOperator:
    class Alone(ProcessOperator):
        """Of another type, with a loop of its own."""

    return processing(keeps, Alone)


def processing_by_key(keeps: str) -> StreamOperator:
    return processing(keeps, KeyedProcessOperator)


def reducing(keeps: str) -> StreamOperator:
    make = making(keeps)
    return ReduceOperator(lambda before, number: make(number))


@pytest.mark.parametrize("keeps", ["nothing", "the dict", "the list"])
@pytest.mark.parametrize(
    "kind",
    [mapping, flat_mapping, processing, processing_alone, processing_by_key, reducing],
)
def test_results_wait_for_others_only_if_nobody_else_has_them(
    kind: Callable[[str], StreamOperator], keeps: str
) -> None:
    built = Built(line(kind(keeps)))
    built.chain.open()
    for operator in built.chain.operators:
        operator.begin_epoch(None)  # type: ignore[arg-type]
    built.chain.process(Block([1, 2, 3, 4], None, [1, 1, 1, 1]))

    lengths = [len(block) for block in built.left[0].blocks()]
    assert built.left[0].values()[1:] == [{"numbers": [number]} for number in (2, 3, 4)]
    assert lengths == ([4] if keeps == "nothing" else [1, 1, 1, 1])
