"""The Nexmark queries, as ratios to PyFlink measured in one run, and how late their results are.

    python benchmarks/nexmark_queries.py                 all queries
    python benchmarks/nexmark_queries.py --quick         the same with less of everything
    python benchmarks/nexmark_queries.py --query q5      one query; --part 6 is the same
    python benchmarks/nexmark_queries.py --json FILE     the figures as JSON too

The programs are in `nexmark/queries.py`. PyFlink runs the same file, with another name in its imports, in
thread and in process mode, then in turn with penstock in the faster of both; query 13 in process mode only,
for the other has no asynchronous calls. Both sides have two subtasks; each makes its events itself, those
kinds that a query reads, and drops what the query gives. The source of both counts numbers, and a number is
an event: they come one by one, as from any source. With `--chunks` a number is a thousand events, so that
hardly anything comes from the source, and little more than the making of events is measured in queries 0 to
3 and 8. Events are counted as Nexmark counts them: all of
the range, of whatever kind. Times are of whole jobs, from their submission to their end, on a Spark and a
Flink that run already; what that costs is shown by a job of few events.

Before the timed runs every side's results are compared with what SQL finds in tables of the same events
(`nexmark/oracles.py`).

Latency is measured as in `latency.py`, with 1,000 events a second and windows of one second: from when the
event that brought a result about was due until the result is in the client's hands.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import peers, script
from benchmarks.kit.measure import Row, Run, alternate
from benchmarks.kit.session import shared_session
from benchmarks.kit.tally import Count, Tally, timed
from benchmarks.latency import measure_latency
from benchmarks.nexmark import penstock_job
from benchmarks.nexmark.answers import Record, settled, wanted
from benchmarks.nexmark.events import CHUNK, Nexmark
from benchmarks.nexmark.lookup import LookupService
from benchmarks.nexmark.queries import QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.datastream import DataStream, SinkFunction

MODES = ("thread", "process")
PENSTOCK = "penstock"
TARGET = 20
RATE = 1_000
"""Events a second, where latency is measured."""
SLOWLY = 1_000
"""Events a second in event time, but for latencies: few events fill many windows, so that windows end all
along on both sides, and not all at the end of the shorter run."""
SHARES = {0.5: "p50", 0.99: "p99"}
FEW = 2 * CHUNK
"""Events of a job that is hardly more than its start and its end."""

EVENTS = {
    "q0": (8_000_000, 500_000),
    "q1": (8_000_000, 500_000),
    "q2": (8_000_000, 500_000),
    "q3": (8_000_000, 500_000),
    "q4": (1_200_000, 60_000),
    "q5": (600_000, 24_000),
    "q6": (1_200_000, 60_000),
    "q7": (2_000_000, 40_000),
    "q8": (8_000_000, 500_000),
    "q11": (1_600_000, 60_000),
    "q12": (800_000, 60_000),
    "q13": (300_000, 40_000),
}
"""How many events penstock and PyFlink have, so that both take some seconds."""


@dataclass(frozen=True)
class Scale:
    """How much of everything.

    Attributes:
        rounds: Timed runs of each side.
        share: Of the events in `EVENTS`.
        checked: Events for the comparison of results.
        live: Seconds in which latencies count.
        queries: What runs if no query is named.
    """

    rounds: int = 5
    share: float = 1
    checked: int = 20_000
    live: float = 10
    queries: Sequence[str] = tuple(QUERIES)


QUICK = Scale(rounds=2, share=0.5, checked=4_000, live=3, queries=("q0", "q5", "q13"))


class Sides:
    """All that the queries run on, each started when it is first asked for.

    Args:
        stack: Ends them.
        chunks: Whether a number in the source is a chunk of events, not one.
    """

    def __init__(self, stack: ExitStack, *, chunks: bool = False) -> None:
        self._stack = stack
        self._chunks = chunks
        self._flinks: dict[str, peers.PyFlink] = {}

    @cached_property
    def spark(self) -> SparkSession:
        """Spark on two cores."""
        spark = shared_session()
        self._stack.callback(spark.stop)
        return spark

    @cached_property
    def port(self) -> int:
        """Where the service of query 13 listens."""
        return self._stack.enter_context(LookupService()).port

    def flink(self, mode: str) -> peers.PyFlink:
        """PyFlink in a mode."""
        if mode not in self._flinks:
            flink = peers.PyFlink(mode, "nexmark.pyflink_job")
            self._flinks[mode] = self._stack.enter_context(flink)
        return self._flinks[mode]

    def penstock_gives(self, query: str, nexmark: Nexmark) -> Iterable[Record]:
        """The results of penstock."""
        with self._stream(query, nexmark).execute_and_collect() as found:
            return list(found)

    def flink_gives(self, mode: str, query: str, nexmark: Nexmark) -> Iterable[Record]:
        """The results of PyFlink."""
        with TemporaryDirectory(prefix="nexmark-") as folder:
            self._ask_flink(mode, query, nexmark, folder)
            lines = [line for path in Path(folder).iterdir() for line in path.open()]
        return [tuple(json.loads(line)) for line in lines]

    def penstock_seconds(self, query: str, events: int) -> float:
        """What penstock takes for a number of events."""

        def run(tally: Tally) -> None:
            stream = self._stream(query, _events(events))
            stream.add_sink(cast("SinkFunction", tally))
            stream.get_execution_environment().execute(query)

        return timed(run, Count).seconds

    def flink_seconds(self, mode: str, query: str, events: int) -> float:
        """What PyFlink takes for a number of events."""
        return self._ask_flink(mode, query, _events(events))

    def _stream(self, query: str, nexmark: Nexmark) -> DataStream:
        env = penstock_job.environment(self.spark)
        return penstock_job.results(query, env, nexmark, self.port, chunks=self._chunks)

    def _ask_flink(self, mode: str, query: str, nexmark: Nexmark, folder: str = "") -> float:
        flink = self.flink(mode)
        answer = flink.ask(
            query=query,
            nexmark=asdict(nexmark),
            port=self.port,
            chunks=self._chunks,
            folder=folder,
        )
        return float(answer["seconds"])


def _events(count: int) -> Nexmark:
    return Nexmark(count, events_per_second=SLOWLY)


def modes_of(query: str) -> list[str]:
    """PyFlink's execution modes that can run a query."""
    return [mode for mode in MODES if query != "q13" or mode == "process"]


