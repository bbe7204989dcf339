"""How fast topics of Kafka are read and written, as ratios to PyFlink and to Spark, and how late what is counted is.

    python benchmarks/kafka.py                  all parts
    python benchmarks/kafka.py --quick          the same with less of everything
    python benchmarks/kafka.py --part 2         one part
    python benchmarks/kafka.py --json FILE      the figures as JSON too

All sides use one broker of a single node, which is started for the benchmark on the same machine. Topics have
four partitions, jobs two subtasks. PyFlink runs the programs of `sides/kafka_programs.py` too, with Flink's own
connector.

Part 1: messages of 100 bytes are read from a topic, each gives a number, and the numbers are added up: against
        the same by hand in PySpark with Spark's connector, and against PyFlink. What starts and ends a job is
        shown by one of few messages.
Part 2: messages come at 1,000 a second; each key's are counted, and every count is written to another topic,
        exactly once. The latency of a count is the time from when its message was due to be written until a consumer
        of that topic, which reads what is committed, has it. Each round is a job of its own, whose
        first seconds do not count; every round is checked for counts that are missing or there twice. PyFlink makes
        a checkpoint every second, which is when Flink commits.
Part 3: messages of 100 bytes are written, exactly once and at least once, against the same by hand in PySpark,
        which writes at least once, and against PyFlink.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import peers, script
from benchmarks.kit.kafka import FLINK_CONNECTOR, Broker, check_counts
from benchmarks.kit.measure import Row, Run, alternate
from benchmarks.kit.session import shared_session
from benchmarks.kit.tally import Outcome, Tally, timed
from benchmarks.latency import Latencies, quantile
from benchmarks.sides import kafka_on_spark, kafka_programs
from benchmarks.sides.kafka_programs import count_of, due_message, message
from scripts.kafka_jars import connector, fetched

from penstock.common import Configuration
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.datastream import SinkFunction

PARALLELISM = 2
RATE = 1_000
PENSTOCK = "penstock"
BY_HAND = "by hand on Spark"
FEW = 1_000
PATIENCE = 60.0
SHARES = {0.5: "p50", 0.95: "p95", 0.99: "p99"}
P50 = 500
"""Milliseconds that half of the counts should not exceed."""


@dataclass(frozen=True)
class Scale:
    """How much of everything.

    Attributes:
        rounds: Timed runs of each side.
        records: What Spark's jobs read.
        written: What they write.
        thread_records: What PyFlink reads or writes in thread mode.
        process_records: The same in process mode.
        check_records: Messages of the comparison of results.
        warm_up: Seconds of each round whose latencies do not count.
        seconds: Seconds of each round whose latencies count.
    """

    rounds: int = 5
    records: int = 4_000_000
    written: int = 1_000_000
    thread_records: int = 400_000
    process_records: int = 100_000
    check_records: int = 20_000
    warm_up: float = 10
    seconds: float = 12


QUICK = Scale(
    rounds=1,
    records=400_000,
    written=100_000,
    thread_records=40_000,
    process_records=20_000,
    check_records=5_000,
    warm_up=6,
    seconds=5,
)


class Sides:
    """All that is measured, each started when it is first asked for.

    Args:
        stack: Ends them.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    @cached_property
    def broker(self) -> Broker:
        """The broker of all."""
        return self._stack.enter_context(closing(Broker()))

    @cached_property
    def spark(self) -> SparkSession:
        """Spark on two cores, with its connector."""
        spark = shared_session(connector())
        self._stack.callback(spark.stop)
        return spark

    @contextmanager
    def flink(self, mode: str) -> Iterator[peers.PyFlink]:
        """PyFlink with Flink's connector."""
        jars = fetched("org.apache.flink", "flink-sql-connector-kafka", FLINK_CONNECTOR)
        (jar,) = jars.glob("*.jar")
        with peers.PyFlink(mode, "sides.pyflink_kafka", str(jar)) as flink:
            yield flink

    @contextmanager
    def filled(self, records: int) -> Iterator[str]:
        """A topic with messages of the numbers from 1."""
        with self.broker.topic() as topic:
            self.broker.fill(topic, map(message, range(1, records + 1)))
            yield topic

    def environment(self, **settings: str) -> StreamExecutionEnvironment:
        """An environment of penstock's."""
        configuration = Configuration()
        for name, value in settings.items():
            configuration.set_string(name, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=self.spark)
        env.set_parallelism(PARALLELISM)
        return env.set_runtime_mode(RuntimeExecutionMode.STREAMING)


def named(mode: str) -> str:
    return f"PyFlink {peers.VERSION}, {mode} mode"


