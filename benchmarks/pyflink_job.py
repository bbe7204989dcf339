"""The six functions as a PyFlink program. Runs under the interpreter that peers.py installs PyFlink for.

Started with an execution mode, it keeps one local Flink and runs a job for each line of its input:
`{"records": 1000, "check": true}` is answered with the job's seconds and, if they are to be
checked, with the count and sum of its results.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter
from typing import Any

from benchmarks.functions import add, bucket, is_even, is_wanted, key_of, spread
from pyflink.common import Configuration, Types, WatermarkStrategy  # type: ignore[import-not-found]
from pyflink.datastream import StreamExecutionEnvironment  # type: ignore[import-not-found]
from pyflink.datastream.connectors import Sink  # type: ignore[import-not-found]
from pyflink.datastream.connectors.number_seq import NumberSequenceSource  # type: ignore[import-not-found]
from pyflink.java_gateway import get_gateway  # type: ignore[import-not-found]

PARALLELISM = 2


def main() -> None:
    configuration = Configuration()
    configuration.set_string("python.execution-mode", sys.argv[1])
    configuration.set_string("rest.bind-port", "0")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    for line in sys.stdin:
        order = json.loads(line)
        answer = (check if order["check"] else run)(env, order["records"])
        print("answer", json.dumps(answer), flush=True)


def run(env: Any, records: int) -> dict[str, float]:
    discard = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
    stream(env, records).sink_to(Sink(discard))
    start = perf_counter()
    env.execute()
    return {"seconds": perf_counter() - start}


def check(env: Any, records: int) -> dict[str, float]:
    start = perf_counter()
    with stream(env, records).execute_and_collect() as results:
        values = list(results)
    return {"seconds": perf_counter() - start, "count": len(values), "total": sum(values)}


def stream(env: Any, records: int) -> Any:
    number = Types.LONG()
    numbers = NumberSequenceSource(1, records)
    return (
        env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
        .map(spread, number)
        .map(bucket, number)
        .filter(is_wanted)
        .key_by(key_of, number)
        .reduce(add)
        .filter(is_even)
    )


if __name__ == "__main__":
    main()
