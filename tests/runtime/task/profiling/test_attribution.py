from __future__ import annotations

import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.cost import Cost
from penstock.datastream import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    RuntimeContext,
    StateBackend,
    ValueStateDescriptor,
)
from penstock.runtime.task.profiling.attribution import attribute
from penstock.testing import TestingSource, local_environment

Found = set[tuple[str, Cost]]


def work_on(value: int) -> int:
    return value + 1


def work_deeply(value: int) -> int:
    return work_on(value)


@contextmanager
def watched(kinds: tuple[str, ...] = ("return", "c_call")) -> Iterator[Found]:
    """Attribute every frame of the threads that begin here, when it returns or calls what is in C."""
    found: Found = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event in kinds:
            found.add(attribute(frame))

    threading.setprofile(look)
    try:
        yield found
    finally:
        threading.setprofile(None)


def costs_by_name(build: Callable[[Any], Any], **more: Any) -> dict[str, set[Cost]]:
    """Run a program over some numbers, and return for each operator the costs that its frames show."""
    env = local_environment(**more)
    build(env.from_collection(list(range(20)), Types.INT())).add_sink(lambda _: None)
    rows = env.explain(analyze=True)
    assert rows.profile is not None
    env = local_environment(**more)
    build(env.from_collection(list(range(20)), Types.INT())).add_sink(lambda _: None)
    with watched() as found:
        env.execute()
    names = {row.operator_id: row.name for row in rows.profile.operators}
    by_name: dict[str, set[Cost]] = {}
    for operator_id, cost in found:
        by_name.setdefault(names.get(operator_id, ""), set()).add(cost)
    return by_name


def test_functions_of_a_fused_chain_are_told_apart() -> None:
    found = costs_by_name(
        lambda numbers: (
            numbers.map(work_on)
            .name("first")
            .map(work_deeply)
            .name("second")
            .map(str)
            .name("third")
        )
    )
    assert all(Cost.USER in found[name] for name in ("first", "second", "third"))
    assert Cost.FRAMEWORK in found["Source: Collection Source"]
    assert Cost.USER not in found["Source: Collection Source"]


def test_a_function_by_itself() -> None:
    found = costs_by_name(lambda numbers: numbers.map(work_on).name("first").key_by(work_on).sum())
    assert Cost.USER in found["first"]
    assert {Cost.EXCHANGE, Cost.SERIALIZATION} <= found["first"]


@pytest.mark.parametrize("function", [json.dumps, work_deeply], ids=["library", "python"])
def test_what_the_function_calls_is_the_functions(function: Callable[[Any], Any]) -> None:
    # The result is dropped, so that nothing but the function works on it.
    found = costs_by_name(lambda numbers: numbers.map(function).name("dumped").disable_chaining())
    assert Cost.USER in found["dumped"]


class Counting(KeyedProcessFunction):
    def open(self, context: RuntimeContext) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value)
        yield value


@pytest.mark.parametrize("backend", [HashMapStateBackend(), EmbeddedRocksDBStateBackend()])
def test_state_is_the_cost_of_the_operator_that_has_it(backend: StateBackend) -> None:
    env = local_environment()
    env.set_state_backend(backend)
    numbers = env.from_collection(list(range(20)), Types.INT())
    numbers.key_by(work_on).process(Counting()).add_sink(lambda _: None)
    with watched() as found:
        env.execute()
    owners = {operator for operator, cost in found if cost is Cost.STATE}
    users = {operator for operator, cost in found if cost is Cost.USER}
    assert owners - {""}
    assert owners - {""} <= users


class Pickled:
    """A value that says, when it is pickled, what the thread is found at."""

    seen: list[tuple[str, Cost]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        Pickled.seen.append(attribute(sys._getframe()))
        return (Pickled, ())


def test_pickling_is_serialization_also_in_code_of_the_users() -> None:
    Pickled.seen.clear()
    env = local_environment()
    numbers = env.from_collection([1], Types.INT()).map(lambda _: Pickled()).name("made")
    numbers.rebalance().map(str).add_sink(lambda _: None)
    env.execute()
    assert {cost for _, cost in Pickled.seen} == {Cost.SERIALIZATION}
    assert all(operator for operator, _ in Pickled.seen)


@contextmanager
def calls_watched() -> Iterator[dict[str, list[tuple[str, Cost]]]]:
    """Attribute the frames of `work_on` when they begin and when they end."""
    found: dict[str, list[tuple[str, Cost]]] = {"call": [], "return": []}

    def look(frame: FrameType, event: str, _: Any) -> None:
        if frame.f_code is work_on.__code__:
            found[event].append(attribute(frame))

    threading.setprofile(look)
    try:
        yield found
    finally:
        threading.setprofile(None)


def test_what_begins_in_a_fused_chain_comes_from_the_call_before() -> None:
    env = local_environment()
    env.from_collection([1, 2], Types.INT()).map(work_on).map(work_on).add_sink(work_on)
    with calls_watched() as found:
        ids = list(env.execute().metrics["operators"])
    one, two, three = (key for key in ids if (key, Cost.USER) in found["return"])
    assert found["return"] == [(one, Cost.USER), (two, Cost.USER), (three, Cost.USER)] * 2
    assert found["call"] == [(one, Cost.FRAMEWORK), (one, Cost.USER), (two, Cost.USER)] * 2


def test_what_begins_elsewhere_comes_from_the_loop_that_calls() -> None:
    env = local_environment()
    env.from_collection([1, 2], Types.INT()).add_sink(work_on)
    with calls_watched() as found:
        env.execute()
    assert [cost for _, cost in found["call"]] == [Cost.FRAMEWORK] * 2
    assert [cost for _, cost in found["return"]] == [Cost.USER] * 2


def test_snapshots_are_no_ones_else(tmp_path: Any) -> None:
    env = local_environment()
    settings = Configuration().set_string("execution.checkpointing.dir", str(tmp_path / "job"))
    env.configure(settings)
    source = TestingSource([[1, 2], [3, 4]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(work_on).process(Counting()).add_sink(lambda _: None)
    with watched() as found:
        env.execute()
    assert Cost.SNAPSHOT in {cost for _, cost in found}


def test_without_frames_of_penstocks_it_is_waiting_for_spark() -> None:
    assert attribute(None) == ("", Cost.EXCHANGE)
    assert attribute(sys._getframe()) == ("", Cost.EXCHANGE)
    assert pickle.loads(pickle.dumps(Cost.USER)) is Cost.USER
