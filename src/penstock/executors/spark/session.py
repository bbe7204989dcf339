"""The Spark session that a job runs in, and whether it is still there."""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import PYTHON_EXECUTABLE
from penstock.common.configuration.remarks import say_once
from penstock.connect_url import place_of, without_parameters
from penstock.errors import (
    JavaProcessLostError,
    JobFailedError,
    PenstockError,
    SessionLostError,
    SparkServerNotReachableError,
)
from penstock.executors.driver.interrupts import take_interrupts
from penstock.executors.spark.connect import (
    check_server,
    client_lacks,
    ends_at_once,
    is_connect,
    is_elsewhere,
    server_of,
)
from penstock.executors.spark.ctrl_c import java_ends_at_interrupt, keep_java_running
from penstock.executors.spark.interpreter import interpreter_for
from penstock.executors.spark.jars import check_jars, jars_of
from penstock.executors.spark.java import ensure_java
from penstock.executors.spark.java_process import forget_dead_process, java_process
from penstock.executors.spark.kafka.package import resolved
from penstock.executors.spark.memory_signs import shows_memory
from penstock.executors.spark.session_options import (
    LOOPBACK,
    PACKAGES,
    given_options,
    is_for_this_machine,
    is_submitted,
    local_cores,
    server_options,
    session_options,
)
from penstock.executors.spark.versions.checks import check_session

_LOG: Final = logging.getLogger("penstock")
_SECONDS_TO_CONNECT: Final = 2.0
_APPLICATION: Final = "spark.app.id"
_PYTHON: Final = "PYSPARK_PYTHON"
_GONE: Final = re.compile(r"stopped SparkContext|StatusCode\.UNAVAILABLE")
"""Who has been told the second has asked a server of Spark Connect for ten minutes."""
_BUILT: Final[set[str]] = set()
_INTERPRETERS: Final[dict[str, str]] = {}
"""By application, what the sessions that were built here start workers with."""
_BUILDING: Final = threading.RLock()


def session(given: Any, configuration: Configuration, packages: Sequence[str] = ()) -> SparkSession:
    """Return the session to run in: the one given, the one there is, or a new one.

    A new one runs where `spark-submit` or `spark-defaults.conf` says, else on this machine's cores: then
    it keeps its log quiet and opens no port for Spark's page unless `spark.ui.enabled` asks for it. Without
    `spark-submit` workers are started with the running interpreter, unless `python.executable` or
    `PYSPARK_PYTHON` names another.

    Args:
        given: A session of the user's; None for none.
        configuration: The job's.
        packages: Modules of Maven's, as "group:module:version", that a new session is to have.

    Raises:
        SparkTooOldError: If the session runs a Spark that is too old.
        UnknownSparkError: If penstock is not tested with it.
        JavaNotFoundError: If there is no Java to start Spark with.
        JarsNotLoadedError: If the session runs already, without the jars that the program names.
        SparkPackageError: If the client of Spark Connect lacks a package.
        SparkServerNotNamedError: If only the client of Spark Connect is installed, and nothing names a server.
        KafkaConnectorNotFoundError: If Spark does not start with the packages.
    """
    with _BUILDING:
        if is_submitted():
            keep_java_running()
        found = given or _running()
        if found is None and (server := server_of(configuration)) is not None:
            found = _connected(server, configuration)
        if found is None:
            built = _build(configuration, packages)
            check_session(built)
            return built
        ends_at_once(found)
        check_session(found)
        check_server(found)
        check_jars(found, configuration)
        _remark_on_interpreter(found, configuration)
        return found


def will_be_of_connect(given: Any, configuration: Configuration) -> bool:
    """Whether the session that `session` returns for the same is one of Spark Connect; builds none.

    Raises:
        SparkServerNotNamedError: If only the client of Spark Connect is installed, and nothing names a server.
    """
    found = given or _running()
    return server_of(configuration) is not None if found is None else is_connect(found)


def is_built_here(spark: SparkSession) -> bool:
    """Whether penstock built a session in this process, and with it started the Java process."""
    return spark.conf.get(_APPLICATION, "") in _BUILT


def interpreter_of(spark: SparkSession) -> str:
    """Return what a local session starts its workers with."""
    default = os.environ.get(_PYTHON) or "python3"
    built = _INTERPRETERS.get(spark.conf.get(_APPLICATION, "") or "")
    return built or spark.conf.get("spark.pyspark.python", default) or default


def has_local_workers(spark: SparkSession) -> bool:
    """Whether a session has its workers on this machine, and starts them as this process would."""
    return _local_cores_of(spark) is not None


def _local_cores_of(spark: SparkSession) -> int | None:
    return None if is_elsewhere(spark) else local_cores(spark.conf.get("spark.master", "") or "")


def _remark_on_interpreter(spark: SparkSession, configuration: Configuration) -> None:
    """Say so, once for each, where a job names an interpreter that its session does not start workers with."""
    wanted = configuration.get(PYTHON_EXECUTABLE)
    if wanted is not None and is_elsewhere(spark):
        say_once(
            wanted,
            f"python.executable asks for {wanted!r}, but a server of Spark Connect starts workers as it was told when it "
            "was started: by PYSPARK_PYTHON, or spark.pyspark.python.",
        )
        return
    own = interpreter_of(spark)
    if wanted is not None and not os.path.normpath(own).endswith(os.path.normpath(wanted)):
        say_once(
            f"{wanted} {own}",
            f"python.executable asks for {wanted!r}, but the SparkSession runs already, and starts its workers with "
            f"{own!r}. Set the environment variable PYSPARK_PYTHON before it is built.",
        )


