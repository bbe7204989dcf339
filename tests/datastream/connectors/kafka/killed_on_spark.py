"""A job on Spark, from topic to topic exactly once, whose driver and Python workers are killed.

    python -m tests.datastream.connectors.kafka.killed_on_spark [KILLS] [SEED]

starts a Kafka and kills so often, 200 times unless another number is given: Python workers at any instant or at named
points, from which the job goes on by itself, and drivers with their JVM at each step of a commit, at named points or
at any instant; they are started again until the job is done. Then a consumer of what is committed has to find what each
record of the input gave once, and the group of the source has to be at the input's end.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from tests.crash import points
from tests.crash.job import spark_session
from tests.datastream.connectors.kafka import killed_job
from tests.datastream.connectors.kafka.sinks import sink_into
from tests.datastream.connectors.kafka.topics import PATIENCE, Topic
from tests.servers.kafka_server import KafkaCluster
from tests.servers.processes import Session, kill, kill_session

from penstock.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.planned.kafka.client import kafka_client

EPOCHS: Final = 40
KEYS: Final = 6
_PARTITIONS: Final = 3
_KILLS: Final = 200
_STUCK: Final = 180.0
_EPOCH: Final = 0.5
"""Within how many seconds of an epoch a kill at any instant comes."""
IN_WORKERS: Final = (
    *("record", "level.before", "level.after", "state.before", "state.in", "state.after"),
    *("prepared.before", "prepared.in", "prepared.after"),
)
"""The points of `tests.crash.points` that tasks reach."""
IN_DRIVERS: Final = (
    *("epoch.before", "epoch.after", "epochs.before", "epochs.in", "epochs.after"),
    *("publish.before", "publish.after", "delete.before", "delete.in", "delete.after"),
    *("spark.offsets.in", "spark.offsets.after", "spark.commits.in", "spark.commits.after"),
)
"""Those that the driver reaches."""


class Fate(NamedTuple):
    """What is to happen to a driver and its workers.

    Attributes:
        commit: The step of sending an epoch at which the driver is killed, with its JVM; None for none.
        point: The point at which somebody is killed; None for none.
        of_worker: Whether that is the worker that reached it, else the driver with its JVM.
        epochs: After how many epochs the driver is killed at some instant; None for never.
        harries: Whether workers are killed at some instant of each epoch.
    """

    commit: killed_job.Point | None = None
    point: str | None = None
    of_worker: bool = True
    epochs: int | None = None
    harries: bool = False


class Count(KeyedProcessFunction):
    """Says of each record how many of its key there were."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        points.reached("record")
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield f"{value} {count}"


def key_of(value: str) -> str:
    return value.partition(".")[0]


points.install()


def main() -> None:
    """Run the job until its end, or its own."""
    arguments = json.loads(sys.argv[1])
    if arguments["commit"] is not None:
        killed_job.die_at(killed_job.Point(*arguments["commit"]), end_session)
    settings = {
        "execution.target": "spark",
        "execution.checkpointing.dir": arguments["location"],
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "10 ms",
    }
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    session: Any = SimpleNamespace(master="local[2, 4]", set=[])
    spark = spark_session(session)
    points.watch_spark(arguments["location"])
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(2)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(arguments["servers"])
        .set_topics(arguments["input"])
        .set_group_id(arguments["input"])
        .set_unbounded(KafkaOffsetsInitializer.latest())
        .set_max_records_per_epoch(killed_job.RECORDS)
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "input")
    counts = stream.key_by(key_of).process(Count())
    counts.sink_to(sink_into(arguments["servers"], arguments["output"]))
    env.execute()


def end_session() -> None:
    """Kill the driver, its JVM and its workers, as one."""
    kill_session(os.getsid(0), lambda process: not points.is_keeper(process))