def reading(sides: Sides, scale: Scale) -> list[Row]:
    """Part 1: how fast messages are read."""

    def read(topic: str, tally: Tally) -> None:
        env = sides.environment()
        numbers = kafka_programs.numbers_read(env, sides.broker.servers, topic)
        numbers.add_sink(cast("SinkFunction", tally))
        env.execute("read numbers")

    def read_by_hand(topic: str, tally: Tally) -> None:
        kafka_on_spark.read_numbers(sides.spark, sides.broker.servers, topic, tally)

    def rate(job: Callable[[str, Tally], None], topic: str, records: int) -> float:
        outcome = timed(partial(job, topic))
        _check(outcome, records)
        return records / outcome.seconds

    jobs = {PENSTOCK: read, BY_HAND: read_by_hand}
    modes = {"process": scale.process_records, "thread": scale.thread_records}
    with ExitStack() as stack:
        few, all_of_it = (
            stack.enter_context(sides.filled(records)) for records in (FEW, scale.records)
        )
        runs: dict[str, Run] = {
            name: partial(rate, job, all_of_it, scale.records) for name, job in jobs.items()
        }
        for name, job in jobs.items():
            runs[name]()
            print(f"  {name}: {FEW / rate(job, few, FEW):.2f} s for {FEW:,} messages")
        for mode, records in modes.items():
            flink = stack.enter_context(sides.flink(mode))
            topics = {
                count: stack.enter_context(sides.filled(count))
                for count in (scale.check_records, records)
            }
            asked = partial(flink.ask, what="read", servers=sides.broker.servers)
            found = asked(topic=topics[scale.check_records], check=True)
            _check(Outcome(0, int(found["count"]), int(found["total"])), scale.check_records)
            seconds = asked(topic=few, check=False)["seconds"]
            print(f"  {named(mode)}: {seconds:.2f} s for {FEW:,} messages")
            runs[named(mode)] = partial(_asked_rate, asked, topics[records], records)
        figures = alternate(runs, scale.rounds)
    return _rows(
        f"messages of 100 bytes read from a topic, {scale.records:,}, PyFlink fewer",
        figures,
        {PENSTOCK: {BY_HAND: 0.7, named("process"): 20, named("thread"): None}},
    )


def counting(sides: Sides, scale: Scale) -> list[Row]:
    """Part 2: how late counts from topic to topic are."""
    found: dict[str, list[Latencies]] = {PENSTOCK: [], named("process"): []}

    @contextmanager
    def counted(topic: str, results: str) -> Iterator[None]:
        with TemporaryDirectory(prefix="counts-") as folder:
            env = sides.environment(**{"execution.checkpointing.dir": folder})
            kafka_programs.count_keys(env, sides.broker.servers, topic, results)
            job = env.execute_async("count keys")
            try:
                yield
            finally:
                job.cancel().result()

    with sides.flink("process") as flink:

        @contextmanager
        def counted_by_flink(topic: str, results: str) -> Iterator[None]:
            servers = sides.broker.servers
            flink.ask(what="count", servers=servers, topic=topic, results=results, interval=1_000)
            try:
                yield
            finally:
                flink.ask(what="stop")

        jobs = {PENSTOCK: counted, named("process"): counted_by_flink}
        for number in range(scale.rounds):
            for name in list(jobs) if number % 2 == 0 else list(jobs)[::-1]:
                latencies = _latencies(sides.broker, jobs[name], scale)
                found[name].append(latencies)
                print(f"  round {number + 1}, {name}: {_said(latencies.milliseconds)}", flush=True)
    for name, every in found.items():
        print(f"  all, {name}: {_said([one for it in every for one in it.milliseconds])}")
    job = f"counts of {kafka_programs.KEYS} keys from topic to topic, exactly once, at {RATE:,} records/s"
    rows = []
    for share, what in SHARES.items():
        mine, theirs = ([one.quantile(share) for one in every] for every in found.values())
        row = partial(Row, job=f"{job}, {what}", unit="ms", penstock=mine, lower_is_better=True)
        if what == "p50":
            rows.append(row(target=P50))
        rows.append(row(against=f"{named('process')}, checkpoints of 1 s", other=theirs))
    return rows


Job = Callable[[str, str], Any]


def _latencies(broker: Broker, job: Job, scale: Scale) -> Latencies:
    """Runs a job between two topics, and takes down how late each of its results is there."""
    end = time.monotonic() + PATIENCE + scale.warm_up + scale.seconds
    found = Latencies([], [])
    with broker.topic() as topic, broker.topic() as results:
        arrivals = broker.arrivals(results, end)
        with broker.paced(topic, RATE, due_message), job(topic, results), closing(arrivals):
            begin: float | None = None
            for arrived, text in arrivals:
                key, count, due = count_of(text)
                begin = begin if begin is not None else arrived + scale.warm_up * 1_000
                found.results.append((key, count))
                if due >= begin + scale.seconds * 1_000:
                    break
                if due >= begin:
                    found.milliseconds.append(arrived - due)
            else:
                sys.exit(f"Only {len(found.results)} counts arrived.")
        check_counts(map(count_of_key, broker.values(results)))
    return found


