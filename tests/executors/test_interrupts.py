"""Ctrl-C ends a program soon, with one line, and leaves no process behind, whatever its job is doing."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from tests.executors.driver.progress.screens import screen
from tests.executors.interrupted import Interrupted, interrupted

SECONDS = 2.0
"""How long a program may take to end."""
_BUSY = 4.0
"""How much longer on a machine that does other things too."""


def check(found: Interrupted, way: str) -> None:
    # As a text it is shown whole.
    assert len(found.errors) == 1, "\n".join(found.errors)
    assert re.search(
        r"(■|INFO penstock:) [\w ]+: cancelled after .* (1 record|[\d,]+ records)\b",
        found.errors[0],
    )
    assert (found.code, found.output) == (
        (0, "returned\n") if way == "execute" else (-signal.SIGINT, "")
    )
    assert not found.left
    assert found.seconds < SECONDS + _BUSY


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("sleep", "execute"),
        ("sleep", "result"),
        ("spin", "iterate"),
        ("async", "execute"),
        ("quick", "with"),
    ],
)
def test_in_this_process(kind: str, way: str, tmp_path: Path) -> None:
    check(interrupted("local", kind, way, tmp_path), way)


@pytest.mark.parametrize(
    ("kind", "way"), [("quick", "execute"), ("sleep", "result"), ("quick", "with")]
)
def test_in_a_terminal(kind: str, way: str, tmp_path: Path) -> None:
    with screen(200) as terminal:
        check(interrupted("local", kind, way, tmp_path, terminal), way)


@pytest.mark.alone
@pytest.mark.spark
@pytest.mark.parametrize(
    ("session", "kind", "way"),
    [
        ("own", "sleep", "execute"),
        ("own", "quick", "iterate"),
        ("user", "sleep", "execute"),
        ("user", "commit", "execute"),
        ("user", "spin", "with"),
        ("user", "async", "result"),
    ],
)
def test_on_spark(session: str, kind: str, way: str, tmp_path: Path) -> None:
    check(interrupted(session, kind, way, tmp_path), way)


def check_start(session: str, kind: str, told: str, folder: Path) -> None:
    found = interrupted(session, kind, "execute", folder)
    assert len(found.errors) == 1, "\n".join(found.errors)
    assert re.search(rf"job: cancelled {told}", found.errors[0])
    assert (found.code, found.output) == (-signal.SIGINT, "")
    assert not found.left
    assert found.seconds < SECONDS + _BUSY


_BEFORE = "before it started$"
_EARLY = "after .* 0 records · 0 epochs"


def test_while_a_job_is_built(tmp_path: Path) -> None:
    check_start("local", "build", _BEFORE, tmp_path)


@pytest.mark.alone
@pytest.mark.spark
@pytest.mark.parametrize(
    ("session", "kind", "told"),
    [
        ("user", "build", _BEFORE),
        ("none", "java", _EARLY),
        ("none", "session", _EARLY),
        ("own", "call", _EARLY),
        ("user", "call", _EARLY),
    ],
)
def test_while_a_job_starts_on_spark(session: str, kind: str, told: str, tmp_path: Path) -> None:
    check_start(session, kind, told, tmp_path)


@pytest.mark.alone
@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "way"),
    [("quick", "execute"), ("spin", "execute"), ("sleep", "result"), ("quick", "with")],
)
def test_under_spark_submit(kind: str, way: str, tmp_path: Path) -> None:
    """Its JVM gets the signal too, and hands on to its standard output what the program says."""
    found = interrupted("submitted", kind, way, tmp_path)
    lines = [line for line in found.output.splitlines() if not line.startswith("Job '")]
    assert not found.errors, "\n".join(found.errors)
    assert re.search(r"INFO penstock: [\w ]+: cancelled after", lines[0]), found.output
    assert lines[1:] == (["returned"] if way == "execute" else []), found.output
    assert not found.left
    assert found.seconds < SECONDS + _BUSY
