from __future__ import annotations

import pytest

from penstock.common import WatermarkStrategy
from penstock.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.graph.stream_graph import StreamNode
from penstock.graph.watermarks import hold_back_watermarks
from penstock.testing import local_environment

TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r)


def source(env: StreamExecutionEnvironment, name: str) -> DataStream:
    return env.from_collection([1]).name(name)


def timed(stream: DataStream, name: str, strategy: WatermarkStrategy = TIMES) -> DataStream:
    return stream.assign_timestamps_and_watermarks(strategy).name(name)


def held(env: StreamExecutionEnvironment, *unordered: str) -> tuple[set[str], set[str]]:
    """Return who holds watermarks back, and which sources were asked about."""
    graph = env.get_stream_graph("job")
    asked = set()

    def is_unordered(node: StreamNode) -> bool:
        name = node.name.removeprefix("Source: ")
        asked.add(name)
        return name in unordered

    hold_back_watermarks(graph, is_unordered)
    nodes = graph.nodes.values()
    return {node.name for node in nodes if getattr(node.operator, "holds_back", False)}, asked


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    """A program with two sources, one of them far above what makes its watermarks."""
    env = local_environment()
    far = timed(source(env, "files").map(abs).key_by(lambda r: r).map(abs), "of files")
    near = timed(source(env, "one file"), "of one file")
    timed(far.union(near), "of both").print()
    return env


def test_all_that_is_behind_a_source_without_order_waits(env: StreamExecutionEnvironment) -> None:
    assert held(env, "files")[0] == {"of files", "of both"}
    assert held(env, "one file")[0] == {"of one file", "of both"}
    assert held(env)[0] == set()


def test_in_batch_mode_there_is_nothing_to_hold_back(env: StreamExecutionEnvironment) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert held(env, "files") == (set(), set())


def test_sources_are_asked_about_only_where_there_are_watermarks() -> None:
    env = local_environment()
    timed(source(env, "a"), "none", WatermarkStrategy.no_watermarks()).print()
    source(env, "b").print()
    assert held(env, "a", "b") == (set(), set())
