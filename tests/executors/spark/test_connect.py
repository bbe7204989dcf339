"""What is different in a session of Spark Connect, told without one."""

from __future__ import annotations

import atexit
import contextlib
import socket
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pyspark
import pytest

from penstock.common import Configuration
from penstock.errors import (
    InvalidArgumentError,
    SparkPackageError,
    SparkServerNotNamedError,
    SparkTooOldError,
    StreamingOnConnectError,
)
from penstock.executors.spark import connect, session
from penstock.executors.spark.connect import (
    check_server,
    ends_at_once,
    is_connect,
    is_elsewhere,
    refuse_connector,
    refuse_other_session,
    server_of,
)
from penstock.executors.spark.interruption import Interruption, interruptible


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


def test_a_process_that_ends_asks_a_server_that_is_gone_once(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policies = Mock()
    client.client = SimpleNamespace(set_retry_policies=set_policies)
    at_exit: list[Any] = []
    monkeypatch.setattr(atexit, "register", lambda *called: at_exit.append(called))
    ends_at_once(client)
    ends_at_once(client)
    assert at_exit == [(set_policies, [])]


def test_a_server_that_this_process_started_is_not_elsewhere(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_elsewhere(client)
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    assert not is_elsewhere(client)


def test_topics_that_the_connector_reads_are_refused_with_two_ways_out(client: Any) -> None:
    with pytest.raises(
        StreamingOnConnectError, match="Job 'x' reads topics of Kafka by Spark's connector"
    ) as raised:
        refuse_connector(client, "Job 'x'")
    assert "kafka.reader to 'spark'" in str(raised.value.hint)
    refuse_connector(Client(), "Job 'x'")  # type: ignore[arg-type]


def test_a_driver_that_follows_one_that_was_killed_interrupts_without_a_file(client: Any) -> None:
    for _ in range(2):
        Interruption(client, "a job that is there already")


def test_what_a_thread_does_for_a_job_has_a_tag_meanwhile(client: Any) -> None:
    with contextlib.suppress(KeyError), interruptible(client, "job"):
        assert client.tags == ["penstock-job"]
        raise KeyError
    assert client.tags == []
    with interruptible(other := Client(), "job"):  # type: ignore[arg-type]
        assert other.tags == []


@pytest.mark.parametrize(
    ("client_version", "server_version", "is_refused"),
    [
        ("4.2.0", "4.0.1", True),
        ("4.0.1", "3.5.9", True),
        ("4.2.0", "4.1.1", False),
        ("4.0.1", "4.0.1", False),
    ],
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
        pytest.raises(SparkTooOldError, match=rf"runs Spark {server_version}, and its client here")
        if is_refused
        else contextlib.nullcontext()
    ):
        check_server(client)


@pytest.mark.parametrize(
    ("client_version", "server_version", "is_remarked_on"),
    [
        ("4.3.0", "4.2.1", True),
        ("4.2.1", "4.1.4-amzn-0", True),
        ("4.3.0", "4.3.1", False),
        ("4.0.5", "4.3.0", False),
    ],
)
def test_a_client_that_is_newer_than_its_server_is_remarked_on(
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
    client_version: str,
    server_version: str,
    *,
    is_remarked_on: bool,
) -> None:
    said: dict[str, str] = {}
    monkeypatch.setattr(connect, "say_once", said.setdefault)
    monkeypatch.setattr(pyspark, "__version__", client_version)
    client.version = server_version

    check_server(client)

    assert [
        client_version in text and server_version in text and "pip install" in text
        for text in said.values()
    ] == [True] * is_remarked_on


def test_a_client_that_is_too_old_is_refused(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    client.version = "3.5.9"
    with pytest.raises(SparkTooOldError, match=r"from Spark 4\.0 on, and pyspark 3\.5\.9"):
        check_server(client)


def test_a_frame_of_another_session_is_refused(client: Any) -> None:
    other = type(client)()
    client.session_id, other.session_id = "one", "other"
    frame: Any = ModuleType("frame")
    frame.sparkSession = client
    refuse_other_session(client, frame, "rows")
    frame.sparkSession = other
    with pytest.raises(InvalidArgumentError, match="'rows' reads a DataFrame of another"):
        refuse_other_session(client, frame, "rows")


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
    monkeypatch.setenv("SPARK_REMOTE", "local[2]")
    with pytest.raises(SparkServerNotNamedError, match=r"and starts none for 'local\[2\]'"):
        server_of(Configuration())


class Incomplete:
    """Builds no session, as a package of the client is not installed."""

    builder: Any

    def remote(self, server: str) -> Incomplete:
        return self

    def getOrCreate(self) -> None:  # noqa: N802 - Spark's name
        raise ImportError("grpcio-status must be installed; however, it was not found.")


def test_a_package_of_the_client_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Incomplete, "builder", Incomplete(), raising=False)
    monkeypatch.setattr(session, "SparkSession", Incomplete)
    monkeypatch.setenv("SPARK_REMOTE", "sc://one")
    with pytest.raises(SparkPackageError, match="grpcio-status") as raised:
        session.session(None, Configuration())
    assert "pip install 'penstock[connect]'" in str(raised.value.hint)


def test_a_server_that_is_not_there_is_told_of_at_once(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    session._remark_on_silence(f"sc://127.0.0.1:{port}/;token=secret")
    (said,) = caplog.messages
    assert said.startswith(f"The server sc://127.0.0.1:{port} does not answer: ")
    caplog.clear()
    with socket.create_server(("127.0.0.1", 0)) as server:
        session._remark_on_silence(f"sc://127.0.0.1:{server.getsockname()[1]}")
    assert not caplog.messages
