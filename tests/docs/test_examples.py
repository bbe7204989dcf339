"""Runs every program in the documentation and compares what it prints with what the page says.

A block marked `python` is a whole program. A block marked `output` after it is what it prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.programs import run_as_main

from penstock.executors.spark.java import ensure_java

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLE = re.compile(
    r"^```python\n(?P<program>.*?)^```$(?:\n+```output\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
LOCAL = re.compile(r'"execution.target", "local"|local_environment')
SPARK = re.compile(r"get_execution_environment|pyspark|penstock\.spark")


def needs_spark(program: str) -> bool:
    return SPARK.search(program) is not None and LOCAL.search(program) is None


def examples() -> list[object]:
    found: list[object] = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in EXAMPLE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            marks = [pytest.mark.spark] if needs_spark(match["program"]) else []
            found.append(
                pytest.param(
                    match["program"], match["output"], id=f"{page.name}:{line}", marks=marks
                )
            )
    return found


@pytest.mark.parametrize(("program", "output"), examples())
def test_example(program: str, output: str | None, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    run = run_on_spark(script) if needs_spark(program) else run_as_main(script)
    assert run.returncode == 0, run.stderr
    if output is not None:
        assert run.stdout.rstrip() == output.rstrip()


def run_on_spark(script: Path) -> subprocess.CompletedProcess[str]:
    ensure_java()
    return subprocess.run(
        [sys.executable, "-W", "error", script],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=script.parent,
        env={**os.environ, "PYTHONUTF8": "1"},
    )


def test_there_are_examples() -> None:
    assert examples()
