from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import (
    FunctionNotSerializableError,
    JobFailedError,
    KafkaNotReachableError,
    KafkaOffsetNotFoundError,
    NoSinkError,
    SourceNotReadableError,
    SparkServerNotReachableError,
    WorkerLostError,
    WorkerPythonError,
)
from penstock.executors.spark import memory_signs
from penstock.executors.spark.failures import as_penstock_error
from penstock.executors.spark.memory_signs import MemorySigns
from penstock.executors.spark.session import is_alive, session_lost

DAEMON_DIED = (
    "EOFException occurred while reading the port number from pyspark.daemon's stdout and terminated with "
    "code: 137"
)


def test_an_error_of_penstock_is_found_behind_those_of_spark() -> None:
    own = NoSinkError("There is none.")
    between, last = ValueError("between"), RuntimeError("last")
    between.__context__, last.__cause__ = own, between

    assert as_penstock_error(last, "Job 'x'") is own


@pytest.mark.parametrize(
    ("text", "kind", "hint"),
    [
        (
            "java.net.ConnectException: Connection refused",
            SourceNotReadableError,
            "something is there",
        ),
        ("[PATH_NOT_FOUND] Path does not exist: file:/none", SourceNotReadableError, "is right"),
        (
            "ConfigException: No resolvable bootstrap urls given",
            KafkaNotReachableError,
            "bootstrap.servers",
        ),
        (
            "java.lang.IllegalStateException: Some data may have been lost",
            KafkaOffsetNotFoundError,
            "EARLIEST",
        ),
        ("ModuleNotFoundError: No module named 'pyarrow'", WorkerPythonError, "PYSPARK_PYTHON"),
        ("ImportError: penstock works with pyarrow >=18", WorkerPythonError, "PYSPARK_PYTHON"),
        ("ImportError: pyarrow requires NumPy 2.0 or newer", WorkerPythonError, "PYSPARK_PYTHON"),
        ("[PYTHON_VERSION_MISMATCH] 3.9, 3.11", WorkerPythonError, "PYSPARK_PYTHON"),
        ("/usr/bin/python3: No module named pyspark", WorkerPythonError, "PYSPARK_PYTHON"),
        ('Cannot run program "python9": error=2', WorkerPythonError, "PYSPARK_PYTHON"),
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited", JobFailedError, "pyspark-shell"),
        ("No such file or directory: '/x/./bin/spark-submit'", JobFailedError, "SPARK_HOME"),
        ("[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'", JobFailedError, "the schema"),
        ("[UNSUPPORTED_DATATYPE] Unsupported data type", JobFailedError, "the schema"),
    ],
)
def test_what_spark_raises_gets_a_name_and_a_hint(
    text: str, kind: type[Exception], hint: str
) -> None:
    error = as_penstock_error(
        RuntimeError(f"{text}\n\nJVM stacktrace:\norg.apache.spark.Oh"), "Job 'x'"
    )

    assert type(error) is kind
    assert error.message.startswith("Job 'x' ")
    assert text in error.message
    assert "org.apache" not in error.message
    assert hint in str(error.hint)


@pytest.mark.parametrize(
    ("text", "who", "said"),
    [
        (
            "An error occurred while calling o1.getResult.\n: java.Oh\n\tat a.b(C.java:1)\n" * 100
            + "Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
            "A Python worker",
            "Python worker exited unexpectedly",
        ),
        (
            "Lost task: ExecutorLostFailure (executor 1 exited) Reason: killed\nDriver stacktrace:",
            "An executor",
            "ExecutorLostFailure (executor 1 exited) Reason: killed",
        ),
        (
            f"Caused by: org.apache.spark.SparkException: {DAEMON_DIED}..",
            "A Python worker",
            DAEMON_DIED,
        ),
        (
            "org.apache.spark.SparkException: Python worker failed to connect back.",
            "A Python worker",
            "Python worker failed to connect back",
        ),
    ],
)
def test_a_worker_that_died_is_named_with_what_it_ran(text: str, who: str, said: str) -> None:
    error = as_penstock_error(RuntimeError(text), "Job 'x'", ["Source: in -> Map", "Count"])

    assert type(error) is WorkerLostError
    assert error.message == (
        f"Job 'x': {who} died while it ran operators of 'Source: in -> Map', 'Count': it was killed, or "
        f"crashed. Spark says: {said}."
    )
    assert "emory" not in str(error)


