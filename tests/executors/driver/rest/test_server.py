"""The server speaks HTTP as clients expect it, and breaks by nothing that is sent to it."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import Client, ShownJob, served

from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.connections import TimedInput
from penstock.executors.driver.rest.routes import Api
from penstock.executors.driver.rest.server import RestServer

JOB = f"/jobs/{views.JOB_ID}"


def test_a_connection_answers_many_requests() -> None:
    with served(ShownJob()) as client:
        client("/jobs")
        connection: Any = client._connection.sock
        local = connection.getsockname()
        for _ in range(20):
            assert client("/jobs").status == 200
        assert client._connection.sock.getsockname() == local


def test_nothing_is_kept_by_caches_nor_guessed_by_browsers() -> None:
    with served(ShownJob()) as client:
        headers = client("/jobs").headers

    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers
    assert "Python" not in headers["server"]


def test_the_head_of_an_answer_can_be_asked_for_alone() -> None:
    with served(ShownJob()) as client:
        reply = client("/jobs", "HEAD")
        assert (reply.status, reply.body) == (200, "")
        assert int(reply.headers["content-length"]) > 10
        assert client("/jobs").status == 200


@pytest.mark.parametrize("body", [b"{", b"\xff", b"nothing"])
def test_a_body_that_is_no_json_is_refused(body: bytes) -> None:
    with served(ShownJob()) as client:
        reply = client(f"{JOB}/stop", "POST", body)
        assert (reply.status, reply.body["errors"]) == (400, ["The body is no JSON."])
        assert client("/jobs").status == 200


def test_a_body_that_is_too_long_is_not_read() -> None:
    with served(ShownJob()) as client:
        reply = client(f"{JOB}/stop", "POST", b"", headers={"Content-Length": "2000000"})
        assert (reply.status, reply.headers["connection"]) == (413, "close")


@pytest.mark.parametrize(
    "text",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /jobs HTTP/9.9\r\n\r\n",
        b"BREW /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /%ff%00/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_whatever_is_sent_the_next_one_is_answered(text: bytes) -> None:
    with served(ShownJob()) as client:
        with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            found = connection.recv(10_000)
        assert b" 200 " not in found
        assert client("/jobs").status == 200


def sent(port: int, text: bytes) -> bytes:
    """Return all that is answered to a text, until the server hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(10_000), b""))


def a_request(line: str, *headers: str, body: bytes = b"") -> bytes:
    head = "\r\n".join([f"{line} HTTP/1.1", *(headers or ["Host: localhost"])])
    return f"{head}\r\n\r\n".encode("latin-1") + body


@pytest.mark.parametrize(
    "text",
    [
        a_request("GET http://[::1/\x1b[2J"),
        a_request(f"GET {JOB}/checkpoints/details/{'9' * 5000}"),
        a_request(f"GET {JOB}/log?after={'9' * 5000}"),
        a_request(f"GET {JOB}/exceptions?maxExceptions=%FF"),
        a_request(
            f"GET {JOB}/vertices/{views.view().vertices[0].vertex_id}/subtasks/metrics"
            f"?subtasks=0-{'9' * 5000}"
        ),
        a_request(f"POST {JOB}/stop", "Host: localhost", "Content-Length: 1x"),
        a_request(f"POST {JOB}/stop", "Host: localhost", "Content-Length: \xb2"),
        a_request(
            f"POST {JOB}/stop", "Host: localhost", "Content-Length: 500000", body=b"[" * 500_000
        ),
        a_request(f"POST {JOB}/stop", "Host: localhost", "Content-Length: 9000", body=b"9" * 9000),
        a_request("GET /jobs", "Accept: */*"),
        a_request("GET /jobs", "Host: localhost", "Host: evil.example"),
        a_request("POST /jobs", "Host: localhost", "Content-Length: 1", "Content-Length: 2"),
    ],
    ids=lambda text: text[:60],
)
def test_what_cannot_be_read_is_refused_and_nothing_is_logged(
    text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with served(ShownJob()) as client:
        answer = sent(client.port, text)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert caplog.text == ""


def test_a_length_of_5000_digits_is_too_long(caplog: pytest.LogCaptureFixture) -> None:
    text = a_request("POST /jobs", "Host: localhost", f"Content-Length: {'9' * 5000}")
    with served(ShownJob()) as client:
        answer = sent(client.port, text)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"Connection: close" in answer
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("host", "status"), [("localhost", b"401"), ("evil.example", b"401"), ("", b"400")]
)
def test_the_body_of_who_has_no_token_is_not_waited_for(host: str, status: bytes) -> None:
    lines = [f"Host: {host}"] if host else ["Accept: */*"]
    text = a_request(f"POST {JOB}/stop", *lines, "Content-Length: 100")
    with (
        served(ShownJob(), access=Access(token="abc")) as client,
        socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection,
    ):
        connection.sendall(text)
        assert connection.recv(10_000).split()[1] == status


