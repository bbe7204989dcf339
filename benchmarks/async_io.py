"""How fast asynchronous calls are, as ratios to loops written by hand, measured in one run.

    python benchmarks/async_io.py                  all parts
    python benchmarks/async_io.py --quick          the same with less of everything
    python benchmarks/async_io.py --part 2         one part
    python benchmarks/async_io.py --json FILE      the figures as JSON too

Part 1: calls of 10 ms, 100 at once in each of two subtasks on Spark, against an asyncio loop with as many
        inside `mapInArrow`, and against PyFlink. The ideal is 20,000 records a second.
Part 2: calls that return at once, in one process: what the operator adds to the calls alone.
Part 3: one call in a hundred takes 50 times as long, so the mean is 14.9 ms. With 100 at once no more
        than 100 / 14.9 ms begin in a second, whoever makes them: so it is set against the loop by hand.
        With 10,000 at once, where that is no limit, it is set against the same without slow calls, in one
        process. Ordered with 1,000 at once, against what the queue allows: see `ordered_in_theory`.
Part 4: calls of an HTTP service that takes 10 ms, against the client by hand.
Part 5: a call that hangs for 30 s in a streaming job: by how much it delays other results.
Part 6: 10,000 calls under way in one process, and its memory over many records.

Every run's results are compared with what they have to be; PyFlink's before its timed runs.
"""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import aiohttp
import cloudpickle
from benchmarks import calls, peers
from benchmarks.calls import Ask, by_hand, ordered_in_theory, share
from benchmarks.epochs import rate
from benchmarks.measure import Row, Run, alternate, table
from benchmarks.session import shared_session
from benchmarks.tally import Outcome, Tally, timed
from tests.servers.http_service import HttpService

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.executors.spark.open_functions import OpenFunction
from penstock.runtime.async_io.settings import AsyncSettings
from penstock.runtime.elements import BLOCK_SIZE, Block
from penstock.runtime.operators.async_wait import AsyncWaitOperator

if TYPE_CHECKING:
    import pyarrow as pa

TASKS = 2
CAPACITY = 100
TIMEOUT = 60_000
BY_HAND = "a loop by hand"
DRAIN = 2
"""Seconds that an epoch waits for calls in part 5."""


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    rounds: int = 5
    records: int = 40_000
    many_records: int = 500_000
    flink_records: int = 20_000
    at_once_records: int = 400_000
    requests: int = 20_000
    memory_records: int = 1_000_000


QUICK = Scale(
    rounds=2,
    records=20_000,
    many_records=200_000,
    flink_records=10_000,
    at_once_records=100_000,
    requests=5_000,
    memory_records=200_000,
)


def ten_ms(scale: Scale) -> list[Row]:
    """Part 1."""
    on_spark = partial(OnSpark, scale.records, calls.after_ten_ms)
    sides: dict[str, Run] = {
        "unordered": on_spark(ordered=False).rate,
        "ordered": on_spark(ordered=True).rate,
        BY_HAND: on_spark().rate_by_hand,
    }
    _warm_up(sides)
    with ExitStack() as stack:
        for mode in ("unordered", "ordered"):
            flink = stack.enter_context(peers.PyFlink("process", "pyflink_async_job", mode))
            _check(flink.check(1_000), 1_000)
            sides[f"PyFlink {peers.VERSION}, {mode}"] = partial(flink.rate, scale.flink_records)
        figures = alternate(sides, scale.rounds)
    rows = []
    for mode, target in (("unordered", "at least 0.9"), ("ordered", "at least 0.85")):
        job = f"calls of 10 ms, {CAPACITY} at once in each of {TASKS} subtasks, {mode}"
        rows += [
            Row(job, "records/s", figures[mode], wanted, other, figures[other])
            for other, wanted in ((BY_HAND, target), (f"PyFlink {peers.VERSION}, {mode}", ""))
        ]
    return rows


