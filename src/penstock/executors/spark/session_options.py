"""What a SparkSession is built with where there is none."""

from __future__ import annotations

import argparse
import importlib.resources
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyspark

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import ARROW_BATCH_SIZE
from penstock.executors.spark.versions.features import Feature, has, streaming_class
from penstock.runtime.private_folder import private_folder

_LOG_WRITER: Final = "FileSystemBasedCheckpointFileManager"
"""Writes the logs of a streaming query. Measured: the one that Spark would choose starts a process for
the permissions of each local file, which takes 70 ms of an epoch."""

LOOPBACK: Final = "127.0.0.1"
_JAVA_OPTIONS: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_MASTER: Final = "spark.master"
_JARS: Final = "spark.jars"
PACKAGES: Final = "spark.jars.packages"
_BATCH_SIZE: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ADAPTIVE: Final = "spark.sql.adaptive.enabled"
_SOCKETS: Final = "spark.python.unix.domain.socket.enabled"
_SOCKET_FOLDER: Final = "spark.python.unix.domain.socket.dir"
_LONGEST_FOLDER: Final = 60
"""The path of a socket has at most 103 characters on some systems, and Spark's names have 42."""
_DRIVER_OPTIONS: Final = "spark.driver.extraJavaOptions"
_FLAGS: Final = {
    "--master": _MASTER,
    "--name": "spark.app.name",
    "--driver-java-options": _DRIVER_OPTIONS,
    "--jars": _JARS,
    "--packages": PACKAGES,
}


def is_submitted() -> bool:
    """Whether `spark-submit` started this program, with a JVM that runs already."""
    return bool(os.environ.get("PYSPARK_GATEWAY_PORT"))


def local_cores(master: str) -> int | None:
    """Return how many tasks a session of this machine's own runs at once; None if `master` is elsewhere."""
    local = re.fullmatch(r"local(?:\[\s*(\*|\d+)\s*(?:,.*)?\])?", master)
    if local is None:
        return None
    count = local.group(1)
    return (os.cpu_count() or 1) if count == "*" else int(count or 1)


def is_for_this_machine(configuration: Configuration) -> bool:
    """Whether a session that is built will run its tasks in this machine's own process, as far as is said here."""
    said = {**_spark_defaults(), **_submit_arguments(), **given_options(configuration)}
    return not is_submitted() and local_cores(said.get(_MASTER, "local")) is not None


def session_options(
    configuration: Configuration, jars: Sequence[str] = (), packages: Sequence[str] = ()
) -> dict[str, str]:
    """Return what a session is built with: what the job's configuration says, and penstock's own choices.

    Nothing is chosen that was said before: by whoever calls `spark-submit`, which says all of it, in
    `PYSPARK_SUBMIT_ARGS`, or in `spark-defaults.conf`.

    Args:
        configuration: The job's configuration. Its keys that begin with `spark.` come before all others.
        jars: Jars for the Java process that is started.
        packages: Modules of Maven's for it, as "group:module:version". One of which a version or a jar is named
            elsewhere is not asked for.
    """
    given = given_options(configuration)
    options: dict[str, str] = {}
    if not is_submitted():
        said = {**_spark_defaults(), **_submit_arguments(), **given}
        options = {key: value for key, value in _choices(said).items() if key not in said}
        if jars:
            given[_JARS] = ",".join([*filter(None, [said.get(_JARS)]), *jars])
        named = f"{given.get(_JARS, said.get(_JARS))},{said.get(PACKAGES)}"
        if wanted := [one for one in packages if one.split(":")[1].rpartition("_")[0] not in named]:
            given[PACKAGES] = ",".join([*filter(None, [said.get(PACKAGES)]), *wanted])
    return options | given


def server_options(configuration: Configuration, master: str) -> dict[str, str]:
    """Return what a server of Spark Connect is built with that is started on this machine, for this program.

    Args:
        configuration: The job's configuration.
        master: Where it runs its tasks.
    """
    options = session_options(Configuration(configuration).set_string(_MASTER, master))
    # Spark takes it from the name of the server, and nothing beside that.
    del options[_MASTER]
    return options


