"""Local jobs are seen from outside if that is asked for, and steered; a program hears of what others did."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.executors.driver.rest.client import Client
from tests.executors.driver.rest.test_routes import wait_for_result
from tests.executors.scripted import Script, ScriptedSource

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import JobCancelledError, PortInUseError
from penstock.executors.driver.rest.serving import SERVING
from penstock.testing import local_environment

SECONDS = 30


@pytest.fixture
def env(tmp_path: Path) -> Iterator[StreamExecutionEnvironment]:
    SERVING.close()
    env = local_environment()
    settings = {"rest.port": "0", "execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    env.configure(Configuration.from_dict(settings))
    yield env
    SERVING.close()


def endless(env: StreamExecutionEnvironment, name: str) -> DataStream:
    """Return the numbers from 1 to 3, after which more may come."""
    source = ScriptedSource(name, Script([[1, 2, 3]], ends=False))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    return numbers.key_by(lambda number: 0).sum()


def client() -> Client:
    assert SERVING.address is not None
    return Client(urlsplit(SERVING.address).port or 0)


def wait_until(is_so: Callable[[], Any]) -> Any:
    limit = time.monotonic() + SECONDS
    while time.monotonic() < limit:
        if found := is_so():
            return found
        time.sleep(0.01)
    raise AssertionError("it does not happen")


def running_job(ask: Client) -> str:
    """Wait until the last job has committed an epoch, and return its id."""

    def found() -> str | None:
        if SERVING.address is None:
            return None
        job = ask("/jobs/overview").body["jobs"][0]
        counts = ask(f"/jobs/{job['jid']}/checkpoints").body["counts"]
        return str(job["jid"]) if job["state"] == "RUNNING" and counts["completed"] else None

    return str(wait_until(found))


def test_a_job_is_seen_saved_and_stopped(
    env: StreamExecutionEnvironment, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    endless(env, request.node.name).add_sink(lambda total: None)
    job = env.execute_async("totals")
    ask = client()
    job_id = running_job(ask)
    assert job_id == str(job.get_job_id())
    assert ask(f"/jobs/{job_id}").body["name"] == "totals"

    begun = ask(f"/jobs/{job_id}/savepoints", "POST", {"target-directory": str(tmp_path / "a")})
    saved = wait_for_result(ask, f"/jobs/{job_id}/savepoints/{begun.body['request-id']}")
    assert Path(saved["operation"]["location"].removeprefix("file://")).is_dir()
    assert ask(f"/jobs/{job_id}/status").body == {"status": "RUNNING"}

    latest = ask(f"/jobs/{job_id}/checkpoints").body["latest"]["savepoint"]
    assert latest["is_savepoint"] is True
    assert latest["external_path"] == saved["operation"]["location"]
    history = ask(f"/jobs/{job_id}/checkpoints").body["history"]
    assert [one["id"] for one in history if one["is_savepoint"]] == [latest["id"]]

    begun = ask(f"/jobs/{job_id}/checkpoints", "POST", {})
    found = wait_for_result(ask, f"/jobs/{job_id}/checkpoints/{begun.body['request-id']}")
    latest = ask(f"/jobs/{job_id}/checkpoints").body["latest"]["completed"]
    assert found["operation"] == {"checkpointId": latest["id"]}

    body = {"targetDirectory": str(tmp_path / "b"), "drain": True}
    begun = ask(f"/jobs/{job_id}/stop", "POST", body)
    stopped = wait_for_result(ask, f"/jobs/{job_id}/savepoints/{begun.body['request-id']}")
    assert "location" in stopped["operation"], stopped
    assert job.result().metrics["records_in"] == 3
    assert ask(f"/jobs/{job_id}/status").body == {"status": "FINISHED"}
    assert ask(f"/jobs/{job_id}", "PATCH").status == 409
    ask.close()


def test_a_program_hears_that_somebody_else_cancelled_its_job(
    env: StreamExecutionEnvironment, request: pytest.FixtureRequest
) -> None:
    found: list[BaseException] = []

    def run() -> None:
        endless(env, request.node.name).add_sink(lambda total: None)
        try:
            env.execute("totals")
        except JobCancelledError as error:
            found.append(error)

    program = threading.Thread(target=run)
    program.start()
    wait_until(lambda: SERVING.address)
    ask = client()
    assert ask(f"/jobs/{running_job(ask)}", "PATCH").status == 202
    program.join(SECONDS)
    ask.close()

    (error,) = found
    assert "The job was cancelled. totals: cancelled after" in str(error)


def test_whoever_takes_results_hears_of_it_after_them(
    env: StreamExecutionEnvironment, request: pytest.FixtureRequest
) -> None:
    with endless(env, request.node.name).execute_and_collect() as results:
        assert [next(results) for _ in range(3)] == [1, 3, 6]
        ask = client()
        assert ask(f"/jobs/{running_job(ask)}", "PATCH").status == 202
        with pytest.raises(JobCancelledError):
            next(results)
        ask.close()


def test_the_environment_closes_the_server_when_no_job_runs_any_more(
    env: StreamExecutionEnvironment, request: pytest.FixtureRequest
) -> None:
    endless(env, request.node.name).add_sink(lambda total: None)
    job = env.execute_async("totals")
    env.close()
    assert SERVING.address is not None
    job.cancel().result()

    def is_closed() -> bool:
        env.close()
        return SERVING.address is None

    wait_until(is_closed)


def test_a_job_does_not_start_without_the_port_that_it_needs(
    env: StreamExecutionEnvironment,
) -> None:
    env.from_collection([1]).print()
    env.execute()
    assert SERVING.address is not None
    taken = SERVING.address.rpartition(":")[2]
    program = (
        "from penstock.common import Configuration\n"
        "from penstock.testing import local_environment\n"
        "env = local_environment()\n"
        f"env.configure(Configuration().set_string('rest.bind-port', '{taken}'))\n"
        "env.from_collection([1]).print()\n"
        "env.execute()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert PortInUseError.__name__ in run.stderr
    assert run.stdout == ""


def test_where_nobody_asks_for_it_there_is_no_server() -> None:
    program = (
        "import sys\n"
        "from penstock.testing import local_environment\n"
        "env = local_environment()\n"
        "env.from_collection([1]).print()\n"
        "env.execute()\n"
        "env.close()\n"
        "print('http.server' in sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["1", "False"]
