"""The programs of `kafka_programs.py` on PyFlink. Runs under the interpreter that peers.py installs PyFlink for.

Started with an execution mode and the connector's jar, it keeps one local Flink, and does what each line of its
input says:

    {"what": "read", "servers": "...", "topic": "...", "check": true}     as `pyflink_job.py`
    {"what": "write", "servers": "...", "topic": "...", "guarantee": "EXACTLY_ONCE", "records": 1000}
    {"what": "count", "servers": "...", "topic": "...", "results": "...", "interval": 1000}   until the next "stop"
    {"what": "stop"}
"""

from __future__ import annotations

import json
import sys
from time import perf_counter
from typing import Any

from benchmarks.sides.on_pyflink import on_pyflink
from benchmarks.sides.pyflink_job import check, environment, run

INTERVAL = 1_000
"""Milliseconds between two checkpoints, without which transactions are not committed."""


class Kafka:
    """What it is told, it does."""

    def __init__(self) -> None:
        self._programs: Any = on_pyflink("benchmarks.sides.kafka_programs")
        self._running: Any = None

    def read(self, servers: str, topic: str, *, check: bool) -> dict[str, float]:
        """Reads all of a topic."""
        numbers = self._programs.numbers_read(_environment(), servers, topic)
        return _checked(numbers) if check else run(numbers)

    def write(self, **order: Any) -> dict[str, float]:
        """Writes a topic."""
        env = _environment()
        if order["guarantee"] == "EXACTLY_ONCE":
            env.enable_checkpointing(INTERVAL)
        self._programs.write_numbers(env, **order)
        start = perf_counter()
        env.execute()
        return {"seconds": perf_counter() - start}

    def count(self, interval: int, **order: Any) -> dict[str, float]:
        """Begins to count keys."""
        env = _environment()
        env.enable_checkpointing(interval)
        self._programs.count_keys(env, **order)
        self._running = env.execute_async()
        return {}

    def stop(self) -> dict[str, float]:
        """Ends that."""
        self._running.cancel().result()
        return {}


_checked = check


def _environment() -> Any:
    env = environment()
    env.add_jars(f"file://{sys.argv[2]}")
    return env


def main() -> None:
    kafka = Kafka()
    for line in sys.stdin:
        order = json.loads(line)
        answer = getattr(kafka, order.pop("what"))(**order)
        print("answer", json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
