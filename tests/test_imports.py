"""What importing penstock costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"cloudpickle", "numpy", "pandas", "py4j", "pyarrow", "pyspark"}


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


LIGHT = [
    "penstock",
    "penstock.common",
    "penstock.datastream",
    "penstock.executors.spark.java",
    "penstock.executors.spark.spark_objects",
    "penstock.executors.targets",
]


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """What is loaded after the import of each light module, one after the other in one process."""
    lines = run("import sys" + "".join(f"; import {name}; print(*sys.modules)" for name in LIGHT))
    return {name: set(line.split()) for name, line in zip(LIGHT, lines.splitlines(), strict=True)}


@pytest.mark.parametrize("module", LIGHT)
def test_import_is_light(loaded: dict[str, set[str]], module: str) -> None:
    assert module in loaded[module]
    assert HEAVY.isdisjoint(loaded[module])


def test_python_may_be_built_without_what_few_programs_need() -> None:
    parts = ("_bz2", "_lzma", "_sqlite3")
    run(f"import sys; sys.modules.update(dict.fromkeys({parts})); import penstock.datastream")


def test_a_program_that_is_only_built_loads_no_executor() -> None:
    build = (
        "import sys; from penstock.datastream import StreamExecutionEnvironment; "
        "env = StreamExecutionEnvironment.get_execution_environment(); "
        "env.from_collection([1]).map(str).explain(); print(*sys.modules)"
    )
    loaded = {name for name in run(build).split() if name.startswith("penstock.executors")}
    assert loaded <= {
        "penstock.executors",
        "penstock.executors.port",
        "penstock.executors.spark",
        "penstock.executors.spark.spark_objects",
        "penstock.executors.targets",
    }
