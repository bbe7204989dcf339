from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Journal

from penstock.common.configuration import Configuration
from penstock.common.job_status import JobStatus
from penstock.common.running_job import RunningJob
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import SourceNotReadableError, UnsupportedOperationError, UserFunctionError
from penstock.executors.local import LocalExecutor
from penstock.executors.port import JobRequest
from penstock.executors.targets import executor_for
from penstock.graph.source_descriptions import FrameSource, TextFileSource
from penstock.graph.stream_graph import build_stream_graph
from penstock.graph.transformation import (
    OperatorTransformation,
    PartitionTransformation,
    Transformation,
    TransformationIds,
)
from penstock.runtime.context import RuntimeContext
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.partitioners import (
    BroadcastPartitioner,
    KeyGroupStreamPartitioner,
    StreamPartitioner,
)
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.operators.prepared_sink import PreparedSinkOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import CollectOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.source import EpochSource, NativeSource
from penstock.runtime.task.stack_room import with_room
from penstock.testing import TestingSource, local_environment


class Steps:
    """A program that is built step by step."""

    def __init__(self) -> None:
        self._ids = TransformationIds()
        self.sinks: list[Transformation] = []

    def source(self, source: Any, **options: Any) -> Transformation:
        return OperatorTransformation(
            id=self._ids(), name="Source", operator=SourceOperator(), source=source, **options
        )

    def then(
        self, step: Transformation, operator: StreamOperator, name: str = "Op", **options: Any
    ) -> Transformation:
        return OperatorTransformation(
            id=self._ids(), name=name, inputs=[step], operator=operator, **options
        )

    def partition(self, step: Transformation, partitioner: StreamPartitioner) -> Transformation:
        return PartitionTransformation(
            id=self._ids(), name="Partition", inputs=[step], partitioner=partitioner
        )

    def sink(self, step: Transformation, operator: StreamOperator, **options: Any) -> None:
        self.sinks.append(self.then(step, operator, "Sink", is_sink=True, **options))

    def start(self, collect: Any = None, **options: Any) -> RunningJob:
        options.setdefault("default_parallelism", 1)
        graph = build_stream_graph(self.sinks, job_name="job", **options)
        collectors = {"id": collect} if collect else {}
        return LocalExecutor().submit(JobRequest("job", graph, Configuration(), collectors))


def epochs_of(*epochs: list[Any]) -> EpochSource:
    return EpochSource([[Block(values)] for values in epochs])


def collected(steps: Steps, **options: Any) -> list[Any]:
    found: list[Any] = []
    steps.start(found.extend, **options).wait()
    return found


def added(one: tuple[str, int], other: tuple[str, int]) -> tuple[str, int]:
    return one[0], one[1] + other[1]


def first(value: tuple[str, int]) -> str:
    return value[0]


def test_is_what_the_target_local_means() -> None:
    assert isinstance(executor_for("local"), LocalExecutor)


records = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-9, 9)), max_size=12)


@settings(max_examples=40)
@given(st.lists(records, min_size=1, max_size=5), st.sampled_from([1, 2, 5]), st.booleans())
def test_keeps_keyed_state_from_epoch_to_epoch_wherever_they_are_cut(
    epochs: list[list[tuple[str, int]]], parallelism: int, batch: bool
) -> None:
    steps = Steps()
    keyed = steps.partition(
        steps.source(epochs_of(*epochs), parallelism=1), KeyGroupStreamPartitioner(first)
    )
    summed = steps.then(keyed, ReduceOperator(added), is_keyed=True)
    steps.sink(summed, CollectOperator("id"))

    found = collected(steps, default_parallelism=parallelism, batch=batch)

    rolling: dict[str, int] = defaultdict(int)
    expected: dict[str, list[int]] = defaultdict(list)
    for epoch in epochs:
        for key, value in epoch:
            rolling[key] += value
            expected[key].append(rolling[key])
    received: dict[str, list[int]] = defaultdict(list)
    for key, value in found:
        received[key].append(value)
    assert received == {key: values[-1:] if batch else values for key, values in expected.items()}


class Function:
    """A function that writes down what is done with it."""

    def __init__(self, journal: Journal, failing: int | None = None) -> None:
        self._journal = journal
        self._failing = failing

    def open(self, context: RuntimeContext) -> None:
        self._journal.append("open")
        context.get_metrics_group().gauge("size", lambda: 5)
        self._hits = context.get_metrics_group().counter("hits")

    def map(self, value: int) -> int:
        self._hits.inc()
        if value == self._failing:
            raise ZeroDivisionError(f"at {value}")
        return value

    def close(self) -> None:
        self._journal.append("close")


FIRST_IS_THERE = threading.Event()


class Endless(EpochSource):
    """A source that goes on after its first epoch when the client has read that."""

    epochs = 10**9

    def __init__(self, epochs: list[list[Block]]) -> None:
        """Keep the number of epochs of the class."""

    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        yield Block([epoch])
        if epoch:
            assert FIRST_IS_THERE.wait(30)


def mapped(source: NativeSource, function: Any) -> Steps:
    steps = Steps()
    steps.sink(steps.then(steps.source(source), MapOperator(function)), CollectOperator("id"))
    return steps


