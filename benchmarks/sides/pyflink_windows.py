"""The window job as a PyFlink program. Runs under the interpreter that peers.py installs PyFlink for.

Started with an execution mode and whether times are shuffled, it answers as `pyflink_job.py` does.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter
from typing import Any

from benchmarks.sides.window_events import SPREAD, WINDOW, Events, add, amount_of, key_of, time_of
from pyflink.common import (  # type: ignore[import-not-found]
    Configuration,
    Duration,
    Time,
    Types,
    WatermarkStrategy,
)
from pyflink.common.watermark_strategy import TimestampAssigner  # type: ignore[import-not-found]
from pyflink.datastream import StreamExecutionEnvironment  # type: ignore[import-not-found]
from pyflink.datastream.connectors import Sink  # type: ignore[import-not-found]
from pyflink.datastream.connectors.number_seq import NumberSequenceSource  # type: ignore[import-not-found]
from pyflink.datastream.window import TumblingEventTimeWindows  # type: ignore[import-not-found]
from pyflink.java_gateway import get_gateway  # type: ignore[import-not-found]

PARALLELISM = 2


class TimeOfEvent(TimestampAssigner):  # type: ignore[misc]
    """Takes the time from an event."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """See `TimestampAssigner`."""
        return time_of(value, record_timestamp)


def main() -> None:
    configuration = Configuration()
    configuration.set_string("python.execution-mode", sys.argv[1])
    configuration.set_string("rest.bind-port", "0")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    is_shuffled = sys.argv[2] == "shuffled"
    for line in sys.stdin:
        order = json.loads(line)
        sums = stream(env, order["records"], is_shuffled)
        print("answer", json.dumps((check if order["check"] else run)(env, sums)), flush=True)


def run(env: Any, sums: Any) -> dict[str, float]:
    discard = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
    sums.sink_to(Sink(discard))
    start = perf_counter()
    env.execute()
    return {"seconds": perf_counter() - start}


def check(env: Any, sums: Any) -> dict[str, float]:  # noqa: ARG001
    start = perf_counter()
    with sums.execute_and_collect() as results:
        values = list(results)
    return {"seconds": perf_counter() - start, "count": len(values), "total": sum(values)}


def stream(env: Any, records: int, is_shuffled: bool) -> Any:
    number = Types.LONG()
    event = Types.TUPLE([number, number, number])
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(SPREAD if is_shuffled else 0)
    ).with_timestamp_assigner(TimeOfEvent())
    numbers = NumberSequenceSource(1, records)
    return (
        env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
        .map(Events(records, is_shuffled), event)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(key_of, number)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW)))
        .reduce(add)
        .map(amount_of, number)
    )


if __name__ == "__main__":
    main()
