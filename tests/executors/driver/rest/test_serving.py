"""A process has one server, which its first job opens where it is asked for."""

from __future__ import annotations

import logging
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import Client, ShownJob

from penstock.common import Configuration
from penstock.common.job_status import JobStatus
from penstock.errors import InvalidConfigurationValueError, PortInUseError
from penstock.executors.driver.rest import serving as module
from penstock.executors.driver.rest.serving import Serving

HERE = "127.0.0.1"


@pytest.fixture
def serving() -> Iterator[Serving]:
    found = Serving(default_port=0)
    yield found
    found.close()


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server((HERE, 0)) as server:
        yield server.getsockname()[1]


def settings(**given: str) -> Configuration:
    return Configuration.from_dict(
        {key.replace("__", "-").replace("_", "."): value for key, value in given.items()}
    )


def port_of(address: str) -> int:
    return urlsplit(address).port or 0


def status(address: str, token: str | None = None) -> int:
    client = Client(port_of(address))
    try:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return client("/jobs", headers=headers).status
    finally:
        client.close()


def test_all_jobs_are_seen_at_one_place(
    serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    first = serving.serve("one", settings())
    second = serving.serve("two", settings(rest_port="0"))

    assert first == second == serving.address
    assert first.startswith(f"http://{HERE}:")
    assert status(first) == 200
    assert "two" not in capsys.readouterr().err


def test_it_is_said_once_where_it_is(serving: Serving, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        address = serving.serve("fares\x1b[31m\n", settings())

    assert [record.getMessage() for record in caplog.records] == [f"Job 'fares [31m': {address}"]


def test_a_port_that_is_taken_makes_way_for_the_next_one(
    serving: Serving, taken: int, caplog: pytest.LogCaptureFixture
) -> None:
    address = serving.serve("one", settings(rest_port=str(taken)))

    assert port_of(address) > taken
    assert f"Port {taken} is taken: the REST API is at port {port_of(address)}." in caplog.text


def test_ports_that_are_named_are_the_only_ones(serving: Serving, taken: int) -> None:
    with pytest.raises(PortInUseError, match=r"rest\.bind-port(.|\n)*\n\nHint: "):
        serving.serve("one", settings(rest_bind__port=str(taken)))

    assert serving.address is None
    with socket.create_server((HERE, 0)) as server:
        free = server.getsockname()[1]
    address = serving.serve("one", settings(rest_bind__port=f"{taken},{free}"))
    assert port_of(address) == free


@pytest.mark.parametrize(
    "address", ["192.0.2.1", "nowhere.invalid", "127.0.0.1.1", "a" * 70, "x y"]
)
def test_an_address_that_is_not_this_machine_s_is_refused(
    serving: Serving, caplog: pytest.LogCaptureFixture, address: str
) -> None:
    with pytest.raises(InvalidConfigurationValueError, match=f"'{address}'(.|\n)*Hint: "):
        serving.serve("one", settings(rest_bind__address=address, rest_port="0"))
    assert "token" not in caplog.text


@pytest.mark.parametrize("address", ["127.0.0.2", "[::1]", "::1", "::ffff:127.0.0.1"])
def test_all_of_loopback_is_this_machine(
    serving: Serving, caplog: pytest.LogCaptureFixture, address: str
) -> None:
    try:
        place = serving.serve("one", settings(rest_bind__address=address, rest_port="0"))
    except InvalidConfigurationValueError:
        pytest.skip(f"this machine has no {address}")

    assert "token" not in caplog.text
    with urllib.request.urlopen(f"{place}/jobs", timeout=30) as found:
        assert found.status == 200


@pytest.mark.parametrize("token", [" ", "   ", "a b", "pässword", "a\nb"])
def test_a_token_that_nobody_can_send_is_refused(serving: Serving, token: str) -> None:
    with pytest.raises(InvalidConfigurationValueError, match=r"rest\.token") as raised:
        serving.serve("one", settings(rest_token=token))
    assert token.strip() == "" or token not in str(raised.value)
    assert serving.address is None


def test_beyond_loopback_a_token_is_missed(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    address = serving.serve(
        "one", settings(rest_bind__address="0.0.0.0", rest_address="jobs.example")
    )

    assert address.startswith("http://jobs.example:")
    assert "without a token" in caplog.text


@pytest.mark.parametrize("given", [{"rest_token": "abc"}, {"rest_bind__address": "localhost"}])
def test_with_a_token_or_on_loopback_it_is_not(
    serving: Serving, caplog: pytest.LogCaptureFixture, given: dict[str, str]
) -> None:
    serving.serve("one", settings(**given))
    assert "token" not in caplog.text


def test_the_token_of_a_later_job_holds_for_all(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    address = serving.serve("one", settings())
    serving.serve("two", settings(rest_token="abc"))
    serving.serve("three", settings())
    serving.serve("four", settings(rest_token="abc"))
    assert "token" not in caplog.text
    serving.serve("five", settings(rest_token="other"))

    assert (status(address), status(address, "abc"), status(address, "other")) == (401, 200, 401)
    assert "keeps the rest.token of its first job" in caplog.text
    assert "abc" not in caplog.text


def test_closed_it_can_be_opened_again(serving: Serving) -> None:
    first = serving.serve("one", settings())
    serving.close()
    with pytest.raises(ConnectionRefusedError):
        status(first)
    second = serving.serve("two", settings(rest_bind__port=str(port_of(first))))
    assert second == first


class Jobs:
    """The jobs of a process, as one that can end."""

    def __init__(self) -> None:
        self.job = ShownJob()

    def jobs(self) -> tuple[ShownJob, ...]:
        return (self.job,)

    def end(self) -> None:
        self.job.shown = views.view(status=JobStatus.FINISHED)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    found = Jobs()
    monkeypatch.setattr(module, "JOBS", found)
    return found


def lingered(serving: Serving, limit_s: float = 30) -> float:
    begun = time.monotonic()
    serving.linger(limit_s)
    return time.monotonic() - begun


def stop(address: str) -> str:
    """Ask for a stop, and return where its result is told."""
    client = Client(port_of(address))
    begun = client(f"/jobs/{views.JOB_ID}/stop", "POST", {"targetDirectory": "/s"})
    client.close()
    return f"/jobs/{views.JOB_ID}/savepoints/{begun.body['request-id']}"


def test_where_nobody_asked_and_while_a_job_runs_nothing_is_waited_for(
    serving: Serving, jobs: Jobs
) -> None:
    serving.serve("one", settings())
    assert lingered(serving) < 1
    assert status(serving.address or "") == 200
    assert lingered(serving) < 1

    jobs.end()
    assert lingered(serving, 0.3) >= 0.3


def test_a_result_that_nobody_fetches_is_kept_for_a_while(serving: Serving, jobs: Jobs) -> None:
    stop(serving.serve("one", settings(rest_async_store__duration="4 s")))
    jobs.end()
    assert 4 <= lingered(serving) < 20


def test_once_the_result_is_fetched_nothing_is_waited_for(serving: Serving, jobs: Jobs) -> None:
    address = serving.serve("one", settings(rest_async_store__duration="1 min"))
    result = stop(address)
    jobs.end()
    waiting = threading.Thread(target=serving.linger)
    waiting.start()
    waiting.join(3)
    assert waiting.is_alive()

    client = Client(port_of(address))
    assert client(result).body["operation"]["location"] == "/s/savepoint-1"
    waiting.join(20)
    client.close()
    assert not waiting.is_alive()
