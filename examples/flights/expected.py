"""The same results without streams, by pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streams import HOUR, PATIENCE, REST, Hour, LateFlight, WindyDeparture, WorkingDay

if TYPE_CHECKING:
    import pandas as pd


def delays_by_hour(flights: pd.DataFrame, order: str) -> list[Any]:
    flights = flights.sort_values(order, kind="stable")
    hour = flights["scheduled"] // HOUR
    latest = flights["scheduled"].cummax().shift(fill_value=0)
    is_late = hour < (latest - PATIENCE.to_millis()) // HOUR
    start = (hour * HOUR).rename("start")
    hours = flights[~is_late].groupby(["origin", start])["delay"].agg(["count", "sum"])
    late = flights.loc[is_late, list(LateFlight._fields)]
    return [*map(Hour._make, _rows(hours.reset_index())), *map(LateFlight._make, _rows(late))]


def working_days(flights: pd.DataFrame) -> list[WorkingDay]:
    flights = flights.sort_values(["plane", "departed"])
    rested = flights["departed"].diff() > REST.to_milliseconds()
    is_first = rested | (flights["plane"] != flights["plane"].shift())
    days = flights.groupby(is_first.cumsum()).agg(
        plane=("plane", "first"),
        first=("departed", "min"),
        last=("departed", "max"),
        departures=("departed", "size"),
    )
    return [WorkingDay(*row) for row in _rows(days)]


def departures_in_wind(flights: pd.DataFrame, weather: pd.DataFrame) -> list[WindyDeparture]:
    hours = flights.assign(time=flights["departed"] // HOUR * HOUR)
    pairs = hours.merge(weather, on=["origin", "time"])
    return [WindyDeparture(*row) for row in _rows(pairs[list(WindyDeparture._fields)])]


def _rows(frame: pd.DataFrame) -> Any:
    return frame.itertuples(index=False, name=None)
