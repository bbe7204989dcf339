"""Fetches the jars of a Kafka broker into the project's cache, once: `python -m scripts.kafka_jars`.

They come from Maven Central, by the resolver that PySpark's wheel carries, on whatever Java Spark runs on. So do
others that benchmarks compare with.
"""

from __future__ import annotations

import fcntl
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from penstock.errors import JavaNotFoundError
from penstock.executors.spark.java import ensure_java
from penstock.executors.spark.kafka.package import connector_package
from penstock.executors.spark.versions.features import version_of

VERSION: Final = "4.1.0"
CONNECTORS: Final = {(3, 5): "3.5.7", (4, 0): "4.0.0", (4, 1): "4.1.1"}
"""By the version of Spark: a patch of pyspark is published before its connector, and each runs in sessions of the next."""
CONNECTOR: Final = "4.2.0"
"""Of all newer ones: Spark 4.3's is not published yet."""
_CACHE: Final = Path(__file__).parents[1] / ".cache"
_PATIENCE: Final = 600.0


class JarsNotFetched(Exception):
    """The jars are not there; the message says why."""


def fetch() -> Path:
    """Returns the folder with the broker's jars, which is filled if it is not there.

    Raises:
        JarsNotFetched: If it is not there, and nothing can be fetched.
    """
    return fetched("org.apache.kafka", "kafka_2.13", VERSION, folder=f"kafka-{VERSION}")


def fetched(organisation: str, module: str, version: str, *, folder: str = "") -> Path:
    """Returns the folder with the jars of a module and all that it needs, which is filled if it is not there.

    Args:
        organisation: Whose the module is.
        module: Its name.
        version: Its version.
        folder: What the folder is called, in the project's cache; the module and its version, if not said.

    Raises:
        JarsNotFetched: If it is not there, and nothing can be fetched.
    """
    found = _CACHE / (folder or f"{module}-{version}")
    _CACHE.mkdir(exist_ok=True)
    with found.with_name(f"{found.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.is_dir():
            with tempfile.TemporaryDirectory(dir=_CACHE, prefix="fetching-") as draft:
                _fetch_into(Path(draft), organisation, module, version)
                Path(draft, "jars").replace(found)
    return found


def connector() -> list[Path]:
    """Returns the jars of Spark's connector for Kafka, without those that Spark has.

    Raises:
        JarsNotFetched: If they are not there, and cannot be fetched.
    """
    there = {_module(jar) for jar in _spark_jars("*.jar")}
    _, module, own = connector_package().split(":")
    version = CONNECTORS.get(version_of(own) or (0, 0), CONNECTOR)
    jars = fetched("org.apache.spark", module, version).glob("*.jar")
    return sorted(jar for jar in jars if _module(jar) not in there)


def _module(jar: Path) -> str:
    return jar.name.rpartition("-")[0]


def _fetch_into(folder: Path, *module: str) -> None:
    name = module[1]
    try:
        java = ensure_java().path / "bin" / "java"
    except JavaNotFoundError as error:
        raise JarsNotFetched(f"{name} needs Java: {error}") from error
    command: list[str | Path] = [java, "-jar", _resolver(), "-dependency", *module]
    command += ["-confs", "default", "-cache", folder / "cache"]
    command += ["-retrieve", f"{folder}/jars/[artifact]-[revision].[ext]"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise JarsNotFetched(
            f"The jars of {name} did not come within {_PATIENCE:.0f} s."
        ) from error
    if done.returncode or not any(folder.glob(f"jars/{name}-*.jar")):
        raise JarsNotFetched(
            f"The jars of {name} cannot be fetched:\n{(done.stdout + done.stderr)[-2000:]}"
        )


def _spark_jars(pattern: str) -> list[Path]:
    found = importlib.util.find_spec("pyspark")
    places = found.submodule_search_locations if found is not None else None
    return [jar for place in places or () for jar in Path(place, "jars").glob(pattern)]


def _resolver() -> Path:
    jars = _spark_jars("ivy-*.jar")
    if not jars:
        raise JarsNotFetched("There is no PySpark here, whose resolver fetches jars.")
    return jars[0]


if __name__ == "__main__":
    try:
        print(fetch())
    except JarsNotFetched as error:
        sys.exit(f"Tests that need a Kafka cannot run. {error}")
