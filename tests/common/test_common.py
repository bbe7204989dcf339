from __future__ import annotations

import json
import subprocess
import sys

import penstock.common

PROGRAM = """
import json, sys, time
import penstock
start = time.process_time()
import penstock.common
seconds = time.process_time() - start
print(json.dumps([seconds, sorted(sys.modules)]))
"""


def test_exports_exist() -> None:
    for name in penstock.common.__all__:
        assert getattr(penstock.common, name).__name__ == name


def test_import_is_light() -> None:
    runs = [json.loads(subprocess.check_output([sys.executable, "-c", PROGRAM])) for _ in range(2)]
    heavy = {"cloudpickle", "numpy", "pandas", "pyarrow", "pyspark", "inspect"}

    assert not heavy & set(runs[0][1])
    # It takes 22 ms of a processor, however busy the machine is.
    assert min(seconds for seconds, _ in runs) < 0.15
