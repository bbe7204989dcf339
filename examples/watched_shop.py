"""Clicks and orders of a shop, made up as time goes by: a job to look at while it runs.

    python examples/watched_shop.py [KEY=VALUE ...]

counts clicks by user in windows of ten seconds, and the orders among them. It says where its page is, and runs
until it is stopped there, by `penstock stop`, or by Ctrl-C. One click in fifty is a minute old, and so comes too late.
What follows KEY is a setting of the job, such as `execution.checkpointing.dir=/checkpoints/shop`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from penstock.common import Configuration, Duration, Row, Time, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.spark import get_session

USERS = 20
MINUTE = 60_000

Event = tuple[int, int, int, int]
"""A user, when it was in milliseconds, and 1 if it was a click, and if it was an order."""


def main() -> None:
    configuration = Configuration.from_dict(dict(pair.split("=", 1) for pair in sys.argv[1:]))
    spark = get_session(configuration)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(2)

    def rows(per_second: int) -> DataStream:
        rate = spark.readStream.format("rate").option("rowsPerSecond", per_second).load()
        return env.from_data_frame(rate)

    times = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(2)
    ).with_timestamp_assigner(lambda event, _: event[1])
    clicks = rows(200).name("clicks").uid("clicks").map(click).name("Read clicks")
    orders = rows(5).name("orders").uid("orders").map(order).name("Read orders")
    (
        clicks.assign_timestamps_and_watermarks(times)
        .name("Times of clicks")
        .filter(is_person)
        .name("Only people")
        .union(orders.assign_timestamps_and_watermarks(times).name("Times of orders"))
        .key_by(lambda event: event[0])
        .map(rated)
        .name("Rate the user")
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .reduce(lambda one, other: (one[0], other[1], one[2] + other[2], one[3] + other[3]))
        .name("Count per user")
        .uid("counts")
        .add_sink(lambda _: None)
        .name("Nowhere")
    )
    env.execute("clicks per user")


def click(row: Row) -> Event:
    late = MINUTE if row.value % 50 == 3 else 0
    return row.value % (USERS + 1), int(row.timestamp.timestamp() * 1000) - late, 1, 0


def order(row: Row) -> Event:
    return row.value % USERS, int(row.timestamp.timestamp() * 1000), 0, 1


def is_person(event: Event) -> bool:
    return event[0] < USERS


def rated(event: Event) -> Any:
    """Take as long as a model that rates a user by what he does."""
    time.sleep(0.002)
    return event


if __name__ == "__main__":
    main()
