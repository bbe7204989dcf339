"""The streams: delays by the hour, the working days of planes, departures in the wind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.common.watermark_generator import BoundedOutOfOrderness
from penstock.datastream import OutputTag
from penstock.datastream.aggregates import Aggregates, Count, Sum
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from penstock.common import Row
    from penstock.common.watermark_generator import WatermarkOutput
    from penstock.datastream import DataStream, StreamExecutionEnvironment
    from penstock.datastream.window import TimeWindow

HOUR = Time.hours(1).to_milliseconds()
PATIENCE = Duration.of_hours(2)
REST = Time.hours(8)
LATE = OutputTag("late")


class Hour(NamedTuple):
    """The flights of an airport that were scheduled for the same hour."""

    origin: str
    start: int
    departures: int
    delay: int


class LateFlight(NamedTuple):
    """A flight that departed when its hour had been given up."""

    origin: str
    scheduled: int
    delay: int


class WorkingDay(NamedTuple):
    """A plane's departures from New York, until it rested."""

    plane: str
    first: int
    last: int
    departures: int


class WindyDeparture(NamedTuple):
    """A departure, and the wind in its hour."""

    origin: str
    departed: int
    delay: int
    wind: float


class HourByHour(BoundedOutOfOrderness):
    """Tells at once when an hour is over.

    Bounded out-of-orderness as it is does so five times a second. Here a year passes in seconds.
    """

    def on_event(self, event: Row, event_timestamp: int, output: WatermarkOutput) -> None:
        hour = (self.watermark + 1) // HOUR
        super().on_event(event, event_timestamp, output)
        if (self.watermark + 1) // HOUR > hour:
            output.emit_watermark(self.watermark)


def delays_by_hour(env: StreamExecutionEnvironment, flights: DataFrame) -> DataStream:
    """The hours for which flights were scheduled, and the flights that came too late for theirs.

    An hour is given up when a flight comes that was scheduled two hours after it, or later.
    """
    strategy = WatermarkStrategy.for_generator(lambda: HourByHour(PATIENCE))
    strategy = strategy.with_timestamp_column("scheduled")
    hours = (
        env.from_data_frame(
            flights, source_name="flights", watermark_strategy=strategy, is_sorted=True
        )
        .set_parallelism(1)  # with one reader each watermark stands right behind its flight
        .key_by("origin")
        .window(TumblingEventTimeWindows.of(Time.hours(1)))
        .side_output_late_data(LATE)
        .aggregate(Aggregates(departures=Count(), delay=Sum("delay")), hour_of)
    )
    late = hours.get_side_output(LATE).map(
        lambda flight: LateFlight(flight.origin, flight.scheduled, flight.delay)
    )
    return hours.union(late)


def hour_of(origin: str, window: TimeWindow, totals: Iterable[Row]) -> Iterator[Hour]:
    for total in totals:
        yield Hour(origin, window.start, total.departures, total.delay)


def departures_of(env: StreamExecutionEnvironment, flights: DataFrame) -> DataStream:
    """The flights in the order and at the time at which they departed."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("departed")
    return env.from_data_frame(
        flights, source_name="flights", watermark_strategy=strategy, is_sorted=True
    )


def working_days(departures: DataStream) -> DataStream:
    """The working days of planes: one is over when the plane has not left New York for 8 hours."""
    return (
        departures.map(lambda flight: WorkingDay(flight.plane, flight.departed, flight.departed, 1))
        .key_by("plane")
        .window(EventTimeSessionWindows.with_gap(REST))
        .reduce(
            lambda day, more: WorkingDay(
                day.plane,
                min(day.first, more.first),
                max(day.last, more.last),
                day.departures + more.departures,
            )
        )
    )


def departures_in_wind(departures: DataStream, weather: DataFrame) -> DataStream:
    """Each departure with the wind that was measured last, less than an hour before."""
    env = departures.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("time")
    hours = env.from_data_frame(weather, source_name="weather", watermark_strategy=strategy)

    def pair(flight: Row, hour: Row, _: Any) -> Iterator[WindyDeparture]:
        yield WindyDeparture(flight.origin, flight.departed, flight.delay, hour.wind)

    return (
        departures.key_by("origin")
        .interval_join(hours.key_by("origin"))
        .between(Time.hours(-1), Time.hours(0))
        .lower_bound_exclusive()
        .process(pair)
    )
