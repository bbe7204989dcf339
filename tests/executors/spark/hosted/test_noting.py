"""What is noted of a job on a server: where that is, and no secrets."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.executors.spark.hosted.noting import note_of
from penstock.job_notes import JobNote


class Builder:
    """Knows where a server is, as that of Spark's client does."""

    endpoint = "spark.example.org:15002"
    use_ssl = False
    token = "hunter2"


class Client:
    _builder: Any = Builder()


class Session:
    client = Client()


Session.__module__ = "pyspark.sql.connect.session"


def noted(session: Any) -> JobNote | None:
    return note_of(session, "/checkpoints/clicks", "1" * 32, "clicks")


def test_a_note_says_where_the_job_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = noted(Session())
    assert found == JobNote(
        "sc://spark.example.org:15002", "/checkpoints/clicks", "1" * 32, "clicks"
    )
    monkeypatch.setattr(Builder, "use_ssl", True)
    found = noted(Session())
    assert found is not None
    assert found.server == "sc://spark.example.org:15002/;use_ssl=true"


def test_of_a_server_that_ends_with_this_process_nothing_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    assert noted(Session()) is None


def test_where_nothing_says_where_the_server_is_nothing_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Client, "_builder", object())
    assert noted(Session()) is None
