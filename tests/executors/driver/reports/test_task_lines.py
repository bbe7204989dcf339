"""Lines of other processes are handled as if they were logged here."""

from __future__ import annotations

import copy
import logging
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from tests.runtime.task.logs.lines import PLACE, line_of, record_of

from penstock.executors.driver.reports.recent_log import RECENT_LOG
from penstock.executors.driver.reports.task_lines import (
    TaskLines,
    TaskLog,
    TaskLogRecord,
    places_in_records,
)
from penstock.runtime.task.logs.log_line import LogLine


def test_a_formatter_finds_who_logged(caplog: pytest.LogCaptureFixture) -> None:
    TaskLog().show(TaskLines([line_of("%d fares", 3, level=logging.WARNING)]))
    form = "%(levelname)s %(name)s %(operator)s %(subtask)d %(epoch)d %(task)s: %(message)s"
    [record] = caplog.records
    assert (
        logging.Formatter(form).format(record)
        == "WARNING shop clean 1 7 clean (2/4), epoch 7: 3 fares"
    )


def test_lines_of_an_epoch_that_failed_say_so(caplog: pytest.LogCaptureFixture) -> None:
    TaskLog().show(TaskLines([line_of("x", level=logging.ERROR)], has_failed=True))
    assert vars(caplog.records[0])["task"] == "clean (2/4), epoch 7, which failed"


def test_levels_and_filters_of_this_process_hold(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(record: logging.LogRecord) -> bool:
        return record.getMessage() != "secret"

    shop = logging.getLogger("shop")
    shop.addFilter(refuse)
    with caplog.at_level(logging.WARNING, "shop"):
        lines = [line_of(text, level=logging.WARNING) for text in ("secret", "shown")]
        TaskLog().show(TaskLines([*lines, line_of("info")]))
    shop.removeFilter(refuse)
    assert caplog.messages == ["shown"]


def test_without_handlers_a_line_says_itself_who_logged_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    TaskLog().show(TaskLines([line_of("%d fares", 3, level=logging.WARNING)]))
    assert capsys.readouterr().err == "[clean (2/4), epoch 7] 3 fares\n"


def test_lines_are_kept_for_the_page() -> None:
    before = RECENT_LOG.lines()[-1:]
    TaskLog().show(TaskLines([line_of("kept", level=logging.ERROR, name="penstock")]))
    RECENT_LOG.listen()
    TaskLog().show(TaskLines([line_of("kept", level=logging.ERROR, name="penstock")]))
    found = RECENT_LOG.lines(before[0]["number"] if before else 0)
    assert [(line["message"], line["operator"], line["epoch"]) for line in found] == [
        ("kept", "clean", 7)
    ] * 2


def test_a_warning_of_many_tasks_is_shown_once() -> None:
    line = LogLine.of(record_of("old fares"), PLACE, ("builtins", "FutureWarning"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TaskLog().show(TaskLines([line, line]))
    [found] = caught
    assert found.category is FutureWarning
    assert str(found.message) == "old fares (in operator 'clean')"
    assert (found.filename, found.lineno) == ("shop.py", 3)


def test_a_warning_that_is_an_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    line = LogLine.of(
        record_of("old fares", level=logging.WARNING, name="py.warnings"),
        PLACE,
        ("nowhere", "NoWarning"),
    )
    TaskLog().show(TaskLines([line]))
    assert caplog.messages == ["old fares"]


class Broken(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("the disk is full")


@pytest.fixture
def _broken() -> Iterator[None]:
    handler = Broken()
    logging.getLogger("shop").addHandler(handler)
    yield
    logging.getLogger("shop").removeHandler(handler)


@pytest.mark.usefixtures("_broken")
def test_a_handler_that_fails_is_told_of_once(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line_of(text, level=logging.ERROR) for text in ("one", "two")]
    TaskLog().show(TaskLines(lines))
    assert capsys.readouterr().err.count("OSError: the disk is full") == 1
    assert RECENT_LOG.lines()[-1]["message"] == "two"


def test_a_record_of_this_process_can_go_on() -> None:
    record = TaskLogRecord(PLACE, "shop", logging.INFO, "shop.py", 3, "%d fares", (3,), None)
    assert (record.operator, record.epoch) == ("clean", 7)
    assert not hasattr(record, "colour")
    for other in (copy.copy(record), pickle.loads(pickle.dumps(record))):
        assert other.getMessage() == "3 fares"
        assert vars(other)["task"] == "clean (2/4), epoch 7"


class TestTheFactory:
    def test_is_there_while_functions_run(self) -> None:
        usual = logging.getLogRecordFactory()
        with places_in_records():
            within = logging.getLogRecordFactory()
            with places_in_records():
                assert logging.getLogRecordFactory() is within
            assert logging.getLogRecordFactory() is within
        assert within is not usual
        assert logging.getLogRecordFactory() is usual

    def test_leaves_that_of_the_user(self) -> None:
        usual = logging.getLogRecordFactory()
        try:
            with places_in_records():
                inner = logging.getLogRecordFactory()

                def users(*args: Any, **kwargs: Any) -> logging.LogRecord:
                    record = inner(*args, **kwargs)
                    record.host = "a"
                    return record

                logging.setLogRecordFactory(users)
            assert logging.getLogRecordFactory() is users
            with places_in_records():
                assert vars(record_of("x"))["host"] == "a"
            assert logging.getLogRecordFactory() is users
        finally:
            logging.setLogRecordFactory(usual)
