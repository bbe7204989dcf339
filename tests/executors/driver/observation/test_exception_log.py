from __future__ import annotations

import pytest
from tests.runtime.programs import ProgramBuilder

from penstock.errors import JobFailedError, UserFunctionError
from penstock.executors.driver.observation.exception_log import ExceptionLog
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.operators.function_operator import MapOperator

TRACEBACK = 'Traceback (most recent call last):\n  File "job.py", line 3, in bad\nValueError: bad\n'


def poison(record: str) -> UserFunctionError:
    error = UserFunctionError(f"{TRACEBACK}\nOperator Map, {record}", hint="Fix it.")
    error.operator, error.record, error.user_traceback = "Map", record, TRACEBACK
    return error


def test_an_exception_has_operator_record_and_the_users_traceback() -> None:
    log = ExceptionLog()
    log.vertex_ids = {"Map": "a" * 32}
    log.add(poison("x" * 500), 7, 3)
    (found,) = log.views()
    assert (found.happened, found.name, found.message) == (
        7,
        "UserFunctionError",
        "ValueError: bad",
    )
    assert found.traceback == TRACEBACK
    assert (found.operator, found.vertex_id, found.record) == ("Map", "a" * 32, "x" * 200)
    assert (found.epoch, found.times) == (3, 1)


def test_a_name_that_operators_of_several_chains_have_says_no_chain() -> None:
    builder = ProgramBuilder()
    numbers = builder.source([[1]])
    ship = RebalancePartitioner()
    for names in (["Map"], ["Map"], ["Sum", "Sum"]):
        operators = [MapOperator(str) for _ in names]
        builder.vertex(*operators, names=names, inputs=[(numbers, ship)])
    program = builder.build()
    log = ExceptionLog()
    log.know(program)
    log.add(poison("1"), 7, 3)
    assert [found.vertex_id for found in log.views()] == [None]
    assert log.vertex_ids["Sum"] == program.vertices[3].vertex_id


def test_its_name_is_that_of_the_users_class() -> None:
    log = ExceptionLog()
    error = poison("1")
    error.user_class = "ValueError"
    log.add(error, 7, 3)
    assert [found.name for found in log.views()] == ["ValueError"]


def test_the_same_in_a_row_is_counted_and_the_newest_comes_first() -> None:
    log = ExceptionLog()
    for epoch in range(3):
        log.add(poison("1"), epoch, epoch)
    log.add(poison("2"), 5, 5)
    log.add(poison("1"), 6, 6)
    assert [(found.record, found.times, found.epoch) for found in log.views()] == [
        ("1", 1, 6),
        ("2", 1, 5),
        ("1", 3, 2),
    ]


def test_one_exception_that_is_told_twice_counts_once() -> None:
    log, error = ExceptionLog(), JobFailedError("lost")
    log.add(error, 1, 1)
    log.add(error, 2, 1)
    assert [found.times for found in log.views()] == [1]


def test_the_last_ten_are_kept() -> None:
    log = ExceptionLog()
    for number in range(15):
        log.add(JobFailedError(str(number)), number, number)
    assert [found.message for found in log.views()] == [str(number) for number in range(14, 4, -1)]


def test_what_is_no_error_of_penstocks_shows_all_of_its_traceback() -> None:
    log = ExceptionLog()
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError("a defect")
    log.add(caught.value, 1, None)
    (found,) = log.views()
    assert "test_exception_log.py" in found.traceback
    assert found.message == "RuntimeError: a defect"


def test_secrets_are_in_none_of_it() -> None:
    secret = "jdbc:postgresql://bob:hunter2@db password=hunter2"
    error = UserFunctionError(secret)
    error.record = error.user_traceback = secret
    log = ExceptionLog()
    log.add(error, 7, 3)
    log.add(JobFailedError(secret), 8, 4)

    shown = "jdbc:postgresql://db password=******"
    assert [(one.message, one.traceback, one.record) for one in log.views()] == [
        (shown, shown, None),
        (shown, shown, shown),
    ]
