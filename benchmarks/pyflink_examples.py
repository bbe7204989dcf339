"""Runs the DataStream examples that PyFlink ships, with PyFlink and, their import changed, with penstock.

`python benchmarks/pyflink_examples.py` compares what they print and write, line by line in any order, and says what the
others end with. With `--spark` they run on Spark beside `execution.target: local`. Those about Kafka have a broker, which
is started for them, and what they write to it is compared as well.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import peers
from benchmarks.kit.kafka import FLINK_CONNECTOR, Broker
from confluent_kafka import Message
from scripts.kafka_jars import fetched

from penstock.executors.spark.java import ensure_java

EXAMPLES: Final = Path("lib/python3.11/site-packages/pyflink/examples/datastream")
PATIENCE: Final = 300
"""Seconds after which a program is ended."""

GRACE: Final = 2
"""Seconds in which lines may come that are too many."""

FLINK_JARS: Final = {
    "file:///path/to/flink-sql-connector-kafka-1.15.0.jar": (
        "flink-sql-connector-kafka",
        FLINK_CONNECTOR,
    ),
    "file:///path/to/flink-sql-avro-1.15.0.jar": ("flink-sql-avro", peers.VERSION),
}
"""The jars that programs name, and where in `org.apache.flink` those are that they are given."""

SERVERS: Final = "localhost:9092"
PACKAGE: Final = re.compile(r"^(\s*(?:from|import)\s+)pyflink\b", re.MULTILINE)
SUBTASK: Final = re.compile(r"^\d+> ")
NOTICES: Final = (
    *("Executing word_count", "Printing result", "Use --input"),
    *("start writing data", "start reading data"),
)
ERROR: Final = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception): .*)$", re.MULTILINE)

LOCALLY: Final = """
import runpy, sys
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

made = StreamExecutionEnvironment.get_execution_environment
here = Configuration().set_string("execution.target", "local")
StreamExecutionEnvironment.get_execution_environment = staticmethod(lambda: made(here))
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass(frozen=True)
class Example:
    """A program, and what it is given.

    Attributes:
        name: Its path below the examples.
        needs: What it needs that is not here; empty if it runs by itself.
        arguments: What it is told; INPUT is a file with text, OUTPUT a folder for its results.
        topic: The topic of Kafka that it writes to; empty if it needs none.
        reads: How many rows of the topic it prints then, without an end; 0 if it ends by itself.
    """

    name: str
    needs: str = ""
    arguments: tuple[str, ...] = ()
    topic: str = ""
    reads: int = 0


ALL: Final = (
    Example("basic_operations.py"),
    Example("event_time_timer.py"),
    Example("process_json_data.py"),
    Example("state_access.py"),
    Example("word_count.py"),
    Example("word_count.py", arguments=("--input", "INPUT", "--output", "OUTPUT")),
    Example("windowing/session_with_dynamic_gap_window.py"),
    Example("windowing/session_with_gap_window.py"),
    Example("windowing/sliding_time_window.py"),
    Example("windowing/tumbling_count_window.py"),
    Example("windowing/tumbling_time_window.py", arguments=("--output", "OUTPUT")),
    Example("streaming_word_count.py", "the Table API"),
    Example("asyncio/remote_model_inference.py", "the Table API"),
    Example("connectors/elasticsearch.py", "a server"),
    Example("connectors/kafka_avro_format.py", topic="test_avro_topic", reads=7),
    Example("connectors/kafka_bytearray_format.py", topic="test_bytearray_topic", reads=3),
    Example("connectors/kafka_csv_format.py", topic="test_csv_topic", reads=7),
    Example("connectors/kafka_json_format.py", topic="test_json_topic", reads=7),
    Example("connectors/kafka_row_field_extractor_example.py", topic="row-extractor-example"),
    Example("connectors/pulsar.py", "a server"),
)


@dataclass
class Result:
    """What came of a program.

    Attributes:
        lines: What it printed and wrote, to files or to Kafka, sorted.
        error: What it ended with; empty if it ended well.
    """

    lines: list[str] = field(default_factory=list)
    error: str = ""


