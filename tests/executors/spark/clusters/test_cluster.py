"""A standalone cluster: penstock and the user's modules reach workers on which they are not installed."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from contextlib import closing
from pathlib import Path

import pytest
from tests.runtime.job_files.wheels import write_wheel
from tests.servers.spark_cluster import SOON_READY, SparkCluster

from penstock.executors.spark.versions.features import Feature, has

pytestmark = pytest.mark.spark

MODULE = """
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    name: str
    corners: int


def shape_of(name):
    return Shape(name, {"triangle": 3, "square": 4}[name])
"""

SCRIPT = """
import json
import sys
from enum import Enum
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.common import WatermarkStrategy
from penstock.datastream import MapFunction, StreamExecutionEnvironment
from penstock.testing import TestingSource
from shapes import Shape, shape_of


class Colour(Enum):
    RED = 1
    BLUE = 2


class Brought(MapFunction):
    def open(self, runtime_context):
        self.file = runtime_context.get_distributed_cache().get_file("requirements")

    def map(self, _):
        import needed_wheel

        found = [needed_wheel.SAYS, Path(self.file).read_text().strip(), Path("env/text").read_text()]
        return Shape(" ".join(found), -1), Colour.BLUE, 0


def origin_of_penstock(_):
    import importlib.util

    return importlib.util.find_spec("penstock").origin


spark = (
    SparkSession.builder.master(sys.argv[1])
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.executor.memory", "512m")
    .config("spark.executor.extraJavaOptions", sys.argv[2])
    .config("spark.driver.extraJavaOptions", sys.argv[2])
    .config("spark.log.level", "ERROR")
    .getOrCreate()
)
env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(4)
epochs = [["triangle", "square", "square"], ["square", "triangle"]]
names = env.from_source(TestingSource(epochs), WatermarkStrategy.no_watermarks(), "names")
shapes = names.map(shape_of).rebalance().map(lambda shape: (shape, Colour(shape.corners - 2), 1))
counts = shapes.key_by(lambda record: record[:2]).sum(2)
env.add_python_archive(sys.argv[3], "env")
env.set_python_requirements(sys.argv[4] + ".txt", sys.argv[4])
env.register_cached_file(sys.argv[4] + ".txt", "requirements")
places = shapes.map(origin_of_penstock).map(lambda origin: (Shape(origin, 0), Colour.RED, 0))
found, origins, brought = [], set(), set()
for shape, colour, count in counts.union(places, shapes.map(Brought())).execute_and_collect():
    assert type(shape) is Shape and type(colour) is Colour
    if count:
        found.append([shape.name, colour.name, count])
    else:
        (origins if shape.corners == 0 else brought).add(shape.name)
print(json.dumps([sorted(found), sorted(origins), sorted(brought)]))
spark.stop()
"""


def bare_python(folder: Path) -> Path:
    """Make an interpreter that has what is installed, but not penstock, which the test installs.

    An editable install is a .pth file; `-S` leaves those out.
    """
    script = folder / "python3"
    packages = sysconfig.get_paths()["purelib"]
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec "{sys.executable}" -S "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


@pytest.mark.timeout(180)
def test_code_reaches_the_workers(tmp_path: Path) -> None:
    script = tmp_path / "program" / "script.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    (script.parent / "shapes.py").write_text(MODULE)
    (tmp_path / "bin").mkdir()

    bare_python(tmp_path / "bin")
    (tmp_path / "bin" / "text").write_text("unpacked")
    # Spark 3.5 unpacks programs in a zip as files that cannot be executed.
    kind = "zip" if has(Feature.ARTIFACTS) else "gztar"
    archive = shutil.make_archive(str(tmp_path / "python"), kind, tmp_path / "bin")
    write_wheel(tmp_path / "packages", "needed_wheel", "1.0", "SAYS = 'installed'\n")
    (tmp_path / "packages.txt").write_text("needed_wheel\n")

    with closing(SparkCluster(tmp_path)) as cluster:
        run = subprocess.run(
            [
                *(sys.executable, script, cluster.master, SOON_READY),
                *(archive, tmp_path / "packages"),
            ],
            env=os.environ | {"PYSPARK_PYTHON": "env/python3"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert run.returncode == 0, run.stderr
    found, origins, brought = json.loads(run.stdout)
    assert brought == ["installed needed_wheel unpacked"]
    assert found == [
        *[["square", "BLUE", count] for count in (1, 2, 3)],
        *[["triangle", "RED", count] for count in (1, 2)],
    ]
    assert origins
    assert all("/penstock-code-" in origin for origin in origins), origins
