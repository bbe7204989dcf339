"""The Nexmark queries on PyFlink. Runs under the interpreter that peers.py installs PyFlink for.

Started with an execution mode, it keeps one local Flink and runs a query for each line of its input:
`{"query": "q5", "nexmark": {"events": 100000}, "port": 0, "chunks": false, "folder": ""}` is answered
with the job's seconds. With a folder the results are written there, one as JSON a line and a file for each
subtask.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
from benchmarks.nexmark.events import Nexmark
from benchmarks.nexmark.one_by_one import OneByOne
from benchmarks.sides.pyflink_job import environment, run
from pyflink.common import Types, WatermarkStrategy  # type: ignore[import-not-found]
from pyflink.datastream import MapFunction  # type: ignore[import-not-found]
from pyflink.datastream.connectors.number_seq import NumberSequenceSource  # type: ignore[import-not-found]


def on_pyflink(name: str) -> ModuleType:
    """A module of this folder, with `penstock` replaced by `pyflink` in its imports."""
    path = Path(__file__).with_name(f"{name}.py")
    source = re.sub(
        r"^(from|import) penstock\b", r"\1 pyflink", path.read_text(), flags=re.MULTILINE
    )
    module = ModuleType(f"benchmarks.nexmark.{name}")
    sys.modules[module.__name__] = module
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102 - a file of this folder
    # A worker would import the file as it is.
    cloudpickle.register_pickle_by_value(module)
    return module


class Keep(MapFunction):  # type: ignore[misc]
    """Writes every result into a file of the subtask: Flink's own way to collect takes a millisecond each.

    Args:
        folder: Where the files are.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, runtime_context: Any) -> None:
        """See `Function`."""
        # By lines, because the worker may be ended before it closes anything.
        self._file = Path(self._folder, uuid.uuid4().hex).open("w", buffering=1)  # noqa: SIM115

    def map(self, value: Any) -> int:
        """See `MapFunction`."""
        self._file.write(json.dumps(value) + "\n")
        return 0

    def close(self) -> None:
        """See `Function`."""
        self._file.close()


def main() -> None:
    env = environment()
    streams = on_pyflink("streams")
    queries = on_pyflink("queries")
    for line in sys.stdin:
        order = json.loads(line)
        nexmark = Nexmark(**order["nexmark"])
        count = nexmark.chunks if order["chunks"] else nexmark.events
        source = NumberSequenceSource(0, count - 1)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        maker = nexmark if order["chunks"] else OneByOne(nexmark)
        results = queries.QUERIES[order["query"]](streams.Events(numbers, maker, order["port"]))
        if order["folder"]:
            results = results.map(Keep(order["folder"]), Types.INT())
        print("answer", json.dumps(run(results)), flush=True)


if __name__ == "__main__":
    main()
