"""A token is sent only to those who are known."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import Client, ShownJob, served

from penstock.cli.jobs import found_jobs, port_owners
from penstock.cli.jobs.gateway import Gateway
from penstock.cli.jobs.port_owners import is_own_port
from penstock.errors import JobsRefusedError
from penstock.executors.driver.rest.access import Access
from penstock.executors.driver.rest.server import RestServer

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
LINE = "   0: {address}:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 {uid}        0 1 1\n"


@pytest.fixture
def owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's table of ports."""
    table = tmp_path / "tcp"
    monkeypatch.setattr(port_owners, "_TABLES", (str(table), str(tmp_path / "tcp6")))
    return table


def line(uid: int, port: int = 8081, state: str = "0A", address: str = "0100007F") -> str:
    return LINE.format(uid=uid, port=port, state=state, address=address)


@pytest.mark.parametrize(
    ("lines", "is_own"),
    [
        ([], False),
        ([line(os.getuid())], True),
        ([line(0)], True),
        ([line(4_711)], False),
        ([line(os.getuid(), 8082)], False),
        ([line(os.getuid()), line(4_711, 8082)], True),
        ([line(os.getuid(), address="00000000"), line(4_711)], False),
        ([line(os.getuid()), line(4_711, state="01")], True),
    ],
)
def test_a_port_is_ones_own_if_nobody_else_listens_there(
    owners: Path, lines: list[str], is_own: bool
) -> None:
    owners.write_text(HEAD + "".join(lines))
    assert is_own_port(8081) is is_own


def test_where_the_system_has_no_such_table_no_port_is_known(owners: Path) -> None:
    assert not owners.exists()
    assert not is_own_port(8081)


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux says whose a port is.")
def test_the_kernel_says_whose_a_port_is() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        assert is_own_port(port)
    assert not is_own_port(port)


def test_a_token_is_not_sent_to_a_stranger_who_is_not_named(
    owners: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(ShownJob(), access=Access(token="abc")) as driver:
        monkeypatch.setattr(found_jobs, "PORTS", (driver.port,))
        owners.write_text(HEAD + line(4_711, driver.port))
        with pytest.raises(JobsRefusedError, match="another user"):
            found_jobs.found_jobs(None, "abc")
        named = found_jobs.found_jobs(f"127.0.0.1:{driver.port}", "abc")
        owners.write_text(HEAD + line(os.getuid(), driver.port))
        own = found_jobs.found_jobs(None, "abc")

    assert [job.job_id for job in named + own] == [views.JOB_ID] * 2


def test_nor_is_it_passed_on_to_one() -> None:
    trusted: set[str] = set()
    with served(ShownJob(), access=Access(token="abc")) as driver:
        gateway = Gateway([f"127.0.0.1:{driver.port}"], trusted.__contains__)
        server = RestServer(gateway, Access(), "127.0.0.1", [0])
        ask = Client(server.port)
        token = {"Authorization": "Bearer abc"}
        statuses = [ask(path, headers=token).status for path in ("/jobs", f"/jobs/{views.JOB_ID}")]
        trusted.add(f"127.0.0.1:{driver.port}")
        statuses += [ask(path, headers=token).status for path in ("/jobs", f"/jobs/{views.JOB_ID}")]
        ask.close()
        server.close()
        gateway.close()

    assert statuses == [401, 401, 200, 200]
