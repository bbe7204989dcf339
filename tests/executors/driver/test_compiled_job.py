from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Configuration, Encoder, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.executors.driver.compiled_job import compile_job
from penstock.executors.driver.publishing import PublishedSink
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.sinks import CommitContext, Committer
from penstock.testing import TestingSource, local_environment


class Nowhere(Committer):
    def commit(self, committables: list[Any], context: CommitContext) -> None:
        raise AssertionError


def numbers(env: StreamExecutionEnvironment, *epochs: list[int]) -> None:
    source = TestingSource(epochs)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").print()


@pytest.mark.parametrize(("epochs", "has_epochs"), [(([1],), False), (([1], [2]), True)])
def test_epochs_of_bounded_sources_are_counted(
    epochs: tuple[list[int], ...], *, has_epochs: bool
) -> None:
    env = local_environment()
    env.from_collection([1]).print()
    numbers(env, *epochs)
    job = compile_job(env.create_job_request(), "job", lambda node: False)
    assert job.bounded == {0: 1, 1: len(epochs)}
    assert job.native.keys() == {0, 1}
    assert (job.is_streaming, job.has_epochs) == (False, has_epochs)


@pytest.mark.parametrize("ends", [True, False])
def test_what_the_engine_reads_streams_unless_it_ends(*, ends: bool) -> None:
    env = local_environment()
    env.from_collection([1]).print()
    env.read_text_file("lines").print()
    request = env.create_job_request()
    lines = next(node.id for node in request.graph.nodes.values() if "Text" in node.name)
    job = compile_job(request, "job", lambda node: False, read_by_engine={lines: ends})
    assert job.native.keys() == {0}
    assert job.bounded == ({0: 1, 1: 1} if ends else {0: 1})
    assert job.is_streaming is job.has_epochs is not ends


def test_sinks_are_those_of_the_driver_and_of_the_engine(tmp_path: Any) -> None:
    env = local_environment()
    env.from_collection(["a"]).sink_to(
        FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()
    )
    job = compile_job(
        env.create_job_request(),
        "job",
        lambda node: False,
        other_sinks=lambda graph: {"x": PublishedSink("X", Nowhere())},
    )
    [own] = job.sinks.keys() - {"x"}
    assert own in job.graph.operator_ids.values()
    assert job.sinks["x"].name == "X"


def test_watermarks_wait_where_rows_come_in_no_order() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    env.from_source(TestingSource([[1]]), strategy, "numbers").print()
    asked: list[str] = []

    def is_unordered(node: StreamNode) -> bool:
        asked.append(node.name)
        return True

    job = compile_job(env.create_job_request(), "job", is_unordered)
    assert asked == ["Source: numbers"]
    assert isinstance(operator := job.graph.sources[0].operator, SourceOperator)
    assert operator.holds_back