def test_only_where_memory_was_it_the_hint_is_about_memory() -> None:
    text = "ExecutorLostFailure (executor 1 exited) Reason: Command exited with code 137"
    error = as_penstock_error(RuntimeError(text), "Job 'x'")
    assert "An executor ran out of memory while it ran" in error.message
    assert "spark.executor.memoryOverhead" in str(error.hint)


def test_of_many_chains_some_are_named() -> None:
    error = as_penstock_error(
        RuntimeError("Python worker exited unexpectedly"), "x", [f"chain {n}" for n in range(50)]
    )
    assert "'chain 9' ..." in error.message
    assert "chain 10" not in error.message


def test_a_server_that_does_not_answer_is_no_source_that_cannot_be_read() -> None:
    text = (
        "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n"
        '\tdetails = "failed to connect to all addresses: Connection refused"\n\tdebug_error_string = "x"\n>'
    )
    error = as_penstock_error(RuntimeError(text), "Job 'x'")
    assert type(error) is SparkServerNotReachableError
    assert error.message == (
        "Job 'x' cannot reach the server of Spark Connect (status = StatusCode.UNAVAILABLE): failed to connect to all "
        "addresses: Connection refused"
    )
    assert not is_alive(SimpleNamespace(), error)  # type: ignore[arg-type]
    error.__cause__ = RuntimeError(text)
    lost = session_lost("Job 'x'", error, can_go_on=False)
    assert lost.message.endswith("all addresses: Connection refused")


def test_frames_of_java_are_left_out() -> None:
    text = "java.lang.Oh: no\n\tat a.B$.c(D.scala:70)\n\tat e.f(Unknown Source)\nCaused by: i.t\n\t... 3 more"
    message = as_penstock_error(RuntimeError(text), "Job 'x'").message
    assert message == "Job 'x' was failed by Spark: java.lang.Oh: no\nCaused by: i.t"


def test_what_is_long_is_cut() -> None:
    assert len(str(as_penstock_error(RuntimeError("a" * 10_000), "Job 'x'"))) < 2500


@pytest.mark.spark
def test_a_session_cannot_be_used_in_a_function(
    env: StreamExecutionEnvironment, spark: SparkSession
) -> None:
    counts = env.from_collection([1]).map(lambda number: spark.range(number).count())
    with pytest.raises(FunctionNotSerializableError) as caught:
        list(counts.execute_and_collect())
    assert "'spark' is a SparkSession, which cannot be used in a function." in str(caught.value)


@pytest.mark.spark
def test_nor_can_a_frame(env: StreamExecutionEnvironment, spark: SparkSession) -> None:
    frame = spark.range(3)
    counts = env.from_collection([1]).map(lambda number: frame.count() + number)
    with pytest.raises(FunctionNotSerializableError, match="'frame' is a DataFrame, which cannot"):
        list(counts.execute_and_collect())


@pytest.mark.parametrize(
    ("text", "is_memory"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", True),
        ("MemoryError", True),
        ("Container killed by YARN for exceeding memory limits", True),
        ("Command exited with code 137", True),
        ("exit code: 137", True),
        ("OOMKilled", True),
        ("Python worker exited unexpectedly (crashed)", False),
        ("Command exited with code 1370", False),
        ("Connection refused: port 137", False),
    ],
)
def test_memory_was_it_by_what_is_said(
    text: str, is_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_signs, "_COUNTS", tmp_path / "none")
    assert MemorySigns(0)(text) is is_memory


def test_memory_was_it_by_what_the_system_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tmp_path / "vmstat"
    counts.write_text("pgfault 7\noom_kill 3\noom_killer 9\n")
    monkeypatch.setattr(memory_signs, "_COUNTS", counts)
    signs = MemorySigns(3)
    assert not signs("crashed")
    counts.write_text("oom_kill 4\n")
    assert signs("crashed")
    assert not signs("crashed")
