"""Adds up what a socket sends, in windows of ten seconds of event time.

    nc -lk 9999                                         in one terminal
    python examples/socket_windows.py localhost 9999    in another

A line is an item, a time in seconds and a number, as in "tea 12 3". A window is printed when a line
comes that is five seconds past its end, and the last ones when the other side closes the connection.
"""

from __future__ import annotations

import sys

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.datastream import FilterFunction, MapFunction, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows


class IsComplete(FilterFunction):
    def filter(self, value: str) -> bool:
        fields = value.split()
        return len(fields) == 3 and fields[1].isdecimal() and fields[2].isdecimal()


class LineSplitter(MapFunction):
    def map(self, value: str) -> tuple[str, int, int]:
        item, seconds, number = value.split()
        return item, int(seconds) * 1000, int(number)


def main() -> None:
    hostname, port = sys.argv[1:]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)  # with more, time would stand still until each subtask has a line
    disorder = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))

    text = env.socket_text_stream(hostname, int(port))
    counts = (
        text.filter(IsComplete())
        .map(LineSplitter())
        .assign_timestamps_and_watermarks(disorder.with_timestamp_assigner(lambda sale, _: sale[1]))
        .key_by(0)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .sum(2)
    )
    counts.print()

    print(env.get_execution_plan(), flush=True)
    env.execute("sums of ten seconds")


if __name__ == "__main__":
    main()
