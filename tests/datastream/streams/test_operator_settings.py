from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.datastream import DataStream, OutputTag
from penstock.errors import (
    InvalidArgumentError,
    InvalidParallelismError,
    UnsupportedOperationError,
)
from penstock.graph.job_graph import create_job_graph
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.operator import ChainingStrategy
from penstock.testing import local_environment

SETTINGS: dict[str, tuple[Any, ...]] = {
    "name": ("x",),
    "uid": ("x",),
    "set_uid_hash": ("0" * 32,),
    "set_parallelism": (1,),
    "set_max_parallelism": (1,),
    "force_non_parallel": (),
    "set_buffer_timeout": (1,),
    "start_new_chain": (),
    "disable_chaining": (),
    "slot_sharing_group": ("x",),
    "set_description": ("x",),
}
OF_SINKS = [
    name
    for name in SETTINGS
    if name
    not in {"set_max_parallelism", "force_non_parallel", "set_buffer_timeout", "start_new_chain"}
]


def mapped() -> DataStream:
    return local_environment(parallelism=2).from_collection([1]).map(str)


def node(stream: DataStream, name: str) -> StreamNode:
    stream.print()
    graph = stream.get_execution_environment().get_stream_graph()
    (found,) = (node for node in graph.nodes.values() if node.name == name)
    return found


@pytest.mark.parametrize("method", SETTINGS)
def test_settings_return_the_stream(method: str) -> None:
    stream = mapped()
    assert getattr(stream, method)(*SETTINGS[method]) is stream


@pytest.mark.parametrize("method", OF_SINKS)
def test_settings_of_sinks_return_the_sink(method: str) -> None:
    sink = mapped().print()
    assert getattr(sink, method)(*SETTINGS[method]) is sink


VIEWS: dict[str, Callable[[DataStream], DataStream]] = {
    "key_by": lambda stream: stream.key_by(len),
    "rebalance": lambda stream: stream.rebalance(),
    "union": lambda stream: stream.union(stream),
    "side output": lambda stream: stream.get_side_output(OutputTag("late")),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("method", [*SETTINGS, "get_name"])
def test_what_is_no_operator_has_no_settings(method: str, view: str) -> None:
    stream = VIEWS[view](mapped())
    with pytest.raises(UnsupportedOperationError, match=rf"^{method}\(\) is about one operator"):
        getattr(stream, method)(*SETTINGS.get(method, ()))


def test_all_settings_reach_the_graph() -> None:
    stream = mapped().name("text").uid("u").set_parallelism(3).set_max_parallelism(9)
    found = node(stream.slot_sharing_group("g").set_description("to text"), "text")
    assert (found.uid, found.parallelism, found.max_parallelism) == ("u", 3, 9)
    assert (found.slot_sharing_group, found.description) == ("g", "to text")


def test_a_uid_hash_is_the_id_of_the_operator() -> None:
    stream = mapped().set_uid_hash("ABCDEF" + "0" * 26)
    stream.print()
    graph = create_job_graph(stream.get_execution_environment().get_stream_graph())
    assert "abcdef" + "0" * 26 in graph.operator_ids.values()


@pytest.mark.parametrize("wrong", ["", "0" * 31, "0" * 33, "g" * 32, None])
def test_a_uid_hash_has_32_hexadecimal_digits(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="uid hash"):
        mapped().set_uid_hash(wrong)


@pytest.mark.parametrize("method", ["name", "uid", "slot_sharing_group", "set_description"])
@pytest.mark.parametrize("wrong", ["", None, 3])
def test_texts_are_not_empty(method: str, wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"is a string that is not empty"):
        getattr(mapped(), method)(wrong)


@pytest.mark.parametrize("method", ["set_parallelism", "set_max_parallelism"])
@pytest.mark.parametrize("wrong", [0, -1, 32_769, "4", 1.5, True, None])
def test_parallelisms_out_of_range_are_refused_at_once(method: str, wrong: Any) -> None:
    with pytest.raises(InvalidParallelismError, match=r"^Operator 'Map' cannot have the "):
        getattr(mapped(), method)(wrong)
    if method == "set_parallelism":
        with pytest.raises(InvalidParallelismError):
            mapped().print().set_parallelism(wrong)


def test_an_operator_that_is_not_parallel_stays_so() -> None:
    stream = mapped().force_non_parallel()
    assert stream.set_parallelism(1) is stream
    with pytest.raises(InvalidParallelismError, match="is not parallel"):
        stream.set_parallelism(2)
    found = node(stream, "Map")
    assert (found.parallelism, found.max_parallelism) == (1, 1)


@pytest.mark.parametrize(
    ("method", "strategy"),
    [
        ("start_new_chain", ChainingStrategy.HEAD),
        ("disable_chaining", ChainingStrategy.NEVER),
        ("get_type", ChainingStrategy.ALWAYS),
    ],
)
def test_chaining(method: str, strategy: ChainingStrategy) -> None:
    stream = mapped()
    getattr(stream, method)()
    assert node(stream, "Map").chaining_strategy is strategy


@pytest.mark.parametrize("wrong", [-2, 1.5, None])
def test_buffer_timeouts_out_of_range(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="is no buffer timeout"):
        mapped().set_buffer_timeout(wrong)


def test_names_of_sources_and_sinks_have_a_prefix_in_plans_alone() -> None:
    env = local_environment()
    source = env.from_collection([1])
    assert source.get_name() == "Collection Source"
    assert source.name("numbers").get_name() == "numbers"
    source.print()
    source.print().name("out")
    names = [node.name for node in env.get_stream_graph().nodes.values()]
    assert names == ["Source: numbers", "Sink: Print to Std. Out", "Sink: out"]
