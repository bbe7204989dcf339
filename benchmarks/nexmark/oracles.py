"""What each Nexmark query has to give: SQL over tables of the events, that shares no code with the queries.

The tuples that each query gives; times are milliseconds, windows go from their start up to their end
without it, all are closed at the end of the input, and no event is late:

* q0: bids as they are: `(auction, bidder, price, channel, url, date_time, extra)`.
* q1: prices in euros: `(auction, bidder, price * 908 // 1000, date_time, extra)`.
* q2: bids on every 123rd auction, `auction % 123 == 0`: `(auction, price)`.
* q3: auctions of category 10 whose sellers live in OR, ID or CA: `(name, city, state, auction id)`.
* q4: what the auctions of a category ended at: `(category, sum, count)`. An auction ends at the highest
  price bid from its `date_time` to its `expires`, both included; one without such a bid does not count.
  A stream gives a new tuple whenever one changes: the last of each category is compared.
* q5: the auctions with the most bids in each window of 10 seconds, one every 2 seconds:
  `(auction, bids, end of the window)`; all of them where several have the most.
* q6: what the last 10 ended auctions of a seller ended at, last by `expires` and then by id; auctions end
  as in q4: `(seller, sum, count)`. The last of each seller is compared.
* q7: the bids of the highest price in each window of 10 seconds: `(auction, price, bidder, date_time)`;
  all of them where several have it.
* q8: persons who came and opened an auction in the same window of 10 seconds:
  `(person id, name, start of the window)`, once however many auctions they opened.
* q11: bids of each bidder's sessions: `(bidder, bids, start, end)`. A session ends `gap` milliseconds
  after its last bid; a bid at just that time still belongs to it.
* q12: bids of each bidder: `(bidder, bids)`. The query counts in windows of processing time, whose bounds
  differ from run to run: the sum over all of a bidder's windows is compared.
* q13: bids with what a service knows of `auction % 10000`: `(auction, bidder, price, date_time, value)`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from duckdb import DuckDBPyConnection

SESSION_GAP = 10_000

WINNING = """
    CREATE TEMP VIEW winning AS
    SELECT auction.id, seller, category, expires, max(price) AS price
    FROM auction JOIN bid ON bid.auction = auction.id
    WHERE bid.date_time BETWEEN auction.date_time AND auction.expires
    GROUP BY ALL
"""
"""What the queries 4 and 6 read."""

QUERIES = {
    "q0": "SELECT auction, bidder, price, channel, url, date_time, extra FROM bid",
    "q1": "SELECT auction, bidder, price * 908 // 1000, date_time, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """
        SELECT name, city, state, auction.id
        FROM auction JOIN person ON person.id = seller
        WHERE category = 10 AND state IN ('OR', 'ID', 'CA')
    """,
    "q4": "SELECT category, sum(price), count(*) FROM winning GROUP BY category",
    "q5": """
        WITH slices AS (
            SELECT auction, date_time // 2000 AS slice, count(*) AS bids FROM bid GROUP BY ALL
        ), windows AS (
            SELECT auction, (slice + later) * 2000 AS window_end, sum(bids) AS bids
            FROM slices CROSS JOIN range(1, 6) AS slide(later) GROUP BY ALL
        )
        SELECT auction, bids, window_end FROM windows
        QUALIFY bids = max(bids) OVER (PARTITION BY window_end)
    """,
    "q6": """
        WITH latest AS (
            SELECT seller, price FROM winning
            QUALIFY row_number() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) <= 10
        )
        SELECT seller, sum(price), count(*) FROM latest GROUP BY seller
    """,
    "q7": """
        SELECT auction, price, bidder, date_time FROM bid
        QUALIFY price = max(price) OVER (PARTITION BY date_time // 10000)
    """,
    "q8": """
        SELECT DISTINCT person.id, name, person.date_time // 10000 * 10000
        FROM person JOIN auction
        ON seller = person.id AND auction.date_time // 10000 = person.date_time // 10000
    """,
    "q11": """
        WITH steps AS (
            SELECT bidder, date_time,
                date_time - lag(date_time) OVER (PARTITION BY bidder ORDER BY date_time) AS pause
            FROM bid
        ), sessions AS (
            SELECT bidder, date_time, count(*) FILTER (pause > $gap)
                OVER (PARTITION BY bidder ORDER BY date_time) AS session
            FROM steps
        )
        SELECT bidder, count(*), min(date_time), max(date_time) + $gap
        FROM sessions GROUP BY bidder, session
    """,
    "q12": "SELECT bidder, count(*) FROM bid GROUP BY bidder",
    "q13": """
        SELECT auction, bidder, price, date_time, value
        FROM bid JOIN side ON key = auction % 10000
    """,
}
"""Over the tables person, auction, bid, and side (key, value)."""


def expected(
    query: str, tables: Mapping[str, pa.Table], gap: int = SESSION_GAP
) -> list[tuple[Any, ...]]:
    """The tuples that a query has to give, in ascending order.

    Args:
        query: Its name, such as "q5".
        tables: The tables that it reads, by name: of person, auction, bid, side.
        gap: The gap of query 11's sessions in milliseconds.
    """
    with _database().cursor() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        if query in {"q4", "q6"}:
            connection.execute(WINNING)
        parameters = {"gap": gap} if "$gap" in QUERIES[query] else {}
        return sorted(connection.execute(QUERIES[query], parameters).fetchall())


@cache
def _database() -> DuckDBPyConnection:
    """The one database: to open it takes longer than most queries. What a cursor registers is its own."""
    import duckdb

    return duckdb.connect()
