"""How fast asynchronous calls are, as ratios to loops written by hand, measured in one run.

    python benchmarks/async_io.py                  all parts
    python benchmarks/async_io.py --quick          the same with less of everything
    python benchmarks/async_io.py --part 2         one part
    python benchmarks/async_io.py --json FILE      the figures as JSON too

Part 1: calls of 10 ms, 100 at once in each of two subtasks on Spark, against an asyncio loop with as many
        inside `mapInArrow`, against Spark's own way, which is a blocking call in a Python UDF with
        `spark.sql.execution.pythonUDF.arrow.concurrency.level` threads, and against PyFlink. The ideal is
        20,000 records a second.
Part 2: calls that return at once, in one process: what the operator adds to the calls alone.
Part 3: one call in a hundred takes 50 times as long, so the mean is 14.9 ms. With 100 at once no more
        than 100 / 14.9 ms begin in a second, whoever makes them: so it is set against the loop by hand.
        With 10,000 at once, where that is no limit, it is set against the same without slow calls, in one
        process. Ordered with 1,000 at once, against what the queue allows: see `ordered_in_theory`.
Part 4: calls of an HTTP service that takes 10 ms, against the client by hand.
Part 5: a call that hangs in a streaming job: by how much it delays other results.
Part 6: 10,000 calls under way in one process, and its memory over many records.

Every run's results are compared with what they have to be; PyFlink's before its timed runs.
"""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import aiohttp
from benchmarks.kit import peers, script
from benchmarks.kit.epochs import rate
from benchmarks.kit.measure import Row, Run, alternate
from benchmarks.kit.session import shared_session
from benchmarks.sides import calls
from benchmarks.sides.async_on_spark import CAPACITY, TASKS, TIMEOUT, OnSpark, check
from benchmarks.sides.calls import Ask, by_hand, ordered_in_theory, share
from tests.servers.http_service import HttpService

from penstock.common import Configuration
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.executors.spark.frames.open_functions import OpenFunction
from penstock.runtime.async_io.async_wait import AsyncWaitOperator
from penstock.runtime.async_io.function_life import AsyncSettings
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.job_pickle import dump_code

BY_HAND = "a loop by hand"
THREADS = "threads of a Spark UDF"
DRAIN = 2
"""Seconds that an epoch waits for calls in part 5."""
MEMORY_PARTS = 5
"""After how many sixths of the records memory is compared with that after the first."""


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    rounds: int = 5
    records: int = 40_000
    many_records: int = 250_000
    flink_records: int = 10_000
    at_once_records: int = 200_000
    requests: int = 10_000
    memory_records: int = 1_000_000


QUICK = Scale(
    rounds=1,
    records=10_000,
    many_records=60_000,
    flink_records=3_000,
    at_once_records=50_000,
    requests=3_000,
    memory_records=60_000,
)


def ten_ms(scale: Scale) -> list[Row]:
    """Part 1: calls of 10 ms."""
    on_spark = partial(OnSpark, scale.records, calls.after_ten_ms)
    sides: dict[str, Run] = {
        "unordered": on_spark(ordered=False).rate,
        "ordered": on_spark(ordered=True).rate,
        BY_HAND: on_spark().rate_by_hand,
        THREADS: on_spark().rate_of_threads,
    }
    _warm_up(sides)
    with ExitStack() as stack:
        for mode in ("unordered", "ordered"):
            flink = stack.enter_context(peers.PyFlink("process", "sides.pyflink_async_job", mode))
            check(flink.check(1_000), 1_000)
            sides[f"PyFlink {peers.VERSION}, {mode}"] = partial(flink.rate, scale.flink_records)
        figures = alternate(sides, scale.rounds)
    return [
        Row(
            job=f"calls of 10 ms, {CAPACITY} at once in each of {TASKS} subtasks, {mode}",
            unit="records/s",
            penstock=figures[mode],
            against=other,
            other=figures[other],
            target=target if other == BY_HAND else None,
        )
        for mode, target in (("unordered", 0.9), ("ordered", 0.85))
        for other in (BY_HAND, THREADS, f"PyFlink {peers.VERSION}, {mode}")
    ]


def at_once(scale: Scale) -> list[Row]:
    """Part 2: calls that return at once."""
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
            job=f"what the operator adds to calls that return at once, {mode}",
            unit="microseconds a record",
            penstock=[
                mine - bare for mine, bare in zip(figures[mode], figures["alone"], strict=True)
            ],
            target=12,
            lower_is_better=True,
        )
        for mode in ("unordered", "ordered")
    ]


