"""What importing penstock costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"cloudpickle", "numpy", "pandas", "py4j", "pyarrow", "pyspark"}


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "module",
    ["penstock", "penstock.common", "penstock.datastream", "penstock.executors.spark.java"],
)
def test_import_is_light(module: str) -> None:
    loaded = run(f"import sys, {module}; print(*sys.modules)").split()
    assert HEAVY.isdisjoint(loaded)
