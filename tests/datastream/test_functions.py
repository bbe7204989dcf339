from __future__ import annotations

import inspect

import pytest

from penstock.datastream import functions
from penstock.datastream.functions import (
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
from penstock.runtime.operators.process import ProcessContext
from penstock.testing import local_environment

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
    assert isinstance(ProcessContext(), ProcessFunction.Context)
    assert isinstance(ProcessContext(), KeyedProcessFunction.Context)


def test_everything_is_exported() -> None:
    defined = {kind.__name__ for kind in ABSTRACT}
    assert {*defined, "Function", "RuntimeContext"} == set(functions.__all__)


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
