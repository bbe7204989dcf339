"""What penstock logs on the driver's side of a job reaches the log of the client."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from penstock.executors.driver.reports.recent_log import CLIENT_TELLS, OF_TASK
from penstock.executors.driver.reports.task_lines import TaskLog
from penstock.executors.spark.hosted.host_log import HostLog

LOG = logging.getLogger("penstock")


@pytest.fixture
def host_log() -> Iterator[HostLog]:
    found = HostLog(most=3)
    known = list(LOG.filters)
    found.listen()
    yield found
    LOG.filters[:] = known


def test_a_line_is_logged_at_the_client_as_it_was_there(
    host_log: HostLog, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        int("no")
    except ValueError:
        LOG.exception("%s is %d", "shop", 3)
    LOG.warning("a warning")
    told = host_log.take()
    assert told is not None
    caplog.clear()

    TaskLog().show(told)

    lines = [(line.name, line.levelname, line.getMessage()) for line in caplog.records]
    assert lines == [("penstock", "ERROR", "shop is 3"), ("penstock", "WARNING", "a warning")]
    assert str(caplog.records[0].exc_text).splitlines()[-1].startswith("ValueError: ")
    assert host_log.take() is None


def test_loggers_of_parts_of_penstock_are_heard(host_log: HostLog) -> None:
    part = logging.getLogger("penstock.part_of_a_test")
    host_log.listen()
    host_log.listen()
    part.warning("a warning")
    told = host_log.take()
    assert told is not None
    assert [line.logger for line in told.lines] == ["penstock.part_of_a_test"]
    part.filters.clear()


def test_what_the_client_hears_of_otherwise_is_left_out(host_log: HostLog) -> None:
    LOG.info("no warning")
    LOG.warning("of a function", extra={OF_TASK: "clean (2/4), epoch 7"})
    LOG.warning("a restart", extra={CLIENT_TELLS: True})
    assert host_log.take() is None


def test_of_a_flood_most_is_counted(host_log: HostLog) -> None:
    for number in range(10):
        LOG.warning("line %d %s", number, "x" * 100_000)
    told = host_log.take()
    assert told is not None
    assert len(told.lines) == 4
    assert sum(line.size for line in told.lines) < 40_000
    assert "7 more lines" in str(told.lines[-1])
    LOG.warning("one more")
    told = host_log.take()
    assert told is not None
    assert len(told.lines) == 1


def test_it_is_in_the_log_of_the_server_too(
    host_log: HostLog, caplog: pytest.LogCaptureFixture
) -> None:
    LOG.warning("a warning")
    assert host_log.take() is not None
    assert [line.getMessage() for line in caplog.records] == ["a warning"]
    assert not isinstance(host_log, logging.Handler)
