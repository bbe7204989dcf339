"""Fetches the jars of a Kafka broker into the project's cache, once: `python -m scripts.kafka_jars`.

They come from Maven Central, by the resolver that PySpark's wheel carries, on whatever Java Spark runs on.
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

VERSION: Final = "4.1.0"
FOLDER: Final = Path(__file__).parents[1] / ".cache" / f"kafka-{VERSION}"
_MODULE: Final = ("org.apache.kafka", "kafka_2.13", VERSION)
_PATIENCE: Final = 600.0


class JarsNotFetched(Exception):
    """There are no jars of Kafka; the message says why."""


def fetch() -> Path:
    """Returns the folder with the jars, which is filled if it is not there.

    Raises:
        JarsNotFetched: If it is not there, and nothing can be fetched.
    """
    FOLDER.parent.mkdir(exist_ok=True)
    with FOLDER.with_name(f"{FOLDER.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not FOLDER.is_dir():
            with tempfile.TemporaryDirectory(dir=FOLDER.parent, prefix="fetching-") as draft:
                _fetch_into(Path(draft))
                Path(draft, "jars").replace(FOLDER)
    return FOLDER


def _fetch_into(folder: Path) -> None:
    try:
        java = ensure_java().path / "bin" / "java"
    except JavaNotFoundError as error:
        raise JarsNotFetched(f"Kafka needs Java: {error}") from error
    command: list[str | Path] = [java, "-jar", _resolver(), "-dependency", *_MODULE]
    command += ["-confs", "default", "-cache", folder / "cache"]
    command += ["-retrieve", f"{folder}/jars/[artifact]-[revision].[ext]"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise JarsNotFetched(f"Kafka's jars did not come within {_PATIENCE:.0f} s.") from error
    if done.returncode or not any(folder.glob("jars/kafka-server-*.jar")):
        raise JarsNotFetched(
            f"Kafka's jars cannot be fetched:\n{(done.stdout + done.stderr)[-2000:]}"
        )


def _resolver() -> Path:
    found = importlib.util.find_spec("pyspark")
    places = found.submodule_search_locations if found is not None else None
    jars = [jar for place in places or () for jar in Path(place, "jars").glob("ivy-*.jar")]
    if not jars:
        raise JarsNotFetched("There is no PySpark here, whose resolver fetches Kafka's jars.")
    return jars[0]


if __name__ == "__main__":
    try:
        print(fetch())
    except JarsNotFetched as error:
        sys.exit(f"Tests that need a Kafka cannot run. {error}")