def slow_now_and_then(scale: Scale) -> list[Row]:
    """Part 3: one call in a hundred takes 50 times as long."""
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
        (f"unordered, {CAPACITY} at once", "few", 0.9, BY_HAND, figures["few by hand"]),
        (
            f"unordered, {longest_queue:,} at once",
            "many",
            0.9,
            "the same without slow calls",
            figures["many without"],
        ),
        (f"ordered, {long_queue:,} at once", "ordered", 0.85, "the queue's theory", theory),
    )
    return [
        Row(
            job=f"1% of calls take 500 ms, the others 10 ms; {job}",
            unit="records/s",
            penstock=figures[mine],
            against=against,
            other=other,
            target=target,
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
    """Part 4: calls of an HTTP service."""
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
            job=f"an HTTP service that takes 10 ms, {CAPACITY} at once, {mode}",
            unit="calls/s",
            penstock=figures[mode],
            against="a client by hand",
            other=figures["a client by hand"],
            target=0.9,
        )
        for mode in ("unordered", "ordered")
    ]


def hanging(scale: Scale) -> list[Row]:
    """Part 5: a call that hangs."""
    figures = alternate({"penstock": _delay_by_hanging}, scale.rounds)
    what = f"a call hangs for {calls.HANG:g} s, epochs wait for {DRAIN} s"
    return [
        Row(
            job=f"{what}: the longest time between two other results, less the usual one",
            unit="seconds",
            penstock=figures["penstock"],
            target=DRAIN,
            lower_is_better=True,
        )
    ]


def _delay_by_hanging() -> float:
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
    # The results of an epoch come together: shorter times are those within one.
    return gaps[-1] - median(gap for gap in gaps if gap > DRAIN / 20)


def in_flight(scale: Scale) -> list[Row]:
    """Part 6: 10,000 calls under way in one process."""
    capacity = 10_000
    numbers = range(1, 3 * capacity + 1)

    def each_second() -> float:
        start = perf_counter()
        with closing(open_operator(calls.after_a_second, capacity, ordered=True)) as function:
            found = [number for results in function.run(blocks(numbers)) for number in results]
        return capacity / _rate(start, found, numbers)

    # Before all that takes more: a process's peak never falls.
    first, *later = _peaks_of_memory(scale.memory_records, 1 + MEMORY_PARTS)
    figures = alternate({"penstock": each_second}, scale.rounds)
    return [
        Row(
            job=f"three times {capacity:,} calls of 1 s, all at once",
            unit="seconds each",
            penstock=figures["penstock"],
            target=1.5,
            lower_is_better=True,
        ),
        Row(
            job=f"peak of memory over {scale.memory_records:,} records, after each further sixth",
            unit="MB",
            penstock=later,
            against="after the first",
            other=[first] * MEMORY_PARTS,
            target=1.02,
            lower_is_better=True,
        ),
    ]


def _peaks_of_memory(records: int, parts: int) -> list[float]:
    """The process's largest size so far, in MB, after each part of the records."""
    count = 0
    peaks: list[float] = []
    with closing(open_operator(calls.after_ten_ms, 1_000, ordered=False)) as function:
        for results in function.run(blocks(range(1, records + 1))):
            count += len(results)
            if count >= (len(peaks) + 1) * records // parts:
                peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if count != records:
        sys.exit(f"Wrong results: {count} instead of {records}.")
    return peaks


PARTS = (ten_ms, at_once, slow_now_and_then, http, hanging, in_flight)


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
    return OpenFunction("calls", dump_code(AsyncWaitOperator(function, settings)))


def blocks(numbers: Sequence[int]) -> Iterator[Block]:
    for start in range(0, len(numbers), BLOCK_SIZE):
        yield Block(list(numbers[start : start + BLOCK_SIZE]))


def _warm_up(sides: Mapping[str, Run]) -> None:
    for run in sides.values():
        run()


def _rate(start: float, found: list[int], numbers: Sequence[int]) -> float:
    seconds = perf_counter() - start
    if sorted(found) != list(numbers):
        sys.exit(f"Wrong results: {len(found)} of {len(numbers)} numbers, or others.")
    return len(numbers) / seconds


def _microseconds(start: float, found: list[int], numbers: Sequence[int]) -> float:
    return 1_000_000 / _rate(start, found, numbers)


def main() -> None:
    arguments = parser().parse_args()
    scale = QUICK if arguments.quick else Scale()
    script.run(__file__, arguments, [partial(part, scale) for part in PARTS])


def parser() -> argparse.ArgumentParser:
    return script.parser(__doc__, len(PARTS))


if __name__ == "__main__":
    main()
