"""What is different in a session of Spark Connect, told without one."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

import pyspark
import pytest

from penstock.common import Configuration
from penstock.errors import SparkServerNotNamedError, SparkTooOldError, StreamingOnConnectError
from penstock.executors.spark import connect
from penstock.executors.spark.connect import (
    check_server,
    is_connect,
    is_elsewhere,
    refuse_streaming,
    server_of,
)
from penstock.executors.spark.interruption import interruptible


class Client:
    """As much of a session as is asked for here."""

    def __init__(self) -> None:
        self.tags: list[str] = []

    def addTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        self.tags.append(tag)

    def removeTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        self.tags.remove(tag)


@pytest.fixture
def client() -> Any:
    kind = type("SparkSession", (Client,), {"__module__": "pyspark.sql.connect.session"})
    return type("OfAVendor", (kind,), {})()


def test_a_client_is_told_by_where_its_class_or_one_before_it_is(client: Any) -> None:
    assert is_connect(client)
    assert not is_connect(ModuleType("pyspark.sql.session"))  # type: ignore[arg-type]


def test_a_server_that_this_process_started_is_not_elsewhere(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_elsewhere(client)
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    assert not is_elsewhere(client)


def test_a_stream_is_refused_with_the_reason_and_two_ways_out(client: Any) -> None:
    with pytest.raises(
        StreamingOnConnectError, match="Job 'x' reads a stream of Spark's"
    ) as raised:
        refuse_streaming(client, "Job 'x'")
    assert "spark.read in place of spark.readStream" in str(raised.value.hint)
    refuse_streaming(Client(), "Job 'x'")  # type: ignore[arg-type]


def test_what_a_thread_does_for_a_job_has_a_tag_meanwhile(client: Any) -> None:
    with contextlib.suppress(KeyError), interruptible(client, "job"):
        assert client.tags == ["penstock-job"]
        raise KeyError
    assert client.tags == []
    with interruptible(other := Client(), "job"):  # type: ignore[arg-type]
        assert other.tags == []


@pytest.mark.parametrize(
    ("client_version", "server_version", "is_refused"),
    [("4.2.0", "4.0.1", True), ("4.2.0", "4.1.1", False), ("4.0.1", "4.0.1", False)],
)
def test_a_server_that_does_not_know_what_its_client_asks_for_is_refused(
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
    client_version: str,
    server_version: str,
    *,
    is_refused: bool,
) -> None:
    monkeypatch.setattr(pyspark, "__version__", client_version)
    client.version = server_version
    with (
        pytest.raises(SparkTooOldError, match=r"runs Spark 4\.0\.1, and its client here")
        if is_refused
        else contextlib.nullcontext()
    ):
        check_server(client)


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_server_is_named_by_the_job_or_by_the_environment(
    *, is_alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "is_client_alone", lambda: is_alone)
    monkeypatch.setenv("SPARK_REMOTE", "sc://one")
    assert server_of(Configuration()) == "sc://one"
    assert server_of(Configuration().set_string("spark.remote", "sc://other")) == "sc://other"


def test_only_who_has_nothing_but_the_client_needs_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setattr(connect, "is_client_alone", lambda: False)
    assert server_of(Configuration()) is None
    monkeypatch.setattr(connect, "is_client_alone", lambda: True)
    with pytest.raises(SparkServerNotNamedError, match="needs a server") as raised:
        server_of(Configuration())
    assert "SPARK_REMOTE=sc://host:15002" in str(raised.value.hint)
