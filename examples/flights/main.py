"""A year of flights out of New York, streamed through Spark in event time.

    python examples/flights/main.py [--months 12] [--picture build/delay-by-wind.html]

Counts departures by the hour they were scheduled for, finds the working days of planes, and joins
departures with the weather; checks all of it against pandas, and draws delays against the wind.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import expected
import report
from data import FLIGHT, WEATHER, read_flights, read_weather, stream_of
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.spark import get_session
from picture import draw
from streams import WorkingDay, delays_by_hour, departures_in_wind, departures_of, working_days

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

    from penstock.datastream import DataStream

CONFIGURATION = Configuration().set_string("execution.epoch.available-now", "true")
CHECKPOINTS = TemporaryDirectory()
JOBS = count(1)


def main() -> int:
    arguments = parse_arguments()
    flights, weather = read_flights(arguments.months), read_weather(arguments.months)
    spark = get_session(CONFIGURATION)
    with TemporaryDirectory() as folder:
        planned = stream_of(flights, FLIGHT, folder, order="scheduled", spark=spark)
        actual = stream_of(flights, FLIGHT, folder, order="departed", spark=spark)
        wind = stream_of(weather, WEATHER, folder, order="time", spark=spark)
        same = [
            show_hours(flights, planned, "scheduled"),
            show_hours(flights, actual, "departed"),
            show_planes_and_wind(flights, weather, actual, wind, arguments.picture),
        ]
    return 0 if all(same) else 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A year of flights in event time.")
    parser.add_argument("--months", type=int, choices=range(1, 13), default=12, metavar="1..12")
    parser.add_argument("--picture", type=Path, default=Path("build", "delay-by-wind.html"))
    return parser.parse_args()


def show_hours(flights: pd.DataFrame, stream: DataFrame, order: str) -> bool:
    title = f"Hours of the schedule, with flights in the order {order}"
    found = results_of(delays_by_hour(environment(), stream), title)
    print(*report.hours(found), sep="\n")
    return agree("hours", found, expected.delays_by_hour(flights, order))


def show_planes_and_wind(
    flights: pd.DataFrame, weather: pd.DataFrame, actual: DataFrame, wind: DataFrame, picture: Path
) -> bool:
    departures = departures_of(environment(), actual)
    both = working_days(departures).union(departures_in_wind(departures, wind))
    found = results_of(both, "Working days of planes, and departures in the wind")
    days = [result for result in found if isinstance(result, WorkingDay)]
    windy = [result for result in found if not isinstance(result, WorkingDay)]
    print(*report.working_days(days), "", *report.wind(windy), sep="\n")
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(draw(windy), encoding="utf-8")
    print(f"as a picture: {picture}")
    same_days = agree("working days", days, expected.working_days(flights))
    same_wind = agree("winds", windy, expected.departures_in_wind(flights, weather))
    return same_days and same_wind


def environment() -> StreamExecutionEnvironment:
    """An environment whose checkpoints go with the demo: it is never taken up again."""
    folder = CHECKPOINTS.name + f"/{next(JOBS)}"
    configuration = Configuration(CONFIGURATION).set_string("execution.checkpointing.dir", folder)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def results_of(stream: DataStream, title: str) -> list[Any]:
    """Run the program, and return its results."""
    print(f"\n{title}", flush=True)
    started = time.perf_counter()
    with stream.execute_and_collect(title) as results:
        found = list(results)
    print(f"{len(found):,} results in {time.perf_counter() - started:.0f} s\n")
    return found


def agree(what: str, found: list[Any], wanted: list[Any]) -> bool:
    is_same = sorted(found) == sorted(wanted)
    print(f"pandas gets the same {what}: {'yes' if is_same else 'no'}")
    return is_same


if __name__ == "__main__":
    sys.exit(main())
