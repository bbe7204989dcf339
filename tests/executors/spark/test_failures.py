from __future__ import annotations

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
    WorkerLostError,
)
from penstock.executors.spark.failures import as_penstock_error


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
        ("ModuleNotFoundError: No module named 'pyarrow'", JobFailedError, "PYSPARK_PYTHON"),
        ("[PYTHON_VERSION_MISMATCH] 3.9, 3.11", JobFailedError, "PYSPARK_PYTHON"),
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
    ],
)
def test_a_worker_that_died_is_named_with_what_it_ran(text: str, who: str, said: str) -> None:
    error = as_penstock_error(RuntimeError(text), "Job 'x'", ["Source: in -> Map", "Count"])

    assert type(error) is WorkerLostError
    assert error.message == (
        f"Job 'x': {who} died (killed, or out of memory) while it ran operators of "
        f"'Source: in -> Map', 'Count'. Spark says: {said}."
    )
    assert "spark.executor.memoryOverhead" in str(error.hint)


def test_of_many_chains_some_are_named() -> None:
    error = as_penstock_error(
        RuntimeError("Python worker exited unexpectedly"), "x", [f"chain {n}" for n in range(50)]
    )
    assert "'chain 9' ..." in error.message
    assert "chain 10" not in error.message


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
