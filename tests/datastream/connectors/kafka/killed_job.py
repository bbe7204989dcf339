"""A job that writes to Kafka exactly once, and is killed at a point of a commit, or at some instant.

    python -m tests.datastream.connectors.kafka.killed_job [KILLS]

starts a Kafka and kills jobs so often, 200 times unless another number is given; each job is started again until
it is done, sending epochs in one transaction or in two, and a consumer of what is committed has to find each of its
records once. It takes some minutes.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from tests.datastream.connectors.kafka.sinks import sink_into
from tests.datastream.connectors.kafka.topics import Topic
from tests.servers.kafka_server import KafkaCluster
from tests.servers.zygote import ForkedSession, Zygote

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka.committer import RecordsCommitter
from penstock.datastream.connectors.kafka.epochs_topic import EpochsTopic
from penstock.runtime.planned.kafka.client import kafka_client
from penstock.testing import TestingSource

EPOCHS: Final = 30
RECORDS: Final = 40
_KILLS: Final = 200
_PATIENCE: Final = 120.0
_LONGEST: Final = 1.5
"""After how many seconds a kill at some instant comes at last."""


class Point(NamedTuple):
    """Where the driver is killed.

    Attributes:
        step: The step of a commit.
        is_after: Whether the step has been done.
        skip: How often it passes before.
    """

    step: str
    is_after: bool = True
    skip: int = 0


POINTS: Final = (
    Point("commit", is_after=False, skip=1),
    Point("init_transactions"),
    *(Point("read", skip=skip) for skip in range(3)),
    Point("begin_transaction", skip=1),
    Point("produce", skip=RECORDS // 2),
    Point("produce", skip=2 * RECORDS + 1),
    Point("commit_transaction", is_after=False, skip=2),
    Point("commit_transaction"),
    Point("commit", skip=1),
)
"""Where a commit can be interrupted: before it, between any two steps of it, and after it."""


def main() -> int:
    """Run the job until its end, or its own."""
    arguments = json.loads(sys.argv[1])
    if arguments["point"] is not None:
        die_at(Point(*arguments["point"]))
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string("execution.checkpointing.dir", arguments["location"])
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    epochs = [records_of(epoch) for epoch in range(EPOCHS)]
    source = TestingSource(epochs)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records").rebalance()
    out = sink_into(arguments["servers"], arguments["topic"], shares=arguments["shares"])
    stream.sink_to(out).set_parallelism(2)
    env.execute()
    return 0


def records_of(epoch: int) -> list[str]:
    return [f"{epoch}.{number}" for number in range(RECORDS)]


def end() -> None:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(point: Point, end: Callable[[], None] = end) -> None:
    """Have this process kill itself at a point, with others if `end` does."""
    passed = 0

    def dying(step: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            nonlocal passed
            passed += 1
            is_due = passed > point.skip
            result = None if is_due and not point.is_after else step(*arguments, **options)
            if is_due:
                end()
            return result

        return run

    if point.step == "commit":
        RecordsCommitter.commit = dying(RecordsCommitter.commit)  # type: ignore[method-assign]
    elif point.step == "read":
        EpochsTopic.read = dying(EpochsTopic.read)  # type: ignore[method-assign]
    else:
        plain = kafka_client().Producer
        own = {point.step: dying(getattr(plain, point.step))}
        kafka_client().Producer = type("DyingProducer", (plain,), own)


class Trial:
    """A job that is started until it is done.

    Args:
        zygote: What drivers are forked from.
        cluster: The Kafka.
        folder: Where the job's checkpoints go.
    """

    def __init__(self, zygote: Zygote, cluster: KafkaCluster, folder: Path) -> None:
        self._zygote = zygote
        self._folder = folder
        self.topic = Topic(cluster)

    def live(self, point: Point | None = None, seconds: float = _PATIENCE, shares: int = 1) -> bool:
        """Run a driver until it is killed, at a point or after some time; return whether the job is done."""
        arguments = {
            "location": str(self._folder / self.topic.name),
            "servers": self.topic.servers,
            "topic": self.topic.name,
            "point": point,
            "shares": shares,
        }
        log = self._folder / f"{self.topic.name}.log"
        with log.open("wb") as output:
            life = self._zygote.start([json.dumps(arguments)], os.environ, output)
        code = _code_after(life, seconds)
        assert code in {0, -signal.SIGKILL}, log.read_text()
        return code == 0

    def check(self) -> None:
        """Make sure that each record is there once."""
        found = Counter(self.topic.values())
        assert found == Counter(one for epoch in range(EPOCHS) for one in records_of(epoch))


def _code_after(life: ForkedSession, seconds: float) -> int:
    """Wait for a driver, and kill it after some seconds; return what it returned."""
    deadline = time.monotonic() + seconds
    while (code := life.poll()) is None and time.monotonic() < deadline:
        time.sleep(0.005)
    if code is None:
        assert seconds < _PATIENCE, "it hangs"
        life.kill()
        while (code := life.poll()) is None:
            time.sleep(0.005)
    life.end()
    return code


def prove(kills: int) -> None:
    """Kill jobs so often, and say what came of it."""
    chance, happened, jobs, began = random.Random(kills), Counter[str](), 0, time.monotonic()
    with (
        closing(KafkaCluster()) as cluster,
        closing(Zygote(__spec__.name)) as zygote,
        TemporaryDirectory() as folder,
    ):
        while happened.total() < kills:
            trial = Trial(zygote, cluster, Path(folder))
            is_done = False
            while not is_done:
                point = chance.choice([*POINTS, *[None] * len(POINTS)])
                seconds = _PATIENCE if point else chance.uniform(0, _LONGEST)
                is_done = trial.live(point, seconds, chance.choice((1, 2)))
                if not is_done:
                    how = "after" if point and point.is_after else "before"
                    happened[f"{how} {point.step}" if point else "at some instant"] += 1
            trial.check()
            jobs += 1
            print(f"{jobs} jobs, {happened.total()} kills", flush=True)
    print(
        dict(happened.most_common()), f"{time.monotonic() - began:.0f} s: each record is there once"
    )


if __name__ == "__main__":
    prove(int(sys.argv[1]) if len(sys.argv) > 1 else _KILLS)
