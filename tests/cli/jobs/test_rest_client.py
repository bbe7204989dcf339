"""What cannot be asked is told by name."""

from __future__ import annotations

import socket
import threading

import pytest
from tests.executors.driver.rest.client import ShownJob, served

from penstock.cli.jobs.rest_client import RestClient
from penstock.errors import JobsNotReachableError, JobsRefusedError


@pytest.mark.parametrize("address", ["", "http://", "ftp://here:1", "here:port", "http://[1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(JobsNotReachableError, match="is no address"):
        RestClient(address)


def test_an_answer_that_is_no_json_is_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(JobsNotReachableError, match="No REST API answers"):
            RestClient(f"127.0.0.1:{server.getsockname()[1]}")("/jobs")
        thread.join(30)


def test_what_is_refused_is_told_in_the_words_of_the_server() -> None:
    with served(ShownJob()) as client, pytest.raises(JobsRefusedError, match="Not found: /none"):
        RestClient(f"127.0.0.1:{client.port}")("/none")