def _running() -> SparkSession | None:
    """Return the session that there is. One is active in the thread that built it alone."""
    try:
        found = SparkSession.active()
    except Exception:  # noqa: BLE001 - there is none, or its Java process has died: one thing or another
        return None
    return found if is_alive(found) else None


def _connected(server: str, configuration: Configuration) -> SparkSession:
    """Build a session that is a client of a server, which has its own settings but for those of the job.

    Raises:
        SparkPackageError: If the client lacks a package.
    """
    runs_already = server.startswith("sc://")
    if runs_already:
        _remark_on_silence(server)
        options = given_options(configuration)
    else:
        # It is to be started here.
        ensure_java()
        os.environ.setdefault(_PYTHON, sys.executable)
        options = server_options(configuration, server)
    builder = SparkSession.builder
    for key, value in options.items():
        builder = builder.config(key, value)
    try:
        with warnings.catch_warnings():
            if not runs_already:
                # Spark says so of what the server has been started with, and which nothing can change now.
                warnings.filterwarnings("ignore", "Failed to set spark")
            return builder.remote(server).getOrCreate()
    except ImportError as error:
        raise client_lacks(error) from error


def _remark_on_silence(server: str) -> None:
    """Say why a job that starts does not: Spark's client asks a server that is down for minutes, without a word."""
    place = place_of(server)
    if place is None:
        return
    try:
        socket.create_connection(place, _SECONDS_TO_CONNECT).close()
    except OSError as error:
        _LOG.warning(
            "The server %s does not answer: %s. Spark's client asks again for about ten minutes.",
            without_parameters(server),
            error,
        )


def _build(configuration: Configuration, packages: Sequence[str]) -> SparkSession:
    if not is_submitted():
        forget_dead_process()
        ensure_java()
        os.environ.setdefault(_PYTHON, sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # A Java process that runs would send them to the executors, and not load them itself.
    runs_already = is_submitted() or java_process() is not None
    options = (
        session_options(configuration)
        if runs_already
        else session_options(configuration, jars_of(configuration), packages)
    )
    shows_page = options.get("spark.ui.enabled") == "true"
    if shows_page and options.get("spark.driver.bindAddress") == LOOPBACK:
        # The page looks at nothing else, and would be open to the whole network.
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    builder = SparkSession.builder
    for key, value in options.items():
        builder = builder.config(key, value)
    fetched = options.get(PACKAGES, "") if packages and not runs_already else ""
    interpreter = interpreter_for(configuration, is_local=is_for_this_machine(configuration))
    with _workers_of(interpreter), resolved(fetched), java_ends_at_interrupt():
        built = builder.getOrCreate()
        take_interrupts()
        application = built.conf.get(_APPLICATION) or ""
        _INTERPRETERS[application] = os.environ.get(_PYTHON, "")
    if not is_submitted():
        _BUILT.add(application)
    if runs_already:
        check_jars(built, configuration)
    return built


@contextmanager
def _workers_of(interpreter: str | None) -> Iterator[None]:
    """Have a session that is built meanwhile start its workers with an interpreter, and no later one."""
    before = os.environ.get(_PYTHON)
    os.environ.update({} if interpreter is None else {_PYTHON: interpreter})
    try:
        yield
    finally:
        os.environ.pop(_PYTHON, None)
        os.environ.update({} if before is None else {_PYTHON: before})


def cores_of(spark: SparkSession) -> int:
    """Return how many tasks a session runs at once."""
    cores = _local_cores_of(spark)
    if cores is not None:
        return cores
    partition = sf.spark_partition_id()
    return max(spark.range(1 << 12).select(partition).distinct().count(), 1)


def is_local(spark: SparkSession) -> bool:
    """Whether the session's tasks run in this machine's own process."""
    master = spark.conf.get("spark.master", "") or ""
    return master.startswith("local") and not is_elsewhere(spark)


def time_zone_of(spark: SparkSession) -> str:
    """Return the session's time zone."""
    return spark.conf.get("spark.sql.session.timeZone") or "UTC"


def is_alive(spark: SparkSession, error: PenstockError | None = None) -> bool:
    """Tell whether a session can still run something.

    Args:
        spark: The session.
        error: What it failed with last.
    """
    if isinstance(error, JobFailedError) and _GONE.search(error.message):
        return False
    try:
        spark.range(1).schema  # noqa: B018 - asks the JVM, and runs nothing
    except Exception:  # noqa: BLE001 - a session that has ended raises one thing or another
        return False
    return True


def session_lost(what: str, error: PenstockError, *, can_go_on: bool) -> SessionLostError:
    """Return the error for a job whose session has ended.

    Args:
        what: What was being done, as in "Job 'x'".
        error: What it failed with.
        can_go_on: Whether a restart can build another session, and go on in it.
    """
    said = None if isinstance(error, SparkServerNotReachableError) else error.__cause__
    reason = str(said or error.message).partition("\n")[0]
    memory = ""
    if shows_memory(f"{error.__cause__} {error}"):
        memory = (
            "It ran out of memory: set spark.driver.memory, above all for large records (see 'Memory' in "
            "docs/configuration.md). "
        )
    if can_go_on:
        return JavaProcessLostError(
            f"{what} lost its SparkSession, as Spark's Java process died: {reason}",
            hint=f"{memory}With a restart strategy the job goes on in a new session.",
        )
    return SessionLostError(
        f"{what} lost its SparkSession: {reason}",
        hint=f"{memory}The session was stopped, or its Java process, or the server of Spark Connect, has ended. A restart "
        "strategy can build another session only where penstock built the first, and no DataFrame or sink of the program "
        "belongs to it. Start the program again: with a checkpoint location it goes on from its last epoch.",
    )
