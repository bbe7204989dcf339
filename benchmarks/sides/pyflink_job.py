"""The six functions as a PyFlink program. Runs under the interpreter that peers.py installs PyFlink for.

Started with an execution mode, it keeps one local Flink and runs a job for each line of its input:
`{"records": 1000, "check": true}` is answered with the job's seconds and, if they are to be
checked, with the count and sum of its results.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.sides.functions import add, bucket, is_even, is_wanted, key_of, spread
from pyflink.common import Configuration, Types, WatermarkStrategy  # type: ignore[import-not-found]
from pyflink.datastream import StreamExecutionEnvironment  # type: ignore[import-not-found]
from pyflink.datastream.connectors import Sink  # type: ignore[import-not-found]
from pyflink.datastream.connectors.number_seq import NumberSequenceSource  # type: ignore[import-not-found]
from pyflink.java_gateway import get_gateway  # type: ignore[import-not-found]

PARALLELISM = 2

Streams = Callable[[Any, int], Any]
"""Takes an environment and how many numbers, and returns the stream of the results."""


def environment() -> Any:
    configuration = Configuration()
    configuration.set_string("python.execution-mode", sys.argv[1])
    configuration.set_string("rest.bind-port", "0")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    return env


def serve(stream: Streams) -> None:
    env = environment()
    for line in sys.stdin:
        order = json.loads(line)
        answer = (check if order["check"] else run)(stream(env, order["records"]))
        print("answer", json.dumps(answer), flush=True)


def run(results: Any) -> dict[str, float]:
    discard = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
    results.sink_to(Sink(discard))
    start = perf_counter()
    results.get_execution_environment().execute()
    return {"seconds": perf_counter() - start}


def check(results: Any) -> dict[str, float]:
    start = perf_counter()
    with results.execute_and_collect() as found:
        values = list(found)
    return {"seconds": perf_counter() - start, "count": len(values), "total": sum(values)}


def numbers(env: Any, records: int) -> Any:
    source = NumberSequenceSource(1, records)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def six_functions(env: Any, records: int) -> Any:
    number = Types.LONG()
    return (
        numbers(env, records)
        .map(spread, number)
        .map(bucket, number)
        .filter(is_wanted)
        .key_by(key_of, number)
        .reduce(add)
        .filter(is_even)
    )


if __name__ == "__main__":
    serve(six_functions)
