from __future__ import annotations

import json
import threading
from pathlib import Path
from types import CodeType

import pyarrow as pa
import pytest

import penstock
from penstock.common.cost import Cost
from penstock.runtime.fused_loop import FILE_NAME
from penstock.runtime.operators.process import process_records
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.window_contents import ReducedRecords
from penstock.runtime.profiling.places import (
    _COSTS,
    Place,
    calls_functions,
    lines_of_calls,
    place_of,
)

PACKAGE = Path(penstock.__file__).resolve().parent


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("runtime/buffer.py", Cost.SERIALIZATION),
        ("runtime/state/hashmap_tables.py", Cost.STATE),
        ("runtime/timers/heap_priority_queue.py", Cost.STATE),
        ("runtime/subtask_state.py", Cost.SNAPSHOT),
        ("checkpoint/handles.py", Cost.SNAPSHOT),
        ("runtime/record_writer.py", Cost.EXCHANGE),
        ("runtime/input_gates.py", Cost.EXCHANGE),
        ("executors/spark/levels.py", Cost.EXCHANGE),
        ("runtime/async_io/mailbox.py", Cost.WAITING),
        ("runtime/async_io/invoker.py", Cost.FRAMEWORK),
        ("runtime/operators/map.py", Cost.FRAMEWORK),
        ("runtime/key_types.py", Place.NOWHERE),
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
    assert not calls_functions(str(PACKAGE / "runtime/buffer.py"))