def given_options(configuration: Configuration) -> dict[str, str]:
    """Return what the job's configuration says of a session, and nothing else."""
    batch_size = configuration.get(ARROW_BATCH_SIZE)
    options = {} if batch_size is None else {_BATCH_SIZE: str(batch_size)}
    return options | {
        key: str(value)
        for key, value in configuration.to_dict().items()
        if key.startswith("spark.")
    }


def _choices(said: dict[str, str]) -> dict[str, str]:
    choices = {
        "spark.app.name": "penstock",
        # Measured: planning by stage costs a small epoch more than a better plan could gain it.
        _ADAPTIVE: "false",
    }
    if has(Feature.UNIX_SOCKETS):
        # Measured: over TCP each task with a Python worker waits 40 ms for a delayed acknowledgement.
        choices[_SOCKETS] = "true"
    if said.get(_MASTER, "local").startswith("local"):
        choices |= _choices_on_this_machine(said) | _choice_of_sockets(said)
    return choices


def _choice_of_sockets(said: dict[str, str]) -> dict[str, str]:
    """Keep sockets of workers, which ask nobody who he is, where no other user can reach them."""
    folder = private_folder()
    if not has(Feature.UNIX_SOCKETS) or {_SOCKETS, _SOCKET_FOLDER} & said.keys():
        return {}
    if len(folder) > _LONGEST_FOLDER:
        return {_SOCKETS: "false"}
    return {_SOCKET_FOLDER: folder}


def _choices_on_this_machine(said: dict[str, str]) -> dict[str, str]:
    logging = importlib.resources.files("penstock.executors.spark") / "log4j2.properties"
    collector = "" if _has_collector(said) else "-XX:+UseParallelGC "
    choices = {
        _MASTER: "local[*, 4]",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Stack: Spark matches the text of a failed micro-batch with a deeply recursive pattern.
        # Collector: measured, a small epoch takes a tenth less than with Java's usual one.
        _DRIVER_OPTIONS: f"-Xss8m {collector}-Dlog4j2.configurationFile=file:{logging}",
    }
    cores = local_cores(said.get(_MASTER, "local[*]"))
    if cores is not None:
        # Else whoever can reach the ports of this machine's Java can send it objects.
        choices["spark.authenticate"] = "true"
    if cores is not None and said.get(_ADAPTIVE, "false").lower() == "false":
        # Nothing joins partitions that are too small, as adaptive planning does.
        choices["spark.sql.shuffle.partitions"] = str(cores)
    choices["spark.sql.streaming.checkpointFileManagerClass"] = streaming_class(_LOG_WRITER)
    return choices


def _has_collector(said: dict[str, str]) -> bool:
    """Whether a garbage collector is chosen elsewhere: two choices keep Java from starting."""
    elsewhere = [os.environ.get(name, "") for name in _JAVA_OPTIONS]
    elsewhere.append(said.get("spark.driver.defaultJavaOptions", ""))
    return any(re.search(r"-XX:\+Use\w+GC", options) for options in elsewhere)


def _spark_defaults() -> dict[str, str]:
    """Return what `spark-defaults.conf` says: each line is a key and a value."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    folder = Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"))
    try:
        lines = (folder / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = [re.split(r"\s*[\s=:]\s*", line.strip(), maxsplit=1) for line in lines]
    return {pair[0]: pair[-1] for pair in pairs if pair[0].startswith("spark.")}


def _submit_arguments() -> dict[str, str]:
    """Return what `PYSPARK_SUBMIT_ARGS` says."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for flag, key in _FLAGS.items():
        parser.add_argument(flag, dest=key)
    parser.add_argument("--conf", "-c", action="append", default=[])
    arguments, _ = parser.parse_known_args(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")))
    found = {
        key: value for key, value in vars(arguments).items() if key in _FLAGS.values() and value
    }
    return found | dict(pair.split("=", 1) for pair in arguments.conf if "=" in pair)