def at_once(scale: Scale) -> list[Row]:
    """Part 2."""
    numbers = range(1, scale.at_once_records + 1)

    def alone() -> float:
        found: list[int] = []
        start = perf_counter()
        asyncio.run(by_hand(numbers, calls.at_once, 1, found.append))
        return _microseconds(start, found, numbers)

    def operator(*, ordered: bool) -> float:
        found: list[int] = []
        with closing(open_operator(calls.at_once, CAPACITY, ordered=ordered)) as function:
            start = perf_counter()
            for results in function.run(blocks(numbers)):
                found += results
            return _microseconds(start, found, numbers)

    sides: dict[str, Run] = {
        "unordered": partial(operator, ordered=False),
        "ordered": partial(operator, ordered=True),
        "alone": alone,
    }
    _warm_up(sides)
    figures = alternate(sides, scale.rounds)
    return [
        Row(
            f"what the operator adds to calls that return at once, {mode}",
            "microseconds a record",
            [mine - bare for mine, bare in zip(figures[mode], figures["alone"], strict=True)],
            "at most 12",
        )
        for mode in ("unordered", "ordered")
    ]


def slow_now_and_then(scale: Scale) -> list[Row]:
    """Part 3."""
    slow = calls.now_and_then_slow
    long_queue, longest_queue = 10 * CAPACITY, 100 * CAPACITY
    sides: dict[str, Run] = {
        "few": OnSpark(scale.records, slow, ordered=False).rate,
        "few by hand": OnSpark(scale.records, slow).rate_by_hand,
        "ordered": OnSpark(scale.records, slow, ordered=True, capacity=long_queue).rate,
        "many": partial(steady_rate, slow, longest_queue, scale.many_records),
        "many without": partial(steady_rate, calls.after_ten_ms, longest_queue, scale.many_records),
    }
    _warm_up(sides)
    figures = alternate(sides, scale.rounds)
    latencies = [
        [calls.seconds(number) for number in share(task, TASKS, scale.records)]
        for task in range(TASKS)
    ]
    seconds = max(ordered_in_theory(each, long_queue) for each in latencies)
    theory = [scale.records / seconds] * scale.rounds
    rows = (
        (f"unordered, {CAPACITY} at once", "few", "at least 0.9", BY_HAND, figures["few by hand"]),
        (
            f"unordered, {longest_queue:,} at once",
            "many",
            "above 0.9",
            "the same without slow calls",
            figures["many without"],
        ),
        (f"ordered, {long_queue:,} at once", "ordered", "0.85 to 1", "the queue's theory", theory),
    )
    return [
        Row(
            f"1% of calls take 500 ms, the others 10 ms; {job}",
            "records/s",
            figures[mine],
            target,
            against,
            other,
        )
        for job, mine, target, against, other in rows
    ]


def steady_rate(ask: Ask, capacity: int, records: int) -> float:
    """How many results a second come in one process, between the first tenth of them and the last."""
    numbers = range(1, records + 1)
    found: list[int] = []
    times: list[tuple[float, int]] = []
    with closing(open_operator(ask, capacity, ordered=False)) as function:
        for results in function.run(blocks(numbers)):
            found += results
            if records <= 10 * len(found) <= 9 * records:
                times.append((perf_counter(), len(found)))
    _rate(0, found, numbers)
    (start, first), (end, last) = times[0], times[-1]
    return (last - first) / (end - start)


