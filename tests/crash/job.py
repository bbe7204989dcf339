"""The driver of the crash test: `python -m tests.crash.job --location D --input I --output O ...`.

Runs the program until the input is done. Started again on the same location it goes on.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path
from typing import Any

from tests.crash import points, program, records
from tests.crash.changes import MORE, Version
from tests.crash.sinks import more_files, sinks_of

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.job_client import JobClient
from penstock.datastream import (
    DataStream,
    EpochCompleted,
    EpochListener,
    JobEnded,
    StreamExecutionEnvironment,
)
from penstock.errors import SavepointError
from penstock.testing import TestingSource

ENDS = ("finish", "stop", "savepoint", "stop-with-savepoint", "drain")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--location", required=True, help="the checkpoint location")
    parser.add_argument("--input", required=True, help="the folder of the input")
    parser.add_argument("--output", required=True, help="the folder of the FileSink")
    parser.add_argument("--rolling", default="size", choices=("size", "epoch"))
    parser.add_argument("--table", help="the table of the PostgresSink")
    parser.add_argument("--postgres", help="where PostgreSQL is; none: no PostgresSink")
    parser.add_argument(
        "--master", default="local", help="local: without Spark; local[2]; spark://"
    )
    parser.add_argument("--backend", default="hashmap", choices=("hashmap", "rocksdb"))
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--from", dest="savepoint", help="the savepoint to start from")
    parser.add_argument("--end", default="finish", choices=ENDS, help="what is asked of the job")
    parser.add_argument("--end-after", type=int, default=1, help="after how many epochs")
    parser.add_argument("--savepoints", help="the folder of the savepoints it writes")
    parser.add_argument("--version", type=int, default=0, help="that of the program")
    parser.add_argument("--features", default="", help="what it has beside what it always has")
    parser.add_argument("--drop", action="store_true", help="drop the state of operators gone")
    return parser.parse_args(given)


def configuration(options: argparse.Namespace) -> Configuration:
    found = {
        "execution.target": "local" if options.master == "local" else "spark",
        "execution.checkpointing.dir": options.location,
        "execution.checkpointing.interval": "500 ms",
        "execution.epoch.available-now": "true",
        "restart-strategy.type": "none",
        "state.backend.type": options.backend,
        "pipeline.max-parallelism": "16",
        # Shorter than a call: calls wait at the end of most epochs, and go on in the next.
        "async.drain-timeout": "5 ms",
        **({"execution.state-recovery.path": options.savepoint} if options.savepoint else {}),
        **({"execution.state-recovery.ignore-unclaimed-state": "true"} if options.drop else {}),
        **dict(setting.split("=", 1) for setting in options.set),
    }
    result = Configuration()
    for key, value in found.items():
        result.set_string(key, value)
    return result


def spark_session(options: argparse.Namespace) -> Any:
    """Return a session that begins soon and takes little memory."""
    from pyspark.sql import SparkSession

    from penstock.executors.spark.java import ensure_java

    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss8m"
    settings = {
        "spark.app.name": "crash",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": quick,
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        # One that stands still keeps its cores, and the next is to have some too.
        "spark.cores.max": "2",
        "spark.executor.extraJavaOptions": quick,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.python.unix.domain.socket.enabled": "true",
        f"spark.executorEnv.{points.SESSION}": str(os.getsid(0)),
        # What the driver's environment has is not that of an executor of a cluster.
        **{
            f"spark.executorEnv.{name}": value
            for name, value in os.environ.items()
            if name in points.VARIABLES or name.startswith("AWS_")
        },
        **dict(item.split("=", 1) for item in options.set if item.startswith("spark.")),
    }
    builder = SparkSession.builder.master(options.master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def source_of(
    env: StreamExecutionEnvironment, options: argparse.Namespace, spark: Any
) -> DataStream:
    if spark is None:
        source = TestingSource(records.read(Path(options.input)))
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "input").uid("input")
    reader = spark.readStream.schema(records.SCHEMA).option("maxFilesPerTrigger", 1)
    rows = env.from_data_frame(reader.json(options.input)).uid("input")
    return rows.map(program.as_record).uid("record")


class AfterEpochs(EpochListener):
    """Knows when some epochs are complete, or the job has ended.

    Args:
        epochs: How many.
    """

    def __init__(self, epochs: int) -> None:
        self._left = epochs
        self.has_come = threading.Event()

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        self._left -= 1
        if self._left <= 0:
            self.has_come.set()

    def on_job_ended(self, event: JobEnded) -> None:
        self.has_come.set()


def end(client: JobClient, options: argparse.Namespace, listener: AfterEpochs) -> str:
    """Ask of a job what is to be asked, see it to its end, and return what came of it."""
    if options.end == "finish":
        client.wait()
        return "finished"
    listener.has_come.wait()
    try:
        if options.end == "stop":
            client.stop().result()
            return "stopped"
        if options.end == "savepoint":
            place = client.trigger_savepoint(options.savepoints).result()
            print(f"savepoint {place}", flush=True)
            client.wait()
            return "finished"
        place = client.stop_with_savepoint(options.end == "drain", options.savepoints).result()
    except SavepointError as error:
        client.wait()
        print(error)
        return "finished"
    print(f"savepoint {place}", flush=True)
    return "drained" if options.end == "drain" else "stopped"


def version_of(options: argparse.Namespace) -> Version:
    features = frozenset(filter(None, options.features.split(",")))
    return Version(options.version, features, options.drop)


def main() -> int:
    points.install()  # the environment may be another than when it was imported: see `zygote`
    options = arguments()
    spark = None if options.master == "local" else spark_session(options)
    points.watch_spark(options.location)
    points.tell_of_claim()
    env = StreamExecutionEnvironment.get_execution_environment(configuration(options), spark=spark)
    env.set_parallelism(options.parallelism)
    version = version_of(options)
    results = program.results_of(source_of(env, options, spark), version)
    for name, sink in sinks_of(options).items():
        results.sink_to(sink).uid(name)
    if MORE in version.features:
        results.filter(program.is_stamp).sink_to(more_files(options)).uid(MORE)
    listener = AfterEpochs(options.end_after)
    env.add_epoch_listener(listener)
    print("started", flush=True)
    client = env.execute_async("crash")
    print(end(client, options, listener), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