def run(command: list[str], example: Example, folder: Path) -> Result:
    """Run an example.

    Args:
        command: What runs it, without its arguments.
        example: The example.
        folder: An empty folder for what it reads and writes.
    """
    text, output = folder / "text", folder / "output"
    text.write_text("To be, or not to be\nthat is the question\n" * 50)
    places = {"INPUT": str(text), "OUTPUT": str(output)}
    path = os.pathsep.join([str(peers.HOME / "bin"), os.environ["PATH"]])
    python_path = os.pathsep.join([str(peers.ROOT / "src"), str(peers.ROOT)])
    jars = os.pathsep.join(map(str, flink_jars().values())) if example.topic else ""
    variables = {"PATH": path, "PYTHONPATH": python_path, "HADOOP_CLASSPATH": jars}
    out, errors = folder / "stdout", folder / "stderr"
    with out.open("w") as told, errors.open("w") as complained:
        process = subprocess.Popen(
            [*command, *(places.get(one, one) for one in example.arguments)],
            stdout=told,
            stderr=complained,
            text=True,
            cwd=folder,
            env={**os.environ, **variables, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        try:
            wait(process, out, example.reads)
        except subprocess.TimeoutExpired:
            return Result(error=f"did not end in {PATIENCE} seconds")
        finally:
            has_failed = bool(process.poll())
            peers.end_group(process)
    if has_failed:
        return Result(error=error_in(errors.read_text()))
    # What one without an end prints of its own functions, Flink prints where they run.
    lines = printed(out.read_text()) if example.reads or not example.topic else ()
    return Result(sorted([*lines, *written(output)]))


def wait(process: subprocess.Popen[str], out: Path, reads: int) -> None:
    """Wait until a program has ended, or printed as many lines as it reads, if it reads without an end.

    Raises:
        TimeoutExpired: If that takes too long.
    """
    end = time.monotonic() + PATIENCE
    while process.poll() is None:
        if reads and len(list(printed(out.read_text()))) >= reads:
            time.sleep(GRACE)
            return
        if time.monotonic() > end:
            raise subprocess.TimeoutExpired(process.args, PATIENCE)
        time.sleep(0.1)


@cache
def flink_jars() -> dict[str, Path]:
    """Return the jars that Flink needs for Kafka, which are fetched once, by what programs call them."""
    return {
        name: next(fetched("org.apache.flink", *module).glob("flink-*.jar"))
        for name, module in FLINK_JARS.items()
    }


def printed(text: str) -> Iterator[str]:
    """Yield the lines of `print()`, without the subtasks that printed them."""
    for line in text.splitlines():
        if line and not line.startswith(NOTICES):
            yield SUBTASK.sub("", line)


def written(folder: Path) -> Iterator[str]:
    """Yield the lines of all files that a sink made visible."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            yield from path.read_text().splitlines()


def error_in(text: str) -> str:
    """Return the last error that a program told of."""
    found = ERROR.findall(text)
    return found[-1] if found else "ended without a word"


def verdict(expected: Result | None, found: Result) -> str:
    """Say what a program of penstock's came to, beside what PyFlink's did."""
    if found.error:
        return f"stops: {found.error}"
    runs = f"runs, {len(found.lines)} lines"
    if expected is None:
        return runs
    if expected.error:
        return f"{runs}; PyFlink's stops: {expected.error}"
    if expected.lines == found.lines:
        return f"the same {len(found.lines)} lines"
    missing = list((Counter(expected.lines) - Counter(found.lines)).elements())
    more = list((Counter(found.lines) - Counter(expected.lines)).elements())
    return f"differs: without {missing[:3]}, with {more[:3]}"


def copied(
    folder: Path, name: str, *, package: str, changed: Mapping[str, str] | None = None
) -> str:
    """Copy an example into a folder, with its import changed and its log out of its results; return its path.

    Args:
        folder: The folder.
        name: Which example.
        package: What it imports.
        changed: What else is changed to what.
    """
    text = (peers.HOME / EXAMPLES / name).read_text(encoding="utf-8")
    text = PACKAGE.sub(rf"\1{package}", text).replace("stream=sys.stdout", "stream=sys.stderr")
    for old, new in (changed or {}).items():
        text = text.replace(old, new)
    path = folder / Path(name).name
    path.write_text(text, encoding="utf-8")
    return str(path)


def compare(example: Example, broker: Broker | None, *, spark: bool) -> Iterator[tuple[str, str]]:
    """Yield where an example ran, and what came of it there."""
    expected = None
    if not example.needs:
        expected = ran([str(peers.HOME / "bin" / "python")], example, "pyflink", broker)
    sides = {
        "local": [sys.executable, "-c", LOCALLY],
        **({"spark": [sys.executable]} if spark else {}),
    }
    for side, command in sides.items():
        yield side, verdict(expected, ran(command, example, "penstock", broker))


def ran(command: list[str], example: Example, package: str, broker: Broker | None = None) -> Result:
    """Run an example as a program of a package, with a topic of its own if it needs one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if broker is None or not example.topic:
            return run([*command, copied(folder, example.name, package=package)], example, folder)
        with broker.topic() as topic:
            changed = {name: jar.as_uri() for name, jar in flink_jars().items()}
            changed |= {SERVERS: broker.servers, example.topic: topic}
            program = copied(folder, example.name, package=package, changed=changed)
            result = run([*command, program], example, folder)
            result.lines += sorted(map(sent, broker.messages(topic)))
            return result


def sent(message: Message) -> str:
    """Return a line about a message: its key, and then its partition as well, and its value."""
    key, value = message.key(), message.value()
    return f"{value!r}" if key is None else f"{message.partition()} {key!r} {value!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spark", action="store_true", help="run them on Spark, too")
    parser.add_argument("--only", default="", help="a part of the names of those to run")
    chosen = parser.parse_args()
    peers.install_pyflink()
    ensure_java()
    examples = [example for example in ALL if chosen.only in example.name]
    with ExitStack() as stack:
        broker = None
        if any(example.topic for example in examples):
            broker = stack.enter_context(closing(Broker()))
        for example in examples:
            name = " ".join((example.name, *example.arguments))
            for side, found in compare(example, broker, spark=chosen.spark):
                print(f"{name:60} {side:6} {found}", flush=True)


if __name__ == "__main__":
    main()