def http(scale: Scale) -> list[Row]:
    """Part 4."""
    numbers = range(1, scale.requests + 1)
    service = HttpService()
    service.behave(delay=1000 * calls.LATENCY)

    def client_by_hand() -> float:
        found: list[int] = []

        async def run() -> None:
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(connector=connector) as session:
                ask = partial(get, session, service.url)
                await by_hand(numbers, ask, CAPACITY, found.append)

        start = perf_counter()
        asyncio.run(run())
        return _rate(start, found, numbers)

    def operator(*, ordered: bool) -> float:
        found: list[int] = []
        start = perf_counter()
        with closing(open_operator(Get(service.url), CAPACITY, ordered=ordered)) as function:
            for results in function.run(blocks(numbers)):
                found += results
        return _rate(start, found, numbers)

    sides: dict[str, Run] = {
        "unordered": partial(operator, ordered=False),
        "ordered": partial(operator, ordered=True),
        "a client by hand": client_by_hand,
    }
    try:
        figures = alternate(sides, scale.rounds)
    finally:
        service.kill()
    return [
        Row(
            f"an HTTP service that takes 10 ms, {CAPACITY} at once, {mode}",
            "calls/s",
            figures[mode],
            "at least 0.9",
            "a client by hand",
            figures["a client by hand"],
        )
        for mode in ("unordered", "ordered")
    ]


def hanging(_: Scale) -> list[Row]:
    """Part 5."""
    spark = shared_session()
    configuration = Configuration().set_string("async.drain-timeout", f"{DRAIN} s")
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(TASKS)
    numbers = env.from_data_frame(rate(spark, 100)).map(lambda row: row[0])
    results = AsyncDataStream.unordered_wait(numbers, calls.one_hangs, TIMEOUT)
    arrivals: list[float] = []
    found: set[int] = set()
    with results.execute_and_collect() as stream:
        for number in stream:
            arrivals.append(perf_counter())
            found.add(number)
            if number == calls.HANGING:
                break
    before = max(found - {calls.HANGING})
    missing = set(range(before - 200)) - found
    if missing or len(found) != len(arrivals):
        sys.exit(
            f"Wrong results: {len(missing)} are missing, {len(found)} of {len(arrivals)} differ."
        )
    gaps = sorted(late - early for early, late in pairwise(arrivals))
    usual = [gap for gap in gaps if gap > DRAIN / 20]
    job = f"a call hangs for 30 s, epochs wait for {DRAIN} s: results of others"
    return [
        Row(
            job + ", the longest time between two",
            "seconds",
            gaps[-1:],
            f"{DRAIN} and an epoch",
        ),
        Row(job + ", the median epoch", "seconds", [median(usual)], ""),
    ]


def in_flight(scale: Scale) -> list[Row]:
    """Part 6."""
    capacity = 10_000
    numbers = range(1, 3 * capacity + 1)
    start = perf_counter()
    with closing(open_operator(calls.after_a_second, capacity, ordered=True)) as function:
        found = [number for results in function.run(blocks(numbers)) for number in results]
    seconds = perf_counter() - start
    _rate(start, found, numbers)
    rounds = [seconds / 3]

    count = 0
    peaks: list[float] = []
    numbers = range(1, scale.memory_records + 1)
    with closing(open_operator(calls.after_ten_ms, 1_000, ordered=False)) as function:
        for results in function.run(blocks(numbers)):
            count += len(results)
            if count >= (len(peaks) + 1) * scale.memory_records // 4:
                peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if count != scale.memory_records:
        sys.exit(f"Wrong results: {count} instead of {scale.memory_records}.")
    return [
        Row(
            f"three times {capacity:,} calls of 1 s, all at once",
            "seconds each",
            rounds,
            "little over 1",
        ),
        Row(
            f"peak of memory, the last three quarters of {scale.memory_records:,} records beside the first",
            "MB",
            peaks[-1:],
            "at most 1.02",
            "after a quarter",
            peaks[:1],
        ),
    ]


PARTS = (ten_ms, at_once, slow_now_and_then, http, hanging, in_flight)


