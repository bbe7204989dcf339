from __future__ import annotations

import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import given
from tests.runtime.programs import Harness
from tests.runtime.strategies import blocks

import penstock
from penstock.runtime.exchange.elements import Block, WatermarkStatus
from penstock.runtime.operator import ChainingStrategy, StreamOperator
from penstock.runtime.sinks import SinkWriter
from penstock.runtime.windows.assigners.assigner import WindowAssigner

T = TypeVar("T")


class PerRecord(StreamOperator):
    """An operator that knows nothing of blocks."""

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.output.collect(Block([(value, timestamp)]))


@given(blocks(with_timestamps=None))
def test_the_path_by_blocks_calls_the_path_by_records(block: Block) -> None:
    harness = Harness(PerRecord())
    harness.process(block.values, block.timestamps)

    assert harness.output.values() == [
        (record.value, record.timestamp) for record in block.records()
    ]


def test_needs_one_of_both_paths() -> None:
    with pytest.raises(TypeError, match="StreamOperator takes blocks or records"):
        Harness(StreamOperator()).process([1])


def test_forwards_what_is_in_band() -> None:
    harness = Harness(StreamOperator())
    harness.operator.process_watermark(5)
    harness.operator.process_status(WatermarkStatus.IDLE)
    harness.operator.flush()
    harness.operator.end_input()
    harness.operator.close()

    assert harness.output.log == [("watermark", 5), ("status", WatermarkStatus.IDLE)]


def test_has_the_names_of_flink_and_travels_to_workers() -> None:
    assert [strategy.name for strategy in ChainingStrategy] == ["ALWAYS", "HEAD", "NEVER"]
    for strategy in ChainingStrategy:
        assert pickle.loads(pickle.dumps(strategy)) is strategy


@pytest.fixture(scope="module")
def every_module() -> None:
    for package in ("runtime", "datastream"):
        path = f"{penstock.__path__[0]}/{package}"
        for module in pkgutil.walk_packages([path], f"penstock.{package}."):
            importlib.import_module(module.name)


@pytest.mark.usefixtures("every_module")
@pytest.mark.parametrize("base", [StreamOperator, SinkWriter, WindowAssigner])
def test_what_has_a_snapshot_takes_it_up_again(base: type[Any]) -> None:
    both = {one for one in kinds_of(base) if has_own(one, "snapshot", base)}
    assert both
    assert both == {one for one in kinds_of(base) if has_own(one, "restore", base)}


@pytest.mark.usefixtures("every_module")
def test_a_snapshot_can_be_dealt_out_to_another_number_of_subtasks_and_of_tasks() -> None:
    base = StreamOperator
    for kind in kinds_of(base):
        is_merged = has_own(kind, "merge_snapshots", base)
        assert has_own(kind, "redistribute", base) == has_own(kind, "snapshot", base), kind
        if has_own(kind, "snapshot", base):
            # What reads by key begins a chain: its tasks are never those of a stream that Spark reads.
            assert is_merged or kind.needs_its_subtask or kind.is_stateful, kind
        else:
            assert not is_merged, kind


def kinds_of(base: type[T]) -> Iterator[type[T]]:
    """Yield the classes of penstock that are derived from one."""
    for kind in base.__subclasses__():
        if kind.__module__.startswith("penstock."):
            yield kind
        yield from kinds_of(kind)


def has_own(kind: type, method: str, base: type) -> bool:
    return getattr(kind, method) is not getattr(base, method)
