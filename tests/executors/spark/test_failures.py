from __future__ import annotations

import pytest

from penstock.errors import JobFailedError, NoSinkError, SourceNotReadableError
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
            "something that listens",
        ),
        ("[PATH_NOT_FOUND] Path does not exist: file:/none", SourceNotReadableError, "is right"),
        ("Python worker exited unexpectedly (crashed)", JobFailedError, "short of memory"),
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


def test_what_is_long_is_cut() -> None:
    assert len(str(as_penstock_error(RuntimeError("a" * 10_000), "Job 'x'"))) < 2500