class OnSpark:
    """One job on Spark: penstock's, and the same by hand.

    Args:
        records: How many calls.
        ask: Makes a call.
        ordered: Whether penstock's results are in order.
        capacity: How many calls are under way at once in each task.
    """

    def __init__(
        self,
        records: int,
        ask: Ask,
        *,
        ordered: bool = True,
        capacity: int = CAPACITY,
    ) -> None:
        self._spark = shared_session()
        self._records = records
        self._ask = ask
        self._ordered = ordered
        self._capacity = capacity

    def rate(self) -> float:
        """Runs penstock's job; returns its records a second."""
        return self._timed(self._penstock)

    def rate_by_hand(self) -> float:
        """Runs the job by hand; returns its records a second."""
        return self._timed(self._by_hand)

    def _timed(self, job: Callable[[Tally], object]) -> float:
        outcome = timed(job)
        _check(outcome, self._records)
        return self._records / outcome.seconds

    def _penstock(self, tally: Tally) -> None:
        env = StreamExecutionEnvironment.get_execution_environment(spark=self._spark)
        env.set_parallelism(TASKS)
        env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
        source = NumberSequenceSource(1, self._records)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        wait = AsyncDataStream.ordered_wait if self._ordered else AsyncDataStream.unordered_wait
        results = wait(numbers, self._ask, TIMEOUT, self._capacity)
        results.add_sink(cast("SinkFunction", tally))
        env.execute("calls")

    def _by_hand(self, tally: Tally) -> None:
        records, ask, capacity = self._records, self._ask, self._capacity

        def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                numbers = share(batch.column(0)[0].as_py(), TASKS, records)
                asyncio.run(by_hand(numbers, ask, capacity, tally.invoke))
                tally.close()
            yield from ()

        self._spark.range(0, TASKS, 1, TASKS).mapInArrow(call, "nothing int").collect()


class Get(AsyncFunction[int, int]):
    """Asks the HTTP service for each number."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self, runtime_context: RuntimeContext) -> None:
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def close(self) -> None:
        await self._session.close()

    async def async_invoke(self, value: int) -> list[int]:
        return await get(self._session, self._url, value)


async def get(session: aiohttp.ClientSession, url: str, number: int) -> list[int]:
    async with session.get(f"{url}{number}") as response:
        answer = await response.json()
    return [int(answer["key"])]


def open_operator(function: Any, capacity: int, *, ordered: bool) -> OpenFunction:
    """The operator in this process, without a job around it."""
    settings = AsyncSettings(ordered=ordered, timeout=TIMEOUT, capacity=capacity)
    return OpenFunction("calls", cloudpickle.dumps(AsyncWaitOperator(function, settings)))


def blocks(numbers: Sequence[int]) -> Iterator[Block]:
    for start in range(0, len(numbers), BLOCK_SIZE):
        yield Block(list(numbers[start : start + BLOCK_SIZE]))


def _warm_up(sides: Mapping[str, Run]) -> None:
    for run in sides.values():
        run()


def _check(outcome: Outcome, records: int) -> None:
    found, wanted = (outcome.count, outcome.total), (records, records * (records + 1) // 2)
    if found != wanted:
        sys.exit(f"Wrong results: {found} as count and sum instead of {wanted}.")


def _rate(start: float, found: list[int], numbers: Sequence[int]) -> float:
    seconds = perf_counter() - start
    if sorted(found) != list(numbers):
        sys.exit(f"Wrong results: {len(found)} of {len(numbers)} numbers, or others.")
    return len(numbers) / seconds


def _microseconds(start: float, found: list[int], numbers: Sequence[int]) -> float:
    return 1_000_000 / _rate(start, found, numbers)


def main() -> None:
    arguments = _arguments()
    scale = QUICK if arguments.quick else Scale()
    rows: list[Row] = []
    for number, part in enumerate(PARTS, 1):
        if arguments.part in (None, number):
            print(f"\nPart {number}", flush=True)
            rows += part(scale)
    print(table(rows))
    if arguments.json:
        figures = {"rows": [row.as_json() for row in rows]}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="do less of everything")
    parser.add_argument("--part", type=int, choices=range(1, len(PARTS) + 1), help="run one part")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