@pytest.mark.parametrize("error", [TimeoutError, ConnectionResetError])
def test_a_body_that_does_not_come_is_no_failure_of_the_server(
    error: type[OSError], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Silent(TimedInput):
        has_read = False

        def readinto(self, buffer: Any) -> int:
            if self.has_read:
                raise error
            self.has_read = True
            return super().readinto(buffer)

    monkeypatch.setattr("penstock.executors.driver.rest.server.TimedInput", Silent)
    text = a_request(f"POST {JOB}/stop", "Host: localhost", "Content-Length: 100")
    with served(ShownJob()) as client:
        answer = sent(client.port, text)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"The body of the request did not come." in answer
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (a_request("TRACE /jobs"), b"501"),
        (a_request(f"GET /{70_000 * 'x'}"), b"414"),
        (a_request("GET /jobs", f"X: {70_000 * 'x'}"), b"431"),
        (a_request("GET /jobs", *(f"X-{number}: x" for number in range(200))), b"431"),
    ],
)
def test_what_is_no_request_is_answered_as_json_too(text: bytes, status: bytes) -> None:
    with served(ShownJob()) as client:
        head, _, body = sent(client.port, text).partition(b"\r\n\r\n")
    assert head.split()[1] == status
    assert b"Content-Type: application/json" in head
    [error] = json.loads(body)["errors"]
    assert error.endswith(".")


def test_a_page_of_another_site_is_refused_before_its_body_is_read() -> None:
    text = a_request("POST /jobs", "Host: evil.example", "Content-Length: 100")
    with (
        served(ShownJob()) as client,
        socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection,
    ):
        connection.sendall(text)
        assert connection.recv(10_000).split()[1] == b"403"


def test_a_failure_of_its_own_is_logged_in_one_line_of_what_can_be_printed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ShownJob()
    monkeypatch.setattr(job, "view", lambda: 1 / 0)
    with served(job) as client:
        sent(client.port, a_request(f"GET {JOB}?\x1b[2J{'x' * 1000}"))

    [record] = caplog.records
    assert "\x1b" not in record.getMessage()
    assert "x" * 200 not in record.getMessage()


def test_a_failure_of_its_own_is_said_is_said_without_its_cause(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ShownJob()

    def fail() -> Any:
        raise ValueError("secret")

    monkeypatch.setattr(job, "view", fail)
    with served(job) as client:
        reply = client(JOB)

    assert (reply.status, reply.body["errors"]) == (500, ["Internal server error: ValueError."])
    assert "secret" in caplog.text


def test_of_several_ports_the_first_that_is_free_is_taken() -> None:
    with served(ShownJob()) as client:
        server = RestServer(Api(list), Access(), "127.0.0.1", [client.port, 0])
        try:
            assert server.port != client.port
            other = Client(server.port)
            assert other("/jobs").body == {"jobs": []}
            other.close()
        finally:
            server.close()
        with pytest.raises(OSError, match="in use"):
            RestServer(Api(list), Access(), "127.0.0.1", [client.port])


def test_the_port_of_a_server_that_has_ended_is_free_at_once() -> None:
    with served(ShownJob()) as client:
        client("/jobs")
        port = client.port
    server = RestServer(Api(list), Access(), "127.0.0.1", [port])
    server.close()
    assert server.port == port


def test_a_server_that_is_closed_hangs_up() -> None:
    server = RestServer(Api(list), Access(), "127.0.0.1", [0])
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(b"GET /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(10_000)
        server.close()
        assert connection.recv(10_000) == b""


def test_a_client_that_drips_has_a_limit_for_the_whole_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("penstock.executors.driver.rest.connections.time", clock)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"GET / HTTP/1.1")
        drips = TimedInput(ours, limit_s=10, idle_s=60)
        for now in (0.0, 4.0, 9.0):  # noqa: B007 - the clock reads it
            assert drips.read(1)
        now = 10.0
        with pytest.raises(TimeoutError):
            drips.read(1)
        drips.expect_next()
        now = 69.0
        assert drips.read(1)
        now = 79.0
        with pytest.raises(TimeoutError):
            drips.read(1)


def test_who_sends_nothing_keeps_nobody_out() -> None:
    with served(ShownJob()) as client, ExitStack() as held:
        silent = []
        for _ in range(150):
            one = socket.create_connection(("127.0.0.1", client.port), timeout=30)
            silent.append(held.enter_context(one))
            one.sendall(b"GET /jobs HTTP/1.1\r\nHost: localhost\r\n")
        assert client("/jobs").status == 200
        for one in silent[:50]:
            assert one.recv(10) == b""
        silent[-1].sendall(b"\r\n")
        assert silent[-1].recv(10_000).startswith(b"HTTP/1.1 200 ")


def test_where_the_server_is_at_work_for_all_another_one_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.executors.driver.rest.server._MOST_CONNECTIONS", 1)
    job, is_asked, may_answer = ShownJob(), threading.Event(), threading.Event()

    def view() -> Any:
        is_asked.set()
        assert may_answer.wait(30)
        return job.shown

    monkeypatch.setattr(job, "view", view)
    with (
        served(job) as client,
        socket.create_connection(("127.0.0.1", client.port), timeout=30) as first,
    ):
        first.sendall(a_request(f"GET {JOB}"))
        assert is_asked.wait(30)
        assert client("/jobs").status == 503
        may_answer.set()
        assert first.recv(100).startswith(b"HTTP/1.1 200 ")
        client.close()
        assert client("/jobs").status == 200
