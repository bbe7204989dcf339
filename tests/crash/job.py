"""The driver of the crash test: `python -m tests.crash.job --location D --input I --output O ...`.

Runs the program until the input is done. Started again on the same location it goes on.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from tests.crash import points, program, records
from tests.crash.sinks import sinks_of

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.testing import TestingSource


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
        "spark.executor.extraJavaOptions": quick,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.python.unix.domain.socket.enabled": "true",
        f"spark.executorEnv.{points.SESSION}": str(os.getsid(0)),
        **dict(item.split("=", 1) for item in options.set if item.startswith("spark.")),
    }
    if text := os.environ.get(points.VARIABLE):
        settings[f"spark.executorEnv.{points.VARIABLE}"] = text
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


def main() -> int:
    options = arguments()
    spark = None if options.master == "local" else spark_session(options)
    points.watch_spark(options.location)
    env = StreamExecutionEnvironment.get_execution_environment(configuration(options), spark=spark)
    env.set_parallelism(options.parallelism)
    results = program.results_of(source_of(env, options, spark))
    for name, sink in sinks_of(options).items():
        results.sink_to(sink).uid(name)
    print("started", flush=True)
    env.execute("crash")
    print("finished", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
