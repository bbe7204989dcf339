"""What is logged in a worker stays there until a task hands it to the driver."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator

import pytest
from tests.runtime.diamond import diamond
from tests.runtime.programs import last_epoch, tasks_for

from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.program import DRIVER
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.logs.log_levels import LogLevels
from penstock.runtime.task.logs.worker_log import LogSettings, WorkerLog, without_lines

LEVELS = LogLevels((("", logging.INFO),))
SHOP = logging.getLogger("shop")


@pytest.fixture
def worker() -> Iterator[WorkerLog]:
    level = logging.root.level
    log = WorkerLog()
    yield log
    log.set_up(None)
    logging.root.setLevel(level)


@pytest.fixture
def carrier() -> Carrier:
    program = diamond(2, 2, 2)
    tasks = tasks_for(program, 2)
    return Carrier(tasks.layout, last_epoch(program), 0, 1, "0", tasks)


def same(buffer: Buffer) -> Buffer:
    return buffer


def test_lines_follow_what_a_task_tells(worker: WorkerLog, carrier: Carrier) -> None:
    worker.set_up(LogSettings(LEVELS))

    def work() -> Iterator[Buffer]:
        SHOP.info("one")
        yield carrier.to_driver("profile", None)
        SHOP.info("two")
        SHOP.debug("not of interest")

    buffers = list(worker.carried(work(), carrier, same))
    told, lines = without_lines(buffers)
    assert [buffer.vertex for buffer in buffers] == [DRIVER, DRIVER]
    assert told == buffers[:1]
    assert [line.attributes["msg"] for line in lines] == ["one", "two"]
    assert {line.place.epoch for line in lines if line.place} == {carrier.epoch.number}
    assert worker.take() == []


def test_nothing_is_told_where_nothing_is_logged(worker: WorkerLog, carrier: Carrier) -> None:
    worker.set_up(LogSettings(LEVELS))
    assert list(worker.carried(iter(()), carrier, same)) == []


def test_what_the_driver_cannot_hear_goes_to_standard_error(
    worker: WorkerLog, carrier: Carrier, capsys: pytest.CaptureFixture[str]
) -> None:
    worker.set_up(LogSettings(LEVELS))

    def work() -> Iterator[Buffer]:
        SHOP.error("before the end")
        raise ConnectionError
        yield

    with pytest.raises(ConnectionError):
        list(worker.carried(work(), carrier, same))
    assert "ERROR shop: [" in capsys.readouterr().err
    assert worker.take() == []


def test_it_echoes_if_wanted(worker: WorkerLog, capsys: pytest.CaptureFixture[str]) -> None:
    worker.set_up(LogSettings(LEVELS, echoes=True))
    SHOP.warning("at once")
    assert capsys.readouterr().err.endswith("WARNING shop: at once\n")
    assert len(worker.take()) == 1


def test_levels_of_a_job_do_not_outlast_it_though_the_next_one_is_not_listened_to(
    worker: WorkerLog,
) -> None:
    quiet = LogLevels((("", logging.INFO), ("shop", logging.ERROR)))
    worker.set_up(LogSettings(quiet))
    worker.set_up(None)
    worker.set_up(LogSettings(LEVELS))
    SHOP.info("heard")
    assert [line.attributes["msg"] for line in worker.take()] == ["heard"]


def test_warnings_are_taken_too(worker: WorkerLog) -> None:
    usual = warnings.showwarning
    worker.set_up(LogSettings(LEVELS))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = worker._warn
        warnings.warn("old fares", UserWarning, stacklevel=1)
    [line] = worker.take()
    assert line.warning == ("builtins", "UserWarning")
    assert line.attributes["msg"] == "old fares"
    worker.set_up(None)
    assert warnings.showwarning is usual


def test_without_settings_it_is_not_there(worker: WorkerLog) -> None:
    worker.set_up(LogSettings(LEVELS))
    assert worker in logging.root.handlers
    worker.set_up(None)
    assert worker not in logging.root.handlers
