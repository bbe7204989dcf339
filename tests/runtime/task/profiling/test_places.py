from __future__ import annotations

import json
import threading
from pathlib import Path
from types import CodeType

import pyarrow as pa
import pytest

import penstock
from penstock.common.cost import Cost
from penstock.runtime.operators.process import process_records
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.task.fused_loop import FILE_NAME
from penstock.runtime.task.profiling.places import (
    _COSTS,
    Place,
    calls_functions,
    lines_of_calls,
    place_of,
)
from penstock.runtime.windows.operator.window_contents import ReducedRecords

PACKAGE = Path(penstock.__file__).resolve().parent


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("runtime/exchange/buffer.py", Cost.SERIALIZATION),
        ("runtime/state/hashmap/hashmap_tables.py", Cost.STATE),
        ("runtime/timers/heap_priority_queue.py", Cost.STATE),
        ("runtime/task/subtask_state.py", Cost.SNAPSHOT),
        ("checkpoint/handles.py", Cost.SNAPSHOT),
        ("runtime/exchange/writer.py", Cost.EXCHANGE),
        ("runtime/exchange/gates.py", Cost.EXCHANGE),
        ("executors/spark/frames/levels.py", Cost.EXCHANGE),
        ("runtime/async_io/loop/mailbox.py", Cost.WAITING),
        ("runtime/async_io/invoker.py", Cost.FRAMEWORK),
        ("runtime/operators/function_operator.py", Cost.FRAMEWORK),
        ("runtime/keys/key_types.py", Place.NOWHERE),
    ],
)
def test_penstocks_own(path: str, place: Cost | Place) -> None:
    assert (PACKAGE / path).exists()
    assert place_of(str(PACKAGE / path)) is place


def test_all_that_is_named_exists() -> None:
    assert all(list(PACKAGE.glob(f"{start}*")) for start in _COSTS)


@pytest.mark.parametrize(
    ("filename", "place"),
    [
        (json.__file__, Place.LIBRARY),
        (threading.__file__, Place.LIBRARY),
        (pa.__file__, Place.LIBRARY),
        ("<frozen importlib._bootstrap>", Place.LIBRARY),
        ("<string>", Place.NOWHERE),
        (FILE_NAME, Cost.FRAMEWORK),
        (__file__, Place.USERS),
        (pytest.__file__, Place.USERS),
        ("/home/someone/job.py", Place.USERS),
    ],
)
def test_others(filename: str, place: Cost | Place) -> None:
    assert place_of(filename) is place


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (ReduceOperator._results.__code__, "value = call(before, value)"),
        (ReducedRecords.join_run.__code__, "result = call(before, value)"),
        (process_records.__code__, "results = call(value, context)"),
    ],
    ids=["reduce", "window", "process"],
)
def test_operators_call_functions(code: CodeType, line: str) -> None:
    assert calls_functions(code.co_filename)
    lines = Path(code.co_filename).read_text().splitlines()
    found = [lines[number - 1].strip() for number in lines_of_calls(code) if number]
    assert any(it.startswith(line) for it in found)
    assert len(found) < len(lines) / 10


def test_others_call_none() -> None:
    assert not calls_functions(str(PACKAGE / "runtime/exchange/buffer.py"))
