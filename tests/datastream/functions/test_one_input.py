from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import functions
from penstock.datastream.functions import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
)
from penstock.datastream.state import AggregatingStateDescriptor
from penstock.runtime.operators.keyed_process import KeyedProcessContext
from penstock.runtime.operators.process import ProcessContext
from penstock.testing import KeyedProcessFunctionHarness, local_environment

ABSTRACT = {
    MapFunction: "map(value)",
    FlatMapFunction: "flat_map(value)",
    FilterFunction: "filter(value)",
    ReduceFunction: "reduce(value1, value2)",
    KeySelector: "get_key(value)",
    Partitioner: "partition(key, num_partitions)",
    ProcessFunction: "process_element(value, ctx)",
    KeyedProcessFunction: "process_element(value, ctx)",
    SinkFunction: "invoke(value)",
}


@pytest.mark.parametrize("kind", ABSTRACT)
def test_each_class_has_one_method_to_define(kind: type[Function]) -> None:
    name, _, parameters = ABSTRACT[kind].partition("(")
    assert kind.__abstractmethods__ == {name}
    found = [*inspect.signature(getattr(kind, name)).parameters][1:]
    assert ", ".join(found) == parameters.rstrip(")")
    with pytest.raises(TypeError, match="abstract"):
        kind()


def test_functions_need_no_open_and_close() -> None:
    class Plain(Function):
        pass

    Plain().open(RuntimeContext("Map"))
    Plain().close()


def test_the_contexts_of_the_runtime_are_contexts_of_the_classes() -> None:
    assert issubclass(ProcessContext, ProcessFunction.Context)
    assert issubclass(KeyedProcessContext, KeyedProcessFunction.Context)
    assert issubclass(KeyedProcessContext, KeyedProcessFunction.OnTimerContext)


def test_everything_is_exported() -> None:
    own = {
        name
        for name in functions.__all__
        if getattr(functions, name).__module__ == f"{functions.__name__}.one_input"
    }
    assert own == {kind.__name__ for kind in ABSTRACT} | {"AggregateFunction"}


class Mean(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


def test_an_aggregate_function_has_four_methods_to_define() -> None:
    methods = {"create_accumulator", "add", "get_result", "merge"}
    assert AggregateFunction.__abstractmethods__ == methods


class RunningMean(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        self.mean = runtime_context.get_aggregating_state(descriptor)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.mean.add(value)
        yield self.mean.get()


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_an_aggregate_function_has_an_accumulator_for_each_key(backend: str) -> None:
    with KeyedProcessFunctionHarness(
        RunningMean(), lambda number: number > 9, state_backend=backend
    ) as harness:
        for number in [1, 10, 2, 3]:
            harness.process_element(number)
        assert harness.extract_output_values() == [1, 10, 1.5, 2]


CLOSED: list[str] = []


class Tell(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context

    def map(self, value: str) -> tuple[str, str, int, int, str]:
        context = self.context
        return (
            value,
            context.get_task_name_with_subtasks(),
            context.get_number_of_parallel_subtasks(),
            context.get_max_number_of_parallel_subtasks(),
            context.get_job_parameter("greeting", "none"),
        )

    def close(self) -> None:
        CLOSED.append(self.context.get_task_name())


def test_a_function_is_opened_with_what_it_may_ask_and_closed_at_the_end() -> None:
    CLOSED.clear()
    env = local_environment()
    env.get_config().set_global_job_parameters({"greeting": "hello"})
    told = env.from_collection(["a"]).map(Tell()).name("tell").set_max_parallelism(7)
    told = told.disable_chaining()
    assert list(told.execute_and_collect()) == [("a", "tell (1/1)", 1, 7, "hello")]
    assert CLOSED == ["tell"]


def test_user_metrics_come_back_with_the_result() -> None:
    class Count(FilterFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.dropped = runtime_context.get_metrics_group().counter("dropped")

        def filter(self, value: int) -> bool:
            if value % 2:
                self.dropped.inc()
            return value % 2 == 0

    env = local_environment()
    env.from_collection([1, 2, 3]).filter(Count()).name("even").add_sink(lambda _: None)
    operators = env.execute().metrics["operators"].values()
    (even,) = (operator for operator in operators if operator["name"] == "even")
    assert even["user"] == {"dropped": 2}
    assert (even["records_in"], even["records_out"]) == (3, 1)
