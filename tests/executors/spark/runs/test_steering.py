"""Streaming jobs on Spark are seen, saved, stopped and cancelled by another process, through their REST API."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.semantics.observation.test_view import view_of

from penstock.common import Configuration, JobStatus, Row, Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import EpochCompleted, EpochListener, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.driver.rest.serving import SERVING
from penstock.inspection import verify_checkpoint

pytestmark = pytest.mark.spark

SECONDS = 100
MINUTE = 60_000


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: Row, record_timestamp: int | None) -> int:
        return int(value.number)


class Seen(EpochListener):
    """Looks at a job after each epoch, and tells when it has read as many records as the test waits for."""

    def __init__(self, name: str, records: int) -> None:
        self._name = name
        self._left = records
        self.views: list[JobView] = []
        self.read = threading.Event()

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        self.views.append(view_of(self._name))
        self._left -= event.records_in
        if self._left <= 0:
            self.read.set()


class Shops:
    """Two streams of numbers, which are event time in milliseconds too, and a job that sums both by the minute."""

    def __init__(self, spark: SparkSession, folder: Path, name: str) -> None:
        self._spark = spark
        self.folder = folder
        self.name = name
        self._files = 0
        for shop in ("first", "second"):
            (folder / shop).mkdir()

    def sells(self, shop: str, *numbers: int) -> None:
        draft = self.folder / "draft"
        draft.write_text("\n".join(json.dumps({"number": number}) for number in numbers))
        os.utime(draft, (self._files, self._files))
        draft.rename(self.folder / shop / f"{self._files:03d}.json")
        self._files += 1

    def program(self, location: str, **settings: Any) -> StreamExecutionEnvironment:
        configuration = Configuration()
        configuration.set_string("execution.checkpointing.dir", str(self.folder / location))
        configuration.set_string("rest.port", "0")
        for key, value in settings.items():
            configuration.set_string(key.replace("__", ".").replace("_", "-"), str(value))
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=self._spark)
        env.set_parallelism(2)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
        shops = [
            env.from_data_frame(
                self._spark.readStream.schema("number int").json(str(self.folder / shop)),
                watermark_strategy=strategy,
            )
            .uid(shop)
            .name(shop)
            for shop in ("first", "second")
        ]
        numbers = shops[0].union(shops[1]).map(lambda row: row.number).name("Numbers")
        windows = numbers.key_by(lambda _: 0).window(TumblingEventTimeWindows.of(Time.minutes(1)))
        sums = windows.reduce(lambda one, other: one + other).uid("sums")
        sums.print().uid("print").set_parallelism(1)
        return env

    def begun(self, location: str, records: int, **settings: Any) -> tuple[Any, Seen]:
        """Start the job, and wait until it has read so many records."""
        env = self.program(location, **settings)
        seen = Seen(self.name, records)
        env.add_epoch_listener(seen)
        client = env.execute_async(self.name)
        assert seen.read.wait(SECONDS)
        return client, seen

    def ask(self, command: str, *options: str) -> Any:
        """Ask the job for something, from another process."""
        assert SERVING.address is not None
        asked = [command, self.name, "--json", "--address", SERVING.address, *options]
        run = subprocess.run(
            [sys.executable, "-m", "penstock", *asked],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)


def printed(capsys: pytest.CaptureFixture[str]) -> list[int]:
    return [int(line) for line in capsys.readouterr().out.split()]


def reached(view: JobView) -> dict[str, int]:
    """Return how far each operator is seen to be that has heard of event time."""
    operators = [operator for vertex in view.vertices for operator in vertex.operators]
    found = {operator.name: operator.figures.output_watermark for operator in operators}
    return {name.removeprefix("Source: "): at for name, at in found.items() if at is not None}


def test_a_job_is_saved_and_stopped_from_outside_and_goes_on(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shops = Shops(spark, tmp_path, "stopped from outside")
    shops.sells("first", 1, 2)
    shops.sells("second", 3)
    client, _ = shops.begun("one", 3)
    saved = shops.ask("savepoint", "--to", str(tmp_path))["location"]
    shown = shops.ask("show")
    stopped = shops.ask("stop", "--to", str(tmp_path))["location"]
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert (shown["status"], shown["records_in"], shown["name"]) == ("RUNNING", 3, shops.name)
    assert printed(capsys) == []
    assert all(verify_checkpoint(path).is_whole for path in (saved, stopped))

    # Files of one micro-batch are read by tasks of their own, and none of them knows how far the others came.
    shops.sells("first", 5 * MINUTE)
    shops.sells("first", 4)
    shops.sells("second", 5 * MINUTE + 7)
    shops.sells("second", 5)
    settings = {"execution__state_recovery__path": stopped, "execution__epoch__available_now": True}
    env = shops.program("two", **settings)
    seen = Seen(shops.name, 4)
    env.add_epoch_listener(seen)
    env.execute(shops.name)

    assert printed(capsys) == [15, 10 * MINUTE + 7]
    assert view_of(shops.name).late_records == 0
    for view in seen.views:
        found = reached(view)
        assert view.watermark == min(found["first"], found["second"]) == found["Numbers"]
    found = reached(seen.views[0])
    assert (found["first"], found["second"]) == (5 * MINUTE - 1, 5 * MINUTE + 6)


def test_a_job_that_was_cancelled_from_outside_goes_on_where_it_was(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shops = Shops(spark, tmp_path, "cancelled from outside")
    shops.sells("first", 1, 2)
    client, _ = shops.begun("one", 2)
    assert shops.ask("cancel") == {"state": "CANCELED"}
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert printed(capsys) == []

    shops.sells("second", 3)
    shops.program("one", execution__epoch__available_now=True).execute(shops.name)
    assert printed(capsys) == [6]
