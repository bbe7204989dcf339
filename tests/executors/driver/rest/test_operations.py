"""What takes longer than a request is begun once, and its result is kept for a while."""

from __future__ import annotations

import threading

import pytest

from penstock.executors.driver.rest.exchange import RequestRefusedError
from penstock.executors.driver.rest.operations import Operations


def wait_until_done(operations: Operations, trigger: str) -> None:
    for thread in threading.enumerate():
        if thread.name == f"trigger-{trigger}":
            thread.join(30)
    assert operations.result("job", trigger)["status"] == {"id": "COMPLETED"}


def test_old_results_make_room_for_new_operations() -> None:
    operations = Operations(most=2)
    for trigger in ("one", "two", "three"):
        operations.start("job", trigger, dict)
        wait_until_done(operations, trigger)

    with pytest.raises(RequestRefusedError) as found:
        operations.result("job", "one")
    assert found.value.status == 404
    assert operations.result("job", "two")["operation"] == {}


def test_what_is_under_way_is_not_forgotten() -> None:
    may_end = threading.Event()
    operations = Operations(most=2)

    def wait() -> dict[str, object]:
        assert may_end.wait(30)
        return {}

    for trigger in ("one", "two"):
        operations.start("job", trigger, wait)
    try:
        with pytest.raises(RequestRefusedError) as found:
            operations.start("job", "three", dict)
        assert found.value.status == 503
        assert operations.result("job", "one") == {
            "status": {"id": "IN_PROGRESS"},
            "operation": None,
        }
    finally:
        may_end.set()
    wait_until_done(operations, "one")


def test_a_trigger_is_one_job_s_alone() -> None:
    operations = Operations()
    operations.start("job", "one", dict)

    with pytest.raises(RequestRefusedError):
        operations.result("other", "one")


def test_a_failure_shows_no_secrets() -> None:
    operations = Operations()

    def fail() -> dict[str, object]:
        raise OSError("cannot write to s3://key:hunter2@shop")

    operations.start("job", "a", fail)
    wait_until_done(operations, "a")

    cause = operations.result("job", "a")["operation"]["failure-cause"]
    assert cause["stack-trace"] == "cannot write to s3://shop"
