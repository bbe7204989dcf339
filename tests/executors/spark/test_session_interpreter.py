"""Which interpreter a session that is built starts its workers with."""

from __future__ import annotations

import itertools
import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.executors.spark import session as module
from penstock.executors.spark.session import interpreter_of, session

PYTHON = "PYSPARK_PYTHON"
NUMBERS = itertools.count()


class Built:
    """Stands for a session: it has the interpreter that is named when it is built."""

    version = "4.3.0"

    builder: Any

    def __init__(self) -> None:
        self.conf = {"spark.app.id": f"application {next(NUMBERS)}"}
        self.interpreter = os.environ.get(PYTHON)


class Builder:
    def config(self, key: str, value: str) -> Builder:
        return self

    def getOrCreate(self) -> Built:  # noqa: N802 - Spark's name
        return Built()


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Built, "builder", Builder(), raising=False)
    monkeypatch.setattr(module, "SparkSession", Built)
    monkeypatch.setattr(module, "ensure_java", lambda: None)
    monkeypatch.setattr(module, "forget_dead_process", lambda: None)
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


def built(executable: str | None = None) -> Any:
    configuration = Configuration()
    if executable is not None:
        configuration.set_string("python.executable", executable)
    found: Any = session(None, configuration)
    assert interpreter_of(found) == (found.interpreter or "python3")
    return found.interpreter


def test_it_is_the_one_that_the_program_names_then_the_environment_then_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PYTHON, "/python/of/the/environment")
    assert built("/python/of/the/program") == "/python/of/the/program"
    assert built() == "/python/of/the/environment"

    monkeypatch.delenv(PYTHON)
    assert built("/python/of/the/program") == "/python/of/the/program"
    assert built() == sys.executable


def test_it_is_named_to_no_later_session() -> None:
    before = os.environ[PYTHON]
    assert built("/python/of/one") == "/python/of/one"
    assert os.environ[PYTHON] == before
    assert built() == before
    assert built("/python/of/another") == "/python/of/another"


def test_what_started_the_program_has_named_it_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PYTHON)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setattr("penstock.executors.spark.session.keep_java_running", lambda: None)
    assert built() is None
    assert built("/python/of/the/program") == "/python/of/the/program"
    assert PYTHON not in os.environ


def test_a_session_that_runs_keeps_its_own_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    running: Any = Built()
    running.interpreter = os.environ[PYTHON]
    for _ in range(2):
        asking = Configuration().set_string("python.executable", "/python/of/the/program")
        assert session(running, asking) is running
    same = Configuration().set_string("python.executable", running.interpreter)
    session(running, same)
    assert [record.getMessage().partition(", and")[0] for record in caplog.records] == [
        "python.executable asks for '/python/of/the/program', but the SparkSession runs already"
    ]


def test_a_server_keeps_its_own_and_the_log_says_where_it_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kind = type("SparkSession", (Built,), {"__module__": "pyspark.sql.connect.session"})
    kind.client = SimpleNamespace(set_retry_policies=list)  # type: ignore[attr-defined]
    asking = Configuration().set_string("python.executable", "/python/of/another/program")
    session(kind(), asking)
    (record,) = caplog.records
    assert "a server of Spark Connect starts workers as it was told" in record.getMessage()
