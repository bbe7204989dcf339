"""Results as tables."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from streams import Hour, LateFlight, WindyDeparture, WorkingDay

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NEW_YORK = ZoneInfo("America/New_York")
WIND_STEP = 5
MOST_WIND = 25  # few departures have more


def hours(found: Iterable[Hour | LateFlight]) -> Iterator[str]:
    """How many flights came in time for their hour, and how many too late."""
    airports: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    for it in found:
        counts = airports[it.origin]
        if isinstance(it, Hour):
            counts[0] += 1
            counts[1] += it.departures
            counts[2] += it.delay
        else:
            counts[3] += 1
            counts[4] += it.delay
    line = "{:6}  {:>7}  {:>10}  {:>10}    {:>6}  {:>10}".format
    yield line("origin", "hours", "in time", "mean delay", "late", "mean delay")
    for origin, (number, in_time, delay, late, late_delay) in sorted(airports.items()):
        means = minutes(delay, in_time), minutes(late_delay, late)
        yield line(origin, f"{number:,}", f"{in_time:,}", means[0], f"{late:,}", means[1])


def working_days(days: list[WorkingDay]) -> Iterator[str]:
    """The busiest of all working days."""
    planes = len({day.plane for day in days})
    yield f"{planes:,} planes have {len(days):,} working days; the busiest, by New York's clocks:"
    line = "{:6}  {:>10}  {:13}  {:13}".format
    yield line("plane", "departures", "first", "last")
    for day in sorted(days, key=lambda day: (-day.departures, day))[:3]:
        yield line(day.plane, day.departures, clock(day.first), clock(day.last))


class Class(NamedTuple):
    """The departures in winds of about a speed, in miles per hour; the delay is their mean."""

    least: int
    departures: int
    delay: float


def wind_classes(departures: Iterable[WindyDeparture]) -> list[Class]:
    """Departures by the speed of the wind."""
    sums: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for departure in departures:
        sums_here = sums[min(int(departure.wind) // WIND_STEP * WIND_STEP, MOST_WIND)]
        sums_here[0] += 1
        sums_here[1] += departure.delay
    return [Class(least, number, delay / number) for least, (number, delay) in sorted(sums.items())]


def wind(departures: Iterable[WindyDeparture]) -> Iterator[str]:
    """How delays grow with the wind."""
    line = "{:15}  {:>10}  {:>10}  {}".format
    yield line("wind", "departures", "mean delay", "").rstrip()
    for least, number, delay in wind_classes(departures):
        bar = "█" * round(delay)
        yield line(wind_name(least) + " mph", f"{number:,}", f"{delay:.1f} min", bar).rstrip()


def wind_name(least: int) -> str:
    return f"{least} and more" if least == MOST_WIND else f"{least} to {least + WIND_STEP}"


def minutes(total: int, number: int) -> str:
    return f"{total / number:.1f} min" if number else "-"


def clock(millis: int) -> str:
    return f"{datetime.fromtimestamp(millis / 1000, NEW_YORK):%b %d, %H:%M}"
