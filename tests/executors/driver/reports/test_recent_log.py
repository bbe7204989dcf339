"""The last lines of the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.executors.driver.reports.recent_log import RECENT_LOG, RecentLog


def _record(
    message: str = "hello",
    *args: Any,
    level: int = logging.INFO,
    name: str = "app",
    exc_info: Any = None,
) -> logging.LogRecord:
    return logging.LogRecord(name, level, "f.py", 1, message, args, exc_info)


def test_a_line_says_what_was_logged_when_and_where() -> None:
    log = RecentLog()
    record = _record("%d of %s", 3, "x", level=logging.WARNING, name="app.clean")
    log.add(record, job_id="j", operator="Map", subtask=1, epoch=7)
    assert log.lines() == [
        {
            "number": 1,
            "at": int(record.created * 1000),
            "level": "WARNING",
            "logger": "app.clean",
            "message": "3 of x",
            "operator": "Map",
            "subtask": 1,
            "epoch": 7,
        }
    ]


def test_only_lines_after_the_last_known_one_are_given() -> None:
    log = RecentLog()
    for number in range(5):
        log.add(_record("%d", number))
    assert [line["message"] for line in log.lines(after=3)] == ["3", "4"]
    assert log.lines(after=5) == []


def test_a_job_has_its_own_lines_and_those_of_nobody() -> None:
    log = RecentLog()
    log.add(_record("mine"), job_id="a")
    log.add(_record("another's"), job_id="b")
    log.add(_record("the engine's"))
    assert [line["message"] for line in log.lines(job_id="a")] == ["mine", "the engine's"]


def test_a_traceback_is_part_of_the_message() -> None:
    log = RecentLog()
    with pytest.raises(ValueError, match="no fare") as caught:
        int("no fare")
    log.add(_record("failed", exc_info=(caught.type, caught.value, caught.tb)))
    message = log.lines()[0]["message"]
    assert message.startswith("failed\nTraceback")
    assert message.endswith("ValueError: invalid literal for int() with base 10: 'no fare'")


def test_secrets_are_not_given() -> None:
    log = RecentLog()
    log.add(_record("no access to %s", "https://bob:hunter2@db/?token=hunter2"))
    assert log.lines()[0]["message"] == "no access to https://db/?token=******"


def test_arguments_that_do_not_fit_are_said() -> None:
    log = RecentLog()
    log.add(_record("%d calls", "x"))
    assert log.lines()[0]["message"] == "%d calls (its arguments cannot be shown: TypeError)"


@given(
    st.lists(st.text(max_size=30), max_size=60),
    st.integers(1, 10),
    st.integers(1, 60),
    st.integers(1, 40),
)
def test_it_keeps_the_last_lines_and_never_more_than_it_may(
    messages: list[str], most_lines: int, most_characters: int, longest: int
) -> None:
    log = RecentLog(most_lines, most_characters, longest)
    for message in messages:
        log.add(_record(message.replace("%", "")))
    lines = log.lines()
    shown = [line["message"] for line in lines]
    assert len(shown) <= most_lines
    assert sum(map(len, shown)) <= most_characters
    assert all(len(message) <= longest for message in shown)
    numbers = [line["number"] for line in lines]
    assert numbers == list(range(len(messages) - len(lines) + 1, len(messages) + 1))
    assert bool(lines) == bool(messages)


def test_many_threads_add_lines() -> None:
    log = RecentLog(most_lines=100)

    def add() -> None:
        for _ in range(200):
            log.add(_record())

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line["number"] for line in log.lines()] == list(range(701, 801))


@pytest.fixture
def listening() -> Iterator[RecentLog]:
    log = RecentLog()
    log.listen()
    yield log
    for name in ("penstock", *logging.root.manager.loggerDict):
        logging.getLogger(name).removeFilter(log._filter)


def test_what_the_engine_logs_is_there_once(
    listening: RecentLog, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("penstock.kafka")
    listening.listen()
    with caplog.at_level(logging.INFO, "penstock"):
        logging.getLogger("penstock").info("epoch %d", 3)
        logging.getLogger("penstock.kafka").warning("no broker")
        logging.getLogger("penstock").debug("dropped by the level")
        logging.getLogger("other").warning("not the engine's")
    assert [line["message"] for line in listening.lines()] == ["epoch 3", "no broker"]


def test_listening_gives_the_engine_no_handler(listening: RecentLog) -> None:
    assert listening._filter in logging.getLogger("penstock").filters
    assert logging.getLogger("penstock").handlers == []


def test_there_is_one_for_the_process() -> None:
    assert isinstance(RECENT_LOG, RecentLog)
