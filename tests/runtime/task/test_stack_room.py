from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from penstock.executors.spark.frames.levels import as_function
from penstock.runtime.task.stack_room import iterated_with_room, with_room

CALLS = 200
DEPTH = 300


def leaf(_: int) -> None:
    """Be called."""


def faults() -> int:
    """How often this process has touched memory that the system had not given it yet."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def most_faults(depth: int) -> int:
    """Call a function many times at each depth; return the most faults that a depth had."""
    before = faults()
    for number in range(CALLS):
        leaf(number)
    here = faults() - before
    return max(here, most_faults(depth - 1)) if depth else here


def test_no_loop_of_calls_gets_memory_from_the_system_each_time() -> None:
    assert with_room(most_faults, DEPTH) < CALLS // 2


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="others may keep a chunk")
def test_without_room_some_loop_does() -> None:
    assert most_faults(DEPTH) >= CALLS


def is_inside() -> bool:
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code is with_room.__code__:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def test_items_are_made_with_room_and_used_without() -> None:
    made = (is_inside() for _ in range(2))

    found = [(was_inside, is_inside()) for was_inside in iterated_with_room(made)]

    assert found == [(True, False)] * 2


class LevelThatLooks:
    work = SimpleNamespace(files=())

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        return (is_inside() for _ in batches)


def test_levels_run_with_room_in_workers_of_spark() -> None:
    level = as_function(LevelThatLooks(), "a level")

    assert list(level([])) == []
    assert list(level([pa.RecordBatch.from_pydict({})])) == [True]


def test_what_a_function_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        with_room(divmod, 1, 0)
