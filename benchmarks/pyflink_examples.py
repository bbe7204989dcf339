"""Runs the DataStream examples that PyFlink ships, with PyFlink and, their import changed, with penstock.

`python benchmarks/pyflink_examples.py` compares what they print and write, line by line in any order, and says what the
others end with. With `--spark` they run on Spark beside `execution.target: local`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import peers

from penstock.executors.spark.java import ensure_java

EXAMPLES: Final = Path("lib/python3.11/site-packages/pyflink/examples/datastream")
PATIENCE: Final = 300
"""Seconds after which a program is ended."""

PACKAGE: Final = re.compile(r"^(\s*(?:from|import)\s+)pyflink\b", re.MULTILINE)
SUBTASK: Final = re.compile(r"^\d+> ")
NOTICES: Final = ("Executing word_count", "Printing result", "Use --input")
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
    """

    name: str
    needs: str = ""
    arguments: tuple[str, ...] = ()


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
    Example("connectors/kafka_avro_format.py", "a server"),
    Example("connectors/kafka_bytearray_format.py", "a server"),
    Example("connectors/kafka_csv_format.py", "a server"),
    Example("connectors/kafka_json_format.py", "a server"),
    Example("connectors/kafka_row_field_extractor_example.py", "a server"),
    Example("connectors/pulsar.py", "a server"),
)


@dataclass
class Result:
    """What came of a program.

    Attributes:
        lines: What it printed and wrote, sorted.
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
    try:
        done = subprocess.run(
            [*command, *(places.get(one, one) for one in example.arguments)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            cwd=folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": python_path},
        )
    except subprocess.TimeoutExpired:
        return Result(error=f"did not end in {PATIENCE} seconds")
    if done.returncode:
        return Result(error=error_in(done.stderr))
    return Result(sorted([*printed(done.stdout), *written(output)]))


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
    if expected is None:
        return "runs"
    if expected.error:
        return f"runs; PyFlink's stops: {expected.error}"
    if expected.lines == found.lines:
        return f"the same {len(found.lines)} lines"
    missing = list((Counter(expected.lines) - Counter(found.lines)).elements())
    more = list((Counter(found.lines) - Counter(expected.lines)).elements())
    return f"differs: without {missing[:3]}, with {more[:3]}"


def copied(folder: Path, name: str, *, package: str) -> str:
    """Copy an example into a folder, with its import changed and its log out of its results; return its path."""
    text = (peers.HOME / EXAMPLES / name).read_text(encoding="utf-8")
    text = PACKAGE.sub(rf"\1{package}", text).replace("stream=sys.stdout", "stream=sys.stderr")
    path = folder / Path(name).name
    path.write_text(text, encoding="utf-8")
    return str(path)


def compare(example: Example, *, spark: bool) -> Iterator[tuple[str, str]]:
    """Yield where an example ran, and what came of it there."""
    expected = None
    if not example.needs:
        expected = ran([str(peers.HOME / "bin" / "python")], example, "pyflink")
    sides = {
        "local": [sys.executable, "-c", LOCALLY],
        **({"spark": [sys.executable]} if spark else {}),
    }
    for side, command in sides.items():
        yield side, verdict(expected, ran(command, example, "penstock"))


def ran(command: list[str], example: Example, package: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        program = copied(Path(folder), example.name, package=package)
        return run([*command, program], example, Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spark", action="store_true", help="run them on Spark, too")
    parser.add_argument("--only", default="", help="a part of the names of those to run")
    chosen = parser.parse_args()
    peers.install_pyflink()
    ensure_java()
    for example in ALL:
        if chosen.only in example.name:
            for side, found in compare(example, spark=chosen.spark):
                print(
                    f"{' '.join((example.name, *example.arguments)):60} {side:6} {found}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
