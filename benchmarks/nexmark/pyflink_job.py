"""The Nexmark queries on PyFlink. Runs under the interpreter that peers.py installs PyFlink for.

Started with an execution mode, it keeps one local Flink and runs a query for each line of its input:
`{"query": "q5", "nexmark": {"events": 100000}, "port": 0, "chunks": false, "folder": ""}` is answered
with the job's seconds. With a folder the results are written there, one as JSON a line and a file for each
subtask.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from benchmarks.nexmark.events import Nexmark
from benchmarks.nexmark.one_by_one import OneByOne
from benchmarks.sides.on_pyflink import on_pyflink
from benchmarks.sides.pyflink_job import environment, run
from pyflink.common import Types, WatermarkStrategy  # type: ignore[import-not-found]
from pyflink.datastream import MapFunction  # type: ignore[import-not-found]
from pyflink.datastream.connectors.number_seq import NumberSequenceSource  # type: ignore[import-not-found]


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
    streams = on_pyflink("benchmarks.nexmark.streams")
    queries = on_pyflink("benchmarks.nexmark.queries")
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
