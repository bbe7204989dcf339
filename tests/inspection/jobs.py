"""A job that remembers something of every kind, run in this process on a checkpoint location."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from penstock.common import Configuration, Time, Types, WatermarkStrategy
from penstock.datastream import (
    BroadcastProcessFunction,
    DataStream,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    RuntimeContext,
    StateTtlConfig,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.errors import UserFunctionError
from penstock.testing import TestingSource, local_environment

DEADLY = ("deadly", 0)
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def environment(
    location: str, *, backend: str = "hashmap", parallelism: int = 2
) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", location)
    configuration.set_string("state.backend.type", backend)
    env = local_environment(parallelism)
    env.configure(configuration)
    return env


def source(
    env: StreamExecutionEnvironment, epochs: Iterable[Sequence[Any]], name: str = "records"
) -> DataStream:
    return env.from_source(TestingSource(epochs), WatermarkStrategy.no_watermarks(), name)


class Remember(KeyedProcessFunction):
    """Keeps each record in states of all kinds, and sets timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        pickled = Types.PICKLED_BYTE_ARRAY()
        self.value = runtime_context.get_state(ValueStateDescriptor("value", pickled))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", pickled))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", pickled, pickled))
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())
        )
        descriptor = ValueStateDescriptor("seen", Types.STRING())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        self.seen = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        _, found = value
        self.value.update(found)
        self.list.add(found)
        self.map.put(found, "kept")
        self.sum.add(1)
        self.seen.update("yes")
        ctx.timer_service().register_event_time_timer(1_000)
        ctx.timer_service().register_processing_time_timer(2**42)
        return ()


class Rules(BroadcastProcessFunction):
    """Keeps what is broadcast."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return ()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        return ()


def run(env: StreamExecutionEnvironment, stream: DataStream, name: str = "job") -> None:
    stream.print()
    env.execute(name)


def remember(
    location: str,
    epochs: Iterable[Sequence[tuple[Any, Any]]],
    *,
    key: Callable[[Any], Any] = lambda record: record[0],
    backend: str = "hashmap",
    parallelism: int = 2,
) -> None:
    """Run a job that remembers records, pairs of a key and what is kept for it; its last epoch is empty."""
    env = environment(location, backend=backend, parallelism=parallelism)
    stream = source(env, [*epochs, []]).key_by(key).process(Remember()).uid("memory").name("Memory")
    run(env, stream)


class KilledError(Exception):
    """Stands for the end of the process."""


def remember_until_killed(
    location: str, epochs: Iterable[Sequence[tuple[Any, Any]]], *, parallelism: int
) -> None:
    """Run the job of `remember` until all epochs are committed; it dies in the one after."""

    def die(record: tuple[Any, Any]) -> tuple[Any, Any]:
        if record == DEADLY:
            raise KilledError
        return record

    env = environment(location, parallelism=parallelism)
    stream = source(env, [*epochs, [DEADLY], []]).map(die).key_by(lambda record: record[0])
    with pytest.raises(UserFunctionError, match="KilledError"):
        run(env, stream.process(Remember()).uid("memory").name("Memory"))