def count_of_key(text: str) -> tuple[int, int]:
    return count_of(text)[:2]


def writing(sides: Sides, scale: Scale) -> list[Row]:
    """Part 3: how fast messages are written."""
    broker = sides.broker
    with sides.flink("process") as flink:
        jobs = _writers(sides, flink, scale)
        for job, records in jobs.values():
            _written_rate(broker, job, scale.check_records, is_checked=True)
            _written_rate(broker, job, records)
        runs: dict[str, Run] = {
            name: partial(_written_rate, broker, *job) for name, job in jobs.items()
        }
        figures = alternate(runs, scale.rounds)
    rows = []
    for said in GUARANTEES.values():
        mine = f"{PENSTOCK}, {said}"
        rows += _rows(
            f"messages of 100 bytes written to a topic {said}, {scale.written:,}, PyFlink fewer",
            figures,
            {mine: {BY_HAND: None, f"{named('process')}, {said}": None}},
        )
    return rows


Write = Callable[[str, int], float]
"""Writes so many messages to a topic, and says how many seconds it took."""


def _writers(sides: Sides, flink: peers.PyFlink, scale: Scale) -> dict[str, tuple[Write, int]]:
    """What writes messages, and how many of them are timed."""
    servers = sides.broker.servers

    def write(guarantee: str, topic: str, records: int) -> float:
        env = sides.environment()
        kafka_programs.write_numbers(env, servers, topic, guarantee, records)
        start = time.perf_counter()
        env.execute("write numbers")
        return time.perf_counter() - start

    def write_by_hand(topic: str, records: int) -> float:
        start = time.perf_counter()
        kafka_on_spark.write_numbers(sides.spark, servers, topic, records)
        return time.perf_counter() - start

    def write_by_flink(guarantee: str, topic: str, records: int) -> float:
        order = partial(flink.ask, what="write", servers=servers, topic=topic)
        return float(order(guarantee=guarantee, records=records)["seconds"])

    found: dict[str, tuple[Write, int]] = {BY_HAND: (write_by_hand, scale.written)}
    for guarantee, said in GUARANTEES.items():
        found[f"{PENSTOCK}, {said}"] = partial(write, guarantee), scale.written
        by_flink = partial(write_by_flink, guarantee)
        found[f"{named('process')}, {said}"] = by_flink, scale.process_records
    return found


def _written_rate(broker: Broker, write: Write, records: int, *, is_checked: bool = False) -> float:
    with broker.topic() as topic:
        seconds = write(topic, records)
        if is_checked:
            values = list(map(kafka_programs.number_of, broker.values(topic)))
            _check(Outcome(seconds, len(values), sum(values)), records)
    return records / seconds


GUARANTEES = {"EXACTLY_ONCE": "exactly once", "AT_LEAST_ONCE": "at least once"}
PARTS = (reading, counting, writing)


def _asked_rate(asked: Callable[..., dict[str, Any]], topic: str, records: int) -> float:
    return records / float(asked(topic=topic, check=False)["seconds"])


def _check(outcome: Outcome, records: int) -> None:
    found, wanted = (outcome.count, outcome.total), (records, records * (records + 1) // 2)
    if found != wanted:
        sys.exit(f"Wrong results: {found} as count and sum instead of {wanted}.")


def _said(milliseconds: Sequence[float]) -> str:
    return ", ".join(
        f"{name} {quantile(milliseconds, share):,.0f} ms" for share, name in SHARES.items()
    )


def _rows(
    job: str,
    figures: Mapping[str, Sequence[float]],
    compared: Mapping[str, Mapping[str, float | None]],
) -> list[Row]:
    return [
        Row(
            job=job,
            unit="records/s",
            penstock=figures[mine],
            against=other,
            other=figures[other],
            target=target,
        )
        for mine, others in compared.items()
        for other, target in others.items()
    ]


def main() -> None:
    arguments = parser().parse_args()
    scale = QUICK if arguments.quick else Scale()
    with ExitStack() as stack:
        sides = Sides(stack)
        script.run(__file__, arguments, [partial(part, sides, scale) for part in PARTS])


def parser() -> argparse.ArgumentParser:
    return script.parser(__doc__, len(PARTS))


if __name__ == "__main__":
    main()
