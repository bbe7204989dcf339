"""Does what the page of Kafka has its reader do, in its order, and compares what is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.docs.programs import run_as_main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.kafka_server import KafkaCluster

PAGE = Path(__file__).parents[2] / "docs" / "kafka.md"
FILE = re.compile(
    r'^```python title="(?P<name>\w+\.py)"\n(?P<program>.*?)^```$', re.MULTILINE | re.DOTALL
)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = re.compile(r"^\$ python (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)


def runs() -> Iterator[tuple[list[str], str]]:
    for session in CONSOLE.findall(PAGE.read_text(encoding="utf-8")):
        for run in RUN.finditer(session):
            yield shlex.split(run["command"]), run["output"]


@pytest.mark.kafka
def test_each_command_prints_what_the_page_says(kafka: KafkaCluster, tmp_path: Path) -> None:
    for file in FILE.finditer(PAGE.read_text(encoding="utf-8")):
        program = file["program"].replace("localhost:9092", kafka.bootstrap_servers)
        (tmp_path / file["name"]).write_text(program, encoding="utf-8")
    printed = []
    for (name, *arguments), _ in runs():
        run = run_as_main(tmp_path / name, *arguments)
        assert run.returncode == 0, run.stderr
        printed.append(run.stdout)

    assert printed == [output for _, output in runs()]
    assert len(printed) == 7
