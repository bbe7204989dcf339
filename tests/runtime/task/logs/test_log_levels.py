"""Workers log from the levels on from which the driver shows anything."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from penstock.runtime.task.logs.log_levels import LogLevels


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger("levels_test.one")
    before = logging.root.level, logging.root.handlers[:], logging.root.manager.disable
    yield found
    found.setLevel(logging.NOTSET)
    found.propagate = True
    found.handlers.clear()
    logging.root.setLevel(before[0])
    logging.root.handlers[:] = before[1]
    logging.disable(before[2])


def levels() -> dict[str, int]:
    return dict(LogLevels.here().levels)


def test_levels_that_were_set_travel(logger: logging.Logger) -> None:
    logging.root.handlers[:] = [logging.StreamHandler()]
    logging.root.setLevel(logging.INFO)
    assert levels()[""] == logging.INFO
    assert logger.name not in levels()
    logger.setLevel(logging.DEBUG)
    assert levels()[logger.name] == logging.DEBUG


def test_what_no_handler_shows_is_not_logged(logger: logging.Logger) -> None:
    handler = logging.StreamHandler()
    handler.setLevel(logging.ERROR)
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(logging.DEBUG)
    assert levels()[""] == logging.ERROR
    logger.addHandler(logging.StreamHandler())
    assert levels()[logger.name] == logging.DEBUG
    logger.handlers[:] = [logging.NullHandler()]
    assert levels()[logger.name] == logging.ERROR


def test_without_handlers_it_is_as_python_has_it(logger: logging.Logger) -> None:
    logging.root.handlers[:] = []
    logging.root.setLevel(logging.DEBUG)
    assert levels()[""] == logging.WARNING
    logger.propagate = False
    assert levels()[logger.name] == logging.WARNING


def test_they_are_set_and_taken_back(logger: logging.Logger) -> None:
    first = LogLevels((("", logging.ERROR), (logger.name, logging.DEBUG)), logging.INFO)
    first.apply(None)
    assert logging.root.level == logging.ERROR
    assert logger.level == logging.DEBUG
    assert logging.root.manager.disable == logging.INFO
    LogLevels((("", logging.INFO),)).apply(first)
    assert logging.root.level == logging.INFO
    assert logger.level == logging.NOTSET
    assert logging.root.manager.disable == 0