class Trial:
    """A job that is started until it is done.

    Args:
        cluster: The Kafka.
        folder: Where the job's checkpoints go.
        epochs: How many epochs its input has at least.

    Attributes:
        kills: Of whom and where there was a kill, and how many.
    """

    def __init__(self, cluster: KafkaCluster, folder: Path, epochs: int = EPOCHS) -> None:
        self._input = Topic(cluster, partitions=_PARTITIONS)
        self._output = Topic(cluster, partitions=2)
        self._folder = folder / self._input.name
        self._folder.mkdir()
        self._each = epochs * killed_job.RECORDS // KEYS
        self._lives = 0
        self.kills = Counter[str]()
        producer = kafka_client().Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(self._each):
            for key in range(KEYS):
                producer.produce(self._input.name, f"{key}.{number}", partition=key % _PARTITIONS)
        assert producer.flush(PATIENCE) == 0

    def live(self, fate: Fate, chance: random.Random) -> bool:
        """Run a driver until it meets its fate; return whether the job is done."""
        self._lives += 1
        marker = self._folder / f"{self._lives}.mark"
        log = self._folder / f"{self._lives}.log"
        environment = dict(os.environ)
        environment.pop(points.VARIABLE, None)
        if fate.point is not None:
            # The next epochs are still to come, whatever is left of the one before.
            epoch = self._epoch() + chance.randint(2, 4)
            target = "worker" if fate.of_worker else "all"
            point = points.Point(fate.point, epoch, target, str(marker))
            environment[points.VARIABLE] = json.dumps(point._asdict())
        with log.open("wb") as output:
            # Workers are to import the module by its name: that arms the point there.
            program = f"from {__spec__.name} import main; main()"
            command = [sys.executable, "-c", program, self._arguments(fate)]
            session = Session(command, environment, output, output)
        try:
            code = self._see_through(session, fate, chance)
        finally:
            session.end()
        if Path(f"{marker}.done").exists():
            self.kills[f"{'worker' if fate.of_worker else 'driver'} at {fate.point}"] += 1
        elif code is not None and code > 128:
            assert fate.commit is not None, log.read_text(errors="replace")
            how = "after" if fate.commit.is_after else "before"
            self.kills[f"driver {how} {fate.commit.step}"] += 1
        assert code in {None, 0} or code > 128, log.read_text(errors="replace")
        return code == 0

    def _arguments(self, fate: Fate) -> str:
        return json.dumps(
            {
                "location": str(self._folder / "checkpoints"),
                "servers": self._input.servers,
                "input": self._input.name,
                "output": self._output.name,
                "commit": fate.commit,
            }
        )

    def _see_through(self, session: Session, fate: Fate, chance: random.Random) -> int | None:
        """Return what a driver returned; None if it was killed from here."""
        deadline = time.monotonic() + _STUCK
        epoch = first = self._epoch()
        while (code := session.poll()) is None:
            assert time.monotonic() < deadline, "it hangs"
            if (now := self._epoch()) > epoch:
                epoch, deadline = now, time.monotonic() + _STUCK
                time.sleep(chance.uniform(0, _EPOCH))
                if fate.epochs is not None and epoch - first >= fate.epochs:
                    if session.poll() is None and session.kill():
                        self.kills["driver at some instant"] += 1
                        return None
                elif fate.harries:
                    self._harry(session, chance)
            time.sleep(0.02)
        return code

    def _harry(self, session: Session, chance: random.Random) -> None:
        """Kill one of the workers."""
        workers = [one.pid for one in session.processes() if one.is_spark_worker]
        if workers:
            self.kills["worker at some instant"] += kill([chance.choice(workers)])

    def _epoch(self) -> int:
        """Return the last epoch that was committed; -1 for none."""
        with suppress(FileNotFoundError):
            names = os.listdir(self._folder / "checkpoints" / "epochs")
            found = (re.match(r"\d+", name) for name in names)
            return max((int(one[0]) for one in found if one), default=-1)
        return -1

    def check(self) -> None:
        """Make sure that each result is there once, and that the group has read all."""
        found = Counter(self._output.values())
        expected = Counter(
            f"{key}.{number} {number + 1}" for key in range(KEYS) for number in range(self._each)
        )
        assert found == expected, (found - expected, expected - found)
        of_each = self._each * KEYS // _PARTITIONS
        assert self._input.committed() == dict.fromkeys(range(_PARTITIONS), of_each)


def fate_by(chance: random.Random) -> Fate:
    """Return what is to happen, by chance."""
    point = Fate(point=chance.choice(IN_WORKERS), harries=True)
    return chance.choice(
        [
            point._replace(commit=chance.choice(killed_job.POINTS)),
            point._replace(epochs=chance.randint(1, 20)),
            Fate(point=chance.choice(IN_DRIVERS), of_worker=False, harries=True),
            point,
        ]
    )


def prove(kills: int, seed: int) -> None:
    """Kill jobs so often, and say what came of it."""
    chance, happened, jobs, began = random.Random(seed), Counter[str](), 0, time.monotonic()
    with closing(KafkaCluster()) as cluster, TemporaryDirectory() as folder:
        while happened.total() < kills:
            trial = Trial(cluster, Path(folder))
            while not trial.live(fate_by(chance), chance):
                print(f"{(happened + trial.kills).total()} kills", flush=True)
            trial.check()
            happened += trial.kills
            jobs += 1
            print(f"{jobs} jobs done, {happened.total()} kills", flush=True)
    seconds = time.monotonic() - began
    print(dict(happened.most_common()), f"{seconds:.0f} s: each result is there once")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:]]
    prove(*(*numbers, *(_KILLS, 1)[len(numbers) :]))
