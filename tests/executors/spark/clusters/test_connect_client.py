"""A machine with the client of Spark Connect alone, without Java, and a server whose Python has nothing of penstock's."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.servers.connect_server import NEEDS_CONNECT, ConnectServer
from tests.servers.processes import process_of

pytestmark = [NEEDS_CONNECT, pytest.mark.spark, pytest.mark.timeout(300)]

OF_WORKERS = ("pyarrow", "pandas", "numpy", "dateutil", "pytz", "six", "tzdata")

BOUNDED = """
import asyncio
import json
import os
import sys
from importlib.util import find_spec

from pyspark.sql.types import StructType

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream, AsyncFunction, KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
)
from penstock.datastream.aggregates import Count
from penstock.datastream.connectors.spark import SparkSink
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.common import Types
from penstock.errors import SourceNotReadableError, StreamingOnConnectError, UserFunctionError
from penstock.spark import async_map, get_session

found = {"py4j": find_spec("py4j") is not None}
spark = get_session()
env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
LATE = OutputTag("odd", Types.LONG())


class Numbered(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, context):
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()
        if value % 2:
            yield LATE, value


class Ask(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.01)
        return [value * 10]


numbers = env.from_collection([1, 1, 2, 3, 3, 3])
counted = numbers.key_by(lambda number: number).process(Numbered())
found["state"] = sorted(counted.execute_and_collect())
found["side"] = sorted(counted.get_side_output(LATE).execute_and_collect())
asked = AsyncDataStream.ordered_wait(env.from_collection([1, 2, 3]), Ask(), Duration.of_seconds(9))
found["async"] = sorted(asked.execute_and_collect())

schema = StructType().add("${key}", "string").add("at", "long")
rows = spark.createDataFrame([("a", 1), ("b", 2), ("a", 3)], schema)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("at")
stream = env.from_data_frame(rows, watermark_strategy=strategy)
found["column"] = sorted(row["${key}"] for row in stream.execute_and_collect())
windows = stream.key_by("${key}").window(TumblingEventTimeWindows.of(10)).aggregate(Count())
found["windows"] = sorted(windows.execute_and_collect())
frame = stream.map(lambda row: (row[0], row[1] + 1)).to_data_frame("`${key}` string, n long")
found["frame"] = sorted(map(list, frame.collect()))
stream.map(lambda row: (row[0], row[1])).sink_to(
    SparkSink(schema="name string, n long", path=sys.argv[1], mode="append")
)
env.execute("to a sink")
found["sink"] = sorted(map(list, spark.read.parquet(sys.argv[1]).collect()))


async def ask(row):
    return [(row.id * 2,)]


found["async_map"] = sorted(row.n for row in async_map(spark.range(3), ask, "n long").collect())


def error_of(work, kind):
    try:
        work()
    except kind as error:
        return error.message


def fail(value):
    raise ValueError(f"no {value}")


found["failed"] = error_of(
    lambda: list(env.from_collection([7]).map(fail).execute_and_collect()), UserFunctionError
)
nowhere = spark.read.schema("a int").json("/nothing/is/here")
found["frame of nothing"] = error_of(lambda: env.from_data_frame(nowhere), SourceNotReadableError)
text = env.read_text_file("/nothing/is/here")
found["text of nothing"] = error_of(
    lambda: list(text.execute_and_collect()), SourceNotReadableError
)
rate = env.from_data_frame(spark.readStream.format("rate").load())
found["stream"] = error_of(lambda: rate.execute_and_collect(), StreamingOnConnectError)
print(json.dumps(found))
"""

WAITING = """
import os
import sys
import threading

from penstock.datastream import StreamExecutionEnvironment

begun = sys.argv[1]


def wait_for_ever(_):
    with open(f"{begun}.draft", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{begun}.draft", begun)
    threading.Event().wait()


env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).map(wait_for_ever).print()
env.execute("for ever")
print("returned")
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A server whose Python has what Spark wants there, and neither penstock nor cloudpickle."""
    folder = tmp_path_factory.mktemp("server")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH")
        python = bare_python(folder / "bare")
        with closing(ConnectServer(folder / "work", str(python))) as server:
            yield server


def bare_python(folder: Path, *more: str) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    places = {"base": str(folder), "platbase": str(folder)}
    theirs = Path(sysconfig.get_path("purelib", "venv", places))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.name.partition(".")[0].removesuffix("_cext") in (*OF_WORKERS, *more):
            (theirs / entry.name).symlink_to(entry)
    for name in ("penstock", "cloudpickle"):
        command = [str(python), "-c", f"import {name}"]
        assert subprocess.run(command, capture_output=True, check=False).returncode
    return python


def begin(
    client: Path, server: ConnectServer, program: str, folder: Path, *arguments: str
) -> subprocess.Popen[str]:
    """Start a program where there is no Java, and nothing else but the client."""
    script = folder / "program.py"
    script.write_text(program)
    nothing = folder / "nothing"
    nothing.mkdir(exist_ok=True)
    environment = {"PATH": str(nothing), "HOME": str(folder), "SPARK_REMOTE": server.url}
    return subprocess.Popen(
        [client, script, *arguments],
        env=environment,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_bounded_program(client: Path, server: ConnectServer, tmp_path: Path) -> None:
    job = begin(client, server, BOUNDED, tmp_path, str(tmp_path / "sink"))
    printed, said = job.communicate(timeout=240)

    assert job.returncode == 0, said
    found = json.loads(printed.splitlines()[-1])
    assert not found["py4j"]
    assert found["state"] == [[1, 1], [1, 2], [2, 1], [3, 1], [3, 2], [3, 3]]
    assert found["side"] == [1, 1, 3, 3, 3]
    assert found["async"] == [10, 20, 30]
    assert found["column"] == ["a", "a", "b"]
    assert found["windows"] == [1, 2]
    assert found["frame"] == [["a", 2], ["a", 4], ["b", 3]]
    assert found["sink"] == [["a", 1], ["a", 3], ["b", 2]]
    assert found["async_map"] == [0, 2, 4]
    assert "ValueError: no 7" in found["failed"]
    assert "PATH_NOT_FOUND" in found["frame of nothing"]
    assert found["text of nothing"].startswith("The text file '/nothing/is/here' cannot be read")
    assert "is one of Spark Connect" in found["stream"]


def test_ctrl_c_ends_a_job_and_what_the_server_does_for_it(
    client: Path, server: ConnectServer, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    job = begin(client, server, WAITING, tmp_path, str(begun))
    while not begun.exists():
        assert job.poll() is None

    job.send_signal(signal.SIGINT)
    printed, said = job.communicate(timeout=60)

    assert printed.endswith("returned\n"), said
    assert "Traceback" not in said
    assert "for ever: cancelled after" in said
    while process_of(int(begun.read_text())) is not None:
        pass