def check(query: str, sides: Sides, events: int) -> list[str]:
    """Compares what all sides give with what they have to give.

    Returns:
        PyFlink's modes that give it: what another gives is said, and it is not timed.
    """
    nexmark = _events(events)
    right = wanted(query, nexmark)
    if wrong := _difference(settled(query, sides.penstock_gives(query, nexmark)), right):
        sys.exit(f"Wrong results of penstock for {query}: {wrong}")
    modes = []
    for mode in modes_of(query):
        if wrong := _difference(settled(query, sides.flink_gives(mode, query, nexmark)), right):
            print(f"  Wrong results of PyFlink in {mode} mode, which is left out: {wrong}")
        else:
            modes.append(mode)
    good = ", ".join(["penstock", *(f"PyFlink in {mode} mode" for mode in modes)])
    print(f"  {good}: the {len(right):,} results that SQL finds", flush=True)
    if not modes:
        sys.exit(f"There is no peer for {query}.")
    return modes


def _difference(given: Sequence[Record], right: Sequence[Record]) -> str:
    """In what results differ from the right ones; nothing if they do not."""
    if given == right:
        return ""
    superfluous, missing = Counter(given) - Counter(right), Counter(right) - Counter(given)
    return (
        f"{superfluous.total():,} that should not be there, such as {next(iter(superfluous), None)}; "
        f"{missing.total():,} are missing, such as {next(iter(missing), None)}"
    )


def throughput(query: str, sides: Sides, scale: Scale, modes: Sequence[str]) -> Row:
    """A query's events per second of each of the two cores, beside PyFlink in the faster of some modes."""
    mine, theirs = (_whole(scale.share * events) for events in EVENTS[query])
    print(f"  penstock: {sides.penstock_seconds(query, FEW):.2f} s for {FEW:,} events")
    few = _whole(theirs / 4)
    seconds = {mode: sides.flink_seconds(mode, query, few) for mode in modes}
    for mode, taken in seconds.items():
        start = sides.flink_seconds(mode, query, FEW)
        print(
            f"  PyFlink in {mode} mode: {start:.2f} s for {FEW:,} events, {taken:.2f} s for {few:,}"
        )
    mode = min(seconds, key=seconds.__getitem__)
    peer = f"PyFlink {peers.VERSION}, {mode} mode"
    cores = penstock_job.PARALLELISM
    runs: dict[str, Run] = {
        PENSTOCK: lambda: mine / sides.penstock_seconds(query, mine) / cores,
        peer: lambda: theirs / sides.flink_seconds(mode, query, theirs) / cores,
    }
    figures = alternate(runs, scale.rounds)
    return Row(
        job=f"{query}, {_title(query)}: {mine:,} events, PyFlink {theirs:,}",
        unit="events/s per core",
        penstock=figures[PENSTOCK],
        against=peer,
        other=figures[peer],
        target=TARGET,
    )


def latency(query: str, sides: Sides, scale: Scale) -> list[Row]:
    """The rows of how late a query's results are, in one run; for those of windows a millisecond too much."""
    stream = penstock_job.live_results(query, sides.spark, RATE, sides.port)
    found = measure_latency(stream, _due, seconds=scale.live)
    return [
        Row(
            job=f"{query}, {_title(query)}: latency at {RATE:,} events/s, {name}",
            unit="ms",
            penstock=[found.quantile(share)],
            lower_is_better=True,
        )
        for share, name in SHARES.items()
    ]


def measured(query: str, sides: Sides, scale: Scale) -> list[Row]:
    """All rows of a query."""
    modes = check(query, sides, scale.checked)
    return [throughput(query, sides, scale, modes), *latency(query, sides, scale)]


def _due(result: tuple[int, Any]) -> int:
    return result[0]


def _title(query: str) -> str:
    text = QUERIES[query].__doc__ or ""
    return text[0].lower() + text[1:].rstrip(".")


def _whole(events: float) -> int:
    """The next number of events that the generator can divide."""
    return -(-int(events) // FEW) * FEW


def parser() -> argparse.ArgumentParser:
    made = script.parser(__doc__, len(QUERIES))
    made.add_argument("--query", choices=list(QUERIES), help="run one query")
    made.add_argument("--chunks", action="store_true", help="make a thousand events of each number")
    return made


def main() -> None:
    arguments = parser().parse_args()
    names = list(QUERIES)
    if arguments.query:
        arguments.part = names.index(arguments.query) + 1
    # The part says it all in the commands of the rows.
    del arguments.query
    scale = QUICK if arguments.quick else Scale()
    with ExitStack() as stack:
        sides = Sides(stack, chunks=arguments.chunks)
        parts: list[script.Part] = [
            partial(measured, name, sides, scale)
            if arguments.part or name in scale.queries
            else list
            for name in names
        ]
        script.run(__file__, arguments, parts)


if __name__ == "__main__":
    main()
