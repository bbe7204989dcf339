"""What the tests of this folder share: running a program, and reading what came of it."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from penstock.common import WatermarkStrategy
from penstock.datastream import (
    DataStream,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.testing import TestingSource


def epochs(env: StreamExecutionEnvironment, *cuts: Sequence[Any], **options: Any) -> DataStream:
    """A stream of the records that come in each epoch."""
    source = TestingSource(cuts, **options)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "epochs")


Name = TypeVar("Name")


def collect(streams: Mapping[Name, DataStream]) -> dict[Name, list[Any]]:
    """Run a program once, and return the records of several of its streams by their names."""
    labelled = [stream.map(Label(name)) for name, stream in streams.items()]
    found: dict[Name, list[Any]] = defaultdict(list)
    with labelled[0].union(*labelled[1:]).execute_and_collect() as results:
        for name, value in results:
            found[name].append(value)
    return found


class Label(MapFunction):
    """Puts a name before each record."""

    def __init__(self, name: Any) -> None:
        self._name = name

    def map(self, value: Any) -> Any:
        return self._name, value


class Where(MapFunction):
    """Puts the index of the subtask before each record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return self._index, value


def operators(metrics: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What each operator did in a job, by its name."""
    return {report["name"]: report for report in metrics["operators"].values()}


def run_script(folder: Path, script: str, *arguments: str) -> str:
    """Run a script of a user's, and return what it printed."""
    path = folder / "script.py"
    path.write_text(script)
    run = subprocess.run(
        [sys.executable, str(path), *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