class TestAJob:
    def test_has_as_many_epochs_as_its_longest_source(self) -> None:
        steps = Steps()
        for epochs in ([[1], [2]], [[3], [], [4], []]):
            steps.sink(steps.source(epochs_of(*epochs)), CollectOperator("id"))
        found: list[Any] = []
        progress = steps.start(found.extend).wait()

        assert (progress.status, progress.epochs, progress.records_in) == (JobStatus.FINISHED, 4, 4)
        assert sorted(found[:2]) == [1, 3]
        assert found[2:] == [2, 4]

    def test_opens_a_function_once_and_closes_it_at_the_end(self) -> None:
        journal = Journal()

        assert collected(mapped(epochs_of([1], [2], [3]), Function(journal))) == [1, 2, 3]
        assert journal == ["open", "close"]

    def test_that_fails_tells_why_and_stops(self) -> None:
        job = mapped(epochs_of([1], [2], [3]), Function(Journal(), 2)).start(lambda values: None)

        with pytest.raises(UserFunctionError, match="ZeroDivisionError: at 2"):
            job.wait()
        assert job.progress().status is JobStatus.FAILED
        assert job.progress().epochs == 1

    def test_that_fails_closes_its_functions(self) -> None:
        journal = Journal()
        job = mapped(epochs_of([1], [2]), Function(journal, 2)).start(lambda values: None)
        with pytest.raises(UserFunctionError):
            job.wait()

        assert journal == ["open", "close"]

    def test_sums_counters_over_epochs_and_shows_gauges_as_they_are(self) -> None:
        job = mapped(epochs_of([1], [2, 3]), Function(Journal())).start(lambda values: None)
        [user] = [
            report["user"] for report in job.wait().operators.values() if report["name"] == "Op"
        ]

        assert user == {"hits": 3, "size": 5}

    def test_can_be_cancelled_between_epochs(self) -> None:
        FIRST_IS_THERE.clear()
        found: list[int] = []

        def collect(values: list[int]) -> None:
            found.extend(values)
            FIRST_IS_THERE.set()

        steps = Steps()
        steps.sink(steps.source(Endless([])), CollectOperator("id"))
        job = steps.start(collect)
        assert FIRST_IS_THERE.wait(30)
        job.cancel()
        progress = job.wait()

        assert progress.status is JobStatus.CANCELED
        assert found == list(range(progress.epochs))

    def test_leaves_no_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        steps = Steps()
        keyed = steps.partition(
            steps.source(epochs_of([("a", 1)], [("a", 2)])), KeyGroupStreamPartitioner(first)
        )
        steps.sink(steps.then(keyed, ReduceOperator(added)), CollectOperator("id"))

        assert collected(steps) == [("a", 1), ("a", 3)]
        assert list(tmp_path.iterdir()) == []

    def test_reads_text_files(self, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("one\ntwo\n")
        steps = Steps()
        steps.sink(steps.source(TextFileSource(str(tmp_path / "text"))), CollectOperator("id"))

        assert collected(steps) == ["one", "two"]


def changed(value: dict[str, int]) -> dict[str, int]:
    value["n"] += 1
    return value


def test_subtasks_do_not_share_the_values_that_they_are_sent() -> None:
    steps = Steps()
    copies = steps.partition(
        steps.source(epochs_of([{"n": 1}]), parallelism=1), BroadcastPartitioner()
    )
    steps.sink(steps.then(copies, MapOperator(changed)), CollectOperator("id"))

    assert collected(steps, default_parallelism=3) == [{"n": 2}] * 3


class TestWhatNeedsSpark:
    def test_is_refused_before_the_job_starts(self) -> None:
        steps = Steps()
        steps.sink(steps.source(FrameSource(None)), CollectOperator("id"))

        with pytest.raises(UnsupportedOperationError) as raised:
            steps.start()
        assert raised.value.message.startswith("'Source' is read by Spark")
        assert "execution.target" in str(raised.value.hint)

    def test_may_be_a_sink(self) -> None:
        steps = Steps()
        steps.sink(steps.source(epochs_of([1])), PreparedSinkOperator(None))

        with pytest.raises(UnsupportedOperationError, match="'Sink' writes with Spark"):
            steps.start()


def test_a_file_that_is_not_there_is_told_before_the_job_starts(tmp_path: Path) -> None:
    steps = Steps()
    steps.sink(steps.source(TextFileSource(str(tmp_path / "gone"))), CollectOperator("id"))

    with pytest.raises(SourceNotReadableError, match="gone"):
        steps.start()


@pytest.mark.parametrize("has_location", [False, True])
def test_state_waits_for_the_disk_only_if_a_job_can_go_on_from_it(
    has_location: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    configuration = Configuration().set_string("execution.target", "local")
    if has_location:
        configuration.set_string("execution.checkpointing.dir", str(tmp_path))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    source = TestingSource([[1, 2], [3]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")

    assert list(numbers.key_by(lambda _: 0).sum().execute_and_collect()) == [1, 3, 6]
    assert bool(synced) == has_location


def test_functions_are_called_with_room_for_a_deep_stack() -> None:
    def is_inside(_: int) -> bool:
        frame = sys._getframe()
        while frame.f_back is not None and frame.f_code is not with_room.__code__:
            frame = frame.f_back
        return frame.f_code is with_room.__code__

    stream = local_environment().from_collection([1]).map(is_inside)

    assert list(stream.execute_and_collect()) == [True]
