"""What Spark raises, as errors that tell a user what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from penstock.errors import (
    JobFailedError,
    KafkaNotReachableError,
    KafkaOffsetNotFoundError,
    KafkaTopicNotFoundError,
    PenstockError,
    SourceNotReadableError,
    SparkServerNotReachableError,
    WorkerLostError,
    WorkerPythonError,
)
from penstock.executors.spark.memory_signs import shows_memory
from penstock.executors.spark.places.platforms import refused

_UNREADABLE = re.compile(
    r"Connection refused|ConnectException|UnknownHostException|PATH_NOT_FOUND|FileNotFoundException|"
    r"Permission denied|AccessControlException|CANNOT_READ_FILE|NoRouteToHost"
)
_OTHER_PYTHON = re.compile(
    r"[^\n]*PYTHON_VERSION_MISMATCH[^\n]*|ModuleNotFoundError: No module named '[^']*'|"
    r"[^\n]*: No module named \w+|Cannot run program \"[^\"\n]*\"[^\n]*|"
    r"ImportError: (?:penstock works with|pyarrow requires) [^\n]*"
)
_NO_JAVA_PROCESS = re.compile(r"JAVA_GATEWAY_EXITED|/bin/spark-submit'")
_NO_SERVER = re.compile(
    r'RPC that terminated with:\s+(status = StatusCode\.UNAVAILABLE)(?:\s+details = "([^"\n]*)")?'
)
_NO_SCHEMA = re.compile(r"PARSE_SYNTAX_ERROR|UNSUPPORTED_DATATYPE")
_OF_KAFKA = {
    re.compile(r"UnknownTopicOrPartitionException"): (
        KafkaTopicNotFoundError,
        "Make the topic first. Topics that come later, set_topic_pattern() takes up.",
    ),
    re.compile(r"KAFKA_DATA_LOSS|Some data may have been lost|OffsetOutOfRangeException"): (
        KafkaOffsetNotFoundError,
        (
            "Let the topic keep records for as long as the job may stand still. To go on with what is there, let the "
            "starting offsets have KafkaOffsetResetStrategy.EARLIEST."
        ),
    ),
    re.compile(
        r"org\.apache\.kafka\.common\.errors\.TimeoutException|No resolvable bootstrap urls"
    ): (
        KafkaNotReachableError,
        (
            "See that the brokers run, that bootstrap.servers and the names they advertise lead there from the driver and "
            "from the workers, and that security.protocol is theirs."
        ),
    ),
}
"""What Spark's connector for Kafka fails with."""
_HINTS = {
    _NO_JAVA_PROCESS: (
        "Spark did not start; what it printed above says why. SPARK_HOME has to be unset or the folder of "
        "a whole Spark, and PYSPARK_SUBMIT_ARGS to end with pyspark-shell."
    ),
    _NO_SCHEMA: "Fix the SQL or the schema, such as 'item string, pieces int'.",
}
_LENGTH = 2000
_LOST_WORKER = re.compile(
    r"Python worker (exited unexpectedly|failed to connect back)|ExecutorLostFailure[^\n]*|"
    r"Python daemon failed to launch worker|"
    r"EOFException occurred while reading the port number from pyspark\.daemon's stdout[^\n.]*"
)
_JAVA_FRAMES = re.compile(r"\n\s+(at \S+\(.*\)|\.\.\. \d+ more)(?=\n|$)")
_MOST_CHAINS = 10


def as_penstock_error(error: BaseException, what: str, chains: Sequence[str] = ()) -> PenstockError:
    """Return the error to show for what Spark raised.

    Args:
        error: What was raised.
        what: What was being done, as in "Job 'x'".
        chains: The names of the chains of operators that workers run, if there is a program.
    """
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, PenstockError):
            return found
        found = found.__cause__ or found.__context__
    text = str(error)
    by_platform = refused(text, what)
    if by_platform is not None:
        return by_platform
    python = _OTHER_PYTHON.search(text)
    if python is not None:
        return other_python(what, python.group(0).strip())
    lost = _LOST_WORKER.search(text)
    if lost is not None:
        return _worker_lost(lost.group(0), what, chains, is_memory=shows_memory(text))
    server = _NO_SERVER.search(text)
    if server is not None:
        return SparkServerNotReachableError(
            f"{what} cannot reach the server of Spark Connect ({server[1]}): {server[2]}",
            hint="See that it runs, and that its address, as in SPARK_REMOTE, leads there.",
        )
    first = re.split(r"JVM stacktrace:|=== Streaming Query ===", text, maxsplit=1)[0].strip()
    first = _JAVA_FRAMES.sub("", first)
    shown = first if len(first) <= _LENGTH else first[:_LENGTH] + " ..."
    for pattern, (kind, hint) in _OF_KAFKA.items():
        if pattern.search(text):
            return kind(f"{what} cannot read its topics: {shown}", hint=hint)
    match = _UNREADABLE.search(text)
    if match is not None:
        return SourceNotReadableError(
            f"{what} cannot read its input ({match.group(0)}): {shown}",
            hint="Check that the path or address is right, that something is there (for a socket: "
            "something that listens), and that the workers reach it.",
        )
    other = "Spark's own log says more."
    hint = next((hint for pattern, hint in _HINTS.items() if pattern.search(text)), other)
    return JobFailedError(f"{what} was failed by Spark: {shown}", hint=hint)


def other_python(what: str, why: str) -> WorkerPythonError:
    """Return the error of a job whose workers have a Python that cannot run it.

    Args:
        what: What was being done, as in "Job 'x'".
        why: What is wrong with that Python.
    """
    return WorkerPythonError(
        f"{what} cannot run with the Python of the workers: {why}",
        hint="Name the Python to run in python.executable, or in PYSPARK_PYTHON before the SparkSession is built (of Spark "
        "Connect, before the server is started), and install there what the program imports, with pyarrow. Packages can be "
        "brought along, too: see docs/files-and-packages.md.",
    )


def is_of_spark(error: BaseException) -> bool:
    """Whether an error is one of pyspark's, or came as it is from Java."""
    return type(error).__module__.partition(".")[0] in {"pyspark", "py4j"}


def _worker_lost(
    said: str, what: str, chains: Sequence[str], *, is_memory: bool
) -> WorkerLostError:
    names = ", ".join(map(repr, chains[:_MOST_CHAINS])) + (
        " ..." if len(chains) > _MOST_CHAINS else ""
    )
    ran = f"while it ran operators of {names}" if chains else "while it ran operators"
    who = "An executor" if said.startswith("ExecutorLost") else "A Python worker"
    again = "With a checkpoint location a job that is started again goes on from its last epoch."
    if is_memory:
        return WorkerLostError(
            f"{what}: {who} ran out of memory {ran}. Spark says: {said}.",
            hint="Have fewer workers at once (cores in spark.master, spark.executor.cores), give them more "
            "(spark.executor.memoryOverhead), or keep less in them (state.backend.type: rocksdb, "
            f"state.backend.memory.limit): see 'Memory' in docs/configuration.md. {again}",
        )
    return WorkerLostError(
        f"{what}: {who} died {ran}: it was killed, or crashed. Spark says: {said}.",
        hint="The log of the system (dmesg) or of the cluster may say who killed it; a library that is not written in "
        f"Python may have crashed it. {again}",
    )


@contextmanager
def spark_errors(what: str, chains: Sequence[str] = ()) -> Iterator[None]:
    """Turn what Spark raises inside into errors of penstock's: see `as_penstock_error`."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        raise as_penstock_error(error, what, chains) from error
