"""Programs that are interrupted as a terminal does it: every process of theirs gets the signal.

python -m tests.executors.interrupted SESSION KIND WAY MARKER

runs a job in which something takes long, and makes the file MARKER once it does.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.executors.driver.progress.screens import Screen
from tests.servers.processes import processes

from penstock.common import Configuration, Encoder, Time, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files.committer import FileCommitter
from penstock.testing import TestingSource

SECONDS = 90
"""How long is waited for what comes soon, if all is well."""

_LONG = 60


def _touch(marker: str) -> None:
    Path(marker).touch()


class Ask(AsyncFunction[Any, Any]):
    """A call that takes long."""

    def __init__(self, marker: str) -> None:
        self._marker = marker

    async def async_invoke(self, value: Any) -> list[Any]:
        _touch(self._marker)
        await asyncio.sleep(_LONG)
        return [value]


def _with(kind: str, stream: DataStream, marker: str) -> DataStream:
    """Return a stream with something in it that takes long."""

    def sleep(value: Any) -> Any:
        Path(marker).touch()
        time.sleep(_LONG)
        return value

    def pass_on(value: Any) -> Any:
        Path(marker).touch()
        return value

    def spin(value: Any) -> Any:
        Path(marker).touch()
        while time.monotonic():
            pass

    if kind == "commit":
        _commit_slowly(marker)
        sink = FileSink.for_row_format(f"{marker}-out", Encoder.simple_string_encoder())
        stream.sink_to(sink.build())
    if kind == "async":
        return AsyncDataStream.unordered_wait(stream, Ask(marker), Time.seconds(2 * _LONG))
    if kind == "quick":
        return stream.map(pass_on)
    if kind == "commit":
        return stream.map(lambda value: value)
    return stream.map({"sleep": sleep, "spin": spin}[kind])


def _commit_slowly(marker: str) -> None:
    """Have the files of an epoch take long to be published."""

    def commit(self: FileCommitter, found: object, context: object) -> None:
        Path(marker).touch()
        time.sleep(_LONG)

    FileCommitter.commit = commit  # type: ignore[assignment, method-assign]


_SLOW_STARTS = {
    "build": ("penstock.datastream.environment_execution.build_stream_graph", False),
    "session": ("pyspark.sql.session.SparkSession.__init__", True),
    "call": ("penstock.executors.spark.prepared_job.PreparedJob.__init__", True),
}
"""What takes long of a start: the call, and whether that waits for Java."""


def _touch_as_java_starts(marker: str) -> None:
    """Tell when a Java process begins to come up."""
    from pyspark import java_gateway

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(*arguments, **options)
        Path(marker).touch()
        return process

    patch.object(java_gateway, "Popen", start).start()


def _start_slowly(name: str, is_in_java: bool, marker: str) -> None:
    """Have a call of a job's start take long."""

    def last(*arguments: object, **options: object) -> None:
        Path(marker).touch()
        if is_in_java:
            from pyspark import SparkContext

            java: Any = SparkContext._jvm
            java.Thread.sleep(_LONG * 1000)
        else:
            time.sleep(_LONG)

    patch(name, last).start()


def _environment(session: str) -> tuple[StreamExecutionEnvironment, DataStream]:
    configuration = Configuration().set_integer("parallelism.default", 2)
    # On a busy machine it would come in between.
    configuration.set_string("execution.progress.interval", "1 h")
    if session == "none":
        configuration.set_string("spark.master", "local[2]")
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        return env, env.from_collection([1, 2])
    if session == "local":
        configuration.set_string("execution.target", "local")
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        source = TestingSource([[number] for number in range(1000)])
        return env, env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    from pyspark.sql import SparkSession

    if session == "user":
        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    elif session == "submitted":
        SparkSession.builder.getOrCreate()
    else:
        from penstock.executors.spark.session import session as built

        configuration.set_string("spark.master", "local[2]")
        built(None, configuration)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    rows = SparkSession.active().readStream.format("rate-micro-batch")
    frame = rows.option("rowsPerBatch", 10).load()
    return env, env.from_data_frame(frame).map(lambda row: row.value)


def main(session: str, kind: str, way: str, marker: str) -> None:
    # What a shell starts in the background ignores it, and so does all that is started from there.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.dump_traceback_later(SECONDS - 10)
    env, stream = _environment(session)
    if kind in _SLOW_STARTS:
        _start_slowly(*_SLOW_STARTS[kind], marker)
        kind = "sleep"
    if kind == "java":
        _touch_as_java_starts(marker)
        kind = "sleep"
    stream = _with(kind, stream, marker)
    if way == "iterate":
        for _ in stream.execute_and_collect():
            pass
    elif way == "with":
        with stream.execute_and_collect() as results:
            for _ in results:
                pass
    else:
        stream.add_sink(lambda value: None)
        if way == "execute":
            env.execute("job")
            print("returned")
        else:
            env.execute_async("job").get_job_execution_result().result()


class Interrupted(NamedTuple):
    """A program that was interrupted.

    Attributes:
        seconds: How long it took to end.
        code: What it ended with.
        output: Its standard output.
        errors: The lines on standard error since it was interrupted, but for empty ones.
        left: The processes that it left behind.
    """

    seconds: float
    code: int
    output: str
    errors: list[str]
    left: Sequence[object]


def interrupted(
    session: str, kind: str, way: str, folder: Path, screen: Screen | None = None
) -> Interrupted:
    """Run a program, interrupt it as soon as something in it takes long, and wait for its end.

    Args:
        session: What it runs on.
        kind: What takes long.
        way: How it waits for the job.
        folder: Where it leaves files.
        screen: The terminal that it has; then `errors` are what is on it at the end.
    """
    marker, errors = folder / "marker", folder / "errors"
    program = [sys.executable, "-m", "tests.executors.interrupted"]
    if session == "submitted":
        program = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
        program += ["--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=WARN", __file__]
    command = [*program, session, kind, way, str(marker)]
    with (
        errors.open("w") as log,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log if screen is None else screen.err,
            text=True,
            start_new_session=True,
        ) as run,
    ):
        try:
            until = time.monotonic() + SECONDS
            while not marker.exists():
                assert run.poll() is None, errors.read_text()
                assert time.monotonic() < until, errors.read_text()
                time.sleep(0.05)
            before = errors.stat().st_size
            begun = time.monotonic()
            if screen is not None:
                screen.write_from_outside("^C")
            os.killpg(run.pid, signal.SIGINT)
            try:
                code = run.wait(SECONDS)
            except subprocess.TimeoutExpired:
                raise AssertionError(errors.read_text()) from None
            seconds = time.monotonic() - begun
            # Java holds it until it has ended too.
            output, _ = run.communicate(timeout=SECONDS)
            left = _left(run.pid)
        finally:
            if processes(run.pid):
                os.killpg(run.pid, signal.SIGKILL)
    said = errors.read_text()[before:].splitlines() if screen is None else screen.rows()
    return Interrupted(seconds, code, output, [line for line in said if line.strip()], left)


def _left(session: int) -> Sequence[object]:
    """Return the processes of a session that do not end soon."""
    until = time.monotonic() + 10
    while (found := processes(session)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
