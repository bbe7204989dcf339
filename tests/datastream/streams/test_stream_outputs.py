from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Configuration
from penstock.datastream import SinkFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import SparkSink
from penstock.datastream.streams import stream_outputs
from penstock.errors import (
    InvalidArgumentError,
    InvalidFunctionError,
    NoSinkError,
    UnsupportedOperationError,
    UserFunctionError,
    ValueNotSerializableError,
)
from penstock.runtime.operators.prepared_sink import PreparedSinkOperator
from penstock.testing import local_environment

TAKEN: list[Any] = []


class Take(SinkFunction):
    def open(self, runtime_context: Any) -> None:
        self.name = runtime_context.get_task_name()

    def invoke(self, value: Any) -> None:
        TAKEN.append((self.name, value))

    def close(self) -> None:
        TAKEN.append("closed")


def take(value: Any) -> None:
    TAKEN.append(value)


@pytest.mark.parametrize(
    ("identifier", "parallelism", "expected"),
    [
        (None, 1, ["a", "b"]),
        ("letter", 1, ["letter> a", "letter> b"]),
        (None, 2, ["1> a", "2> b"]),
        ("letter", 2, ["letter:1> a", "letter:2> b"]),
    ],
)
def test_print(
    capsys: pytest.CaptureFixture[str],
    identifier: str | None,
    parallelism: int,
    expected: list[str],
) -> None:
    env = local_environment(parallelism)
    env.from_collection(["a", "b"]).rebalance().print(identifier)
    env.execute()
    assert sorted(capsys.readouterr().out.splitlines()) == expected


def test_add_sink_takes_callables_and_sink_functions() -> None:
    TAKEN.clear()
    env = local_environment()
    env.from_collection([1, 2]).add_sink(take)
    env.execute()
    env.from_collection([3]).add_sink(Take()).name("mine")
    env.execute()
    assert TAKEN == [1, 2, ("Sink: mine", 3), "closed"]


def test_add_sink_refuses_what_cannot_be_called() -> None:
    with pytest.raises(InvalidFunctionError, match=r"^add_sink\(\) was given 3"):
        local_environment().from_collection([1]).add_sink(3)  # type: ignore[arg-type]


def test_what_a_sink_raises_names_the_record() -> None:
    env = local_environment()
    env.from_collection([1, 0]).add_sink(lambda value: 1 // value).name("mine")
    with pytest.raises(UserFunctionError) as caught:
        env.execute()
    assert (caught.value.operator, caught.value.record) == ("Sink: mine", "0")


def test_sink_to_takes_sinks_alone() -> None:
    env = local_environment()
    stream = env.from_collection([1])
    with pytest.raises(InvalidArgumentError, match="which is no sink"):
        stream.sink_to(print)  # type: ignore[arg-type]
    sink = SparkSink(schema="n long", path="somewhere")
    stream.sink_to(sink)
    (node,) = (node for node in env.get_stream_graph().nodes.values() if node.is_sink)
    assert node.name == "Sink: Writer"
    assert isinstance(node.operator, PreparedSinkOperator)
    assert (node.operator.sink, node.operator.schema) == (sink, "n long")


def test_spark_sinks_need_spark() -> None:
    env = local_environment()
    env.from_collection([1]).sink_to(SparkSink(schema="n long", path="somewhere"))
    with pytest.raises(UnsupportedOperationError, match="Sink: Writer"):
        env.execute()


def test_execute_and_collect_runs_the_other_sinks_too() -> None:
    TAKEN.clear()
    env = local_environment()
    stream = env.from_collection([1, 2])
    stream.add_sink(take)
    assert list(stream.map(lambda n: -n).execute_and_collect("both")) == [-1, -2]
    assert TAKEN == [1, 2]
    with pytest.raises(NoSinkError):
        env.execute()


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_results_of_one_subtask_come_in_order(parallelism: int) -> None:
    stream = local_environment(parallelism).from_collection(range(3000))
    once = stream.map(lambda n: n).set_parallelism(1)
    for ordered in (stream, once, once.rebalance(), once.key_by(lambda n: n % 7), once.union()):
        assert list(ordered.execute_and_collect()) == [*range(3000)]


def test_two_collections_of_one_stream() -> None:
    stream = local_environment().from_collection([1, 2]).map(str)
    assert [*stream.execute_and_collect(), *stream.execute_and_collect()] == ["1", "2", "1", "2"]


def test_execute_and_collect_with_a_limit() -> None:
    stream = local_environment().from_collection(range(5000))
    assert stream.execute_and_collect(limit=3) == [0, 1, 2]
    assert stream.execute_and_collect("name", 1) == [0]
    assert stream.execute_and_collect(limit=9000) == [*range(5000)]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "3"])
def test_a_limit_is_a_positive_number(wrong: Any) -> None:
    env = local_environment()
    with pytest.raises(InvalidArgumentError, match="cannot be collected"):
        env.from_collection([1]).execute_and_collect(limit=wrong)
    assert list(env.transformations) == []


def test_errors_come_out_of_the_iterator_after_the_results_before_them() -> None:
    from penstock.common import WatermarkStrategy
    from penstock.testing import TestingSource

    source = TestingSource([[1, 2], [0], [3]])
    numbers = local_environment().from_source(source, WatermarkStrategy.no_watermarks(), "n")
    iterator = numbers.map(lambda n: 6 // n).execute_and_collect()
    assert [next(iterator), next(iterator)] == [6, 3]
    with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
        next(iterator)
    assert list(iterator) == []


def test_results_that_cannot_be_pickled_are_named() -> None:
    stream = local_environment().from_collection([1]).map(lambda n: (x for x in [n]))
    with pytest.raises(ValueNotSerializableError, match="Map"):
        list(stream.execute_and_collect())


def spark_environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(
        Configuration().set_string("execution.target", "spark"), spark=FakeSession()
    )


class FakeSession:
    createDataFrame = None  # noqa: N815 - Spark's


def test_to_data_frame_hands_the_program_up_to_the_stream_to_spark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[Any, ...]] = []
    asked_for = []

    class Executor:
        def to_data_frame(self, *arguments: Any) -> str:
            calls.append(arguments)
            return "frame"

    def executor_for(target: str) -> Executor:
        asked_for.append(target)
        return Executor()

    monkeypatch.setattr(stream_outputs, "executor_for", executor_for)
    env = spark_environment()
    stream = env.from_collection([1]).map(str)
    stream.print()
    assert stream.to_data_frame("text string") == "frame"
    ((request, collect_id, schema),) = calls
    assert asked_for == ["spark"]
    assert schema == "text string"
    assert isinstance(request.engine, FakeSession)
    names = [node.name for node in request.graph.nodes.values()]
    assert names == ["Source: Collection Source", "Map", "Sink: DataFrame"]
    (sink,) = (node for node in request.graph.nodes.values() if node.is_sink)
    assert sink.operator._collect_id == collect_id
    assert [operator.name for operator in env.transformations] == ["Map", "Sink: Print to Std. Out"]


def test_to_data_frame_needs_spark_and_an_end() -> None:
    with pytest.raises(UnsupportedOperationError, match=r"execution\.target is 'local'"):
        local_environment().from_collection([1]).to_data_frame("n long")
    with pytest.raises(UnsupportedOperationError, match="never ends"):
        spark_environment().socket_text_stream("localhost", 9999).to_data_frame("line string")
