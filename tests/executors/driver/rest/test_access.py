"""Pages of other sites get nothing, and without the token nobody does where one is set."""

from __future__ import annotations

import socket

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import ShownJob, served

from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.exchange import Request, RequestRefusedError

JOB = f"/jobs/{views.JOB_ID}"


def status_for(access: Access, method: str = "GET", **headers: str) -> int:
    try:
        access.check_site(Request(method, "/", headers=headers))
    except RequestRefusedError as error:
        return error.status
    return 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8081", 200),
        ("127.0.0.1:9000", 200),
        ("LOCALHOST", 200),
        ("[::1]:8081", 200),
        ("jobs.bank.example:8081", 200),
        ("evil.example:8081", 403),
        ("127.0.0.1.evil.example", 403),
        ("10.0.0.7:8081", 403),
        ("[::1", 403),
        ("127.0.0.2:8081", 200),
        ("[::ffff:127.0.0.1]:8081", 200),
        ("[::ffff:10.0.0.7]:8081", 403),
    ],
)
def test_on_loopback_only_its_names_are_answered(host: str, status: int) -> None:
    assert status_for(Access(address="jobs.bank.example"), host=host) == status


@pytest.mark.parametrize(
    ("host", "status"),
    [("10.0.0.7:8081", 200), (socket.gethostname(), 200), ("evil.example", 403)],
)
def test_beyond_it_addresses_and_the_machine_s_names_are_too(host: str, status: int) -> None:
    assert status_for(Access(is_loopback=False), host=host) == status


def test_where_a_token_is_wanted_any_name_will_do() -> None:
    assert status_for(Access(token="t"), host="proxy.example") == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:8081", 200),
        ("https://localhost:8081", 200),
        ("http://localhost:9999", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
def test_a_page_of_another_site_changes_nothing(origin: str, status: int) -> None:
    access = Access()
    assert status_for(access, "PATCH", host="localhost:8081", origin=origin) == status
    assert status_for(access, "GET", host="localhost:8081", origin=origin) == 200


@pytest.mark.parametrize("origin", ["null", "http://evil.example"])
def test_a_page_that_names_no_host_changes_nothing_either(origin: str) -> None:
    assert status_for(Access(), "PATCH", origin=origin) == 403


def test_a_program_sends_no_origin_and_is_answered() -> None:
    assert status_for(Access(), "POST", host="localhost:8081") == 200


def test_without_the_token_there_is_no_answer() -> None:
    job = ShownJob()
    with served(job, access=Access(token="sésame")) as client:
        for headers in (
            {},
            {"Authorization": "Bearer other"},
            {"Authorization": "Basic sésame".encode().decode("latin-1")},
            {"Authorization": "Bearer"},
        ):
            reply = client(JOB, "PATCH", headers=headers)
            assert reply.status == 401
            assert reply.headers["www-authenticate"].startswith("Bearer")
            assert client("/jobs", headers=headers).status == 401
        assert job.shown.status.name == "RUNNING"


def test_with_the_token_there_is_one() -> None:
    with served(ShownJob(), access=Access(token="abc")) as client:
        assert client("/jobs", headers={"Authorization": "Bearer abc"}).status == 200
        assert client("/jobs", headers={"Authorization": "bearer abc"}).status == 200
