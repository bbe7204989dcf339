from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from typing import Any

import pytest

from penstock import uncaught
from penstock.errors import JobFailedError, PenstockError, SavepointError
from penstock.testing import local_environment
from penstock.uncaught import BriefHook, show_as, show_briefly, users_part

PROGRAM = """
from penstock.common import Configuration
from penstock.testing import local_environment

def fare(ride):
    return 1 / ride

env = local_environment()
env.from_collection([0]).map(fare).print()
env.execute("fares")
"""


def uncaught_in(program: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )
    assert run.returncode == 1
    return run.stderr


def test_a_failed_job_shows_the_users_lines_and_the_message_alone() -> None:
    lines = uncaught_in(PROGRAM).splitlines()
    assert lines[:3] == [
        "Traceback (most recent call last):",
        '  File "<string>", line 10, in <module>',
        "penstock.errors.UserFunctionError: Traceback (most recent call last):",
    ]
    assert not any("/penstock/" in line for line in lines)
    assert "ZeroDivisionError: division by zero" in lines
    assert lines[-1].startswith("Hint: ")


def test_a_developer_sees_all_frames() -> None:
    assert "/penstock/" in uncaught_in(PROGRAM, PENSTOCK_TRACEBACK="full")


def test_a_program_that_cannot_run_shows_the_line_of_the_user() -> None:
    program = "from penstock.testing import local_environment\nlocal_environment().execute()"
    lines = uncaught_in(program).splitlines()
    assert lines[1] == '  File "<string>", line 2, in <module>'
    assert lines[2].startswith("penstock.errors.NoSinkError: ")


def test_is_there_once_and_from_the_first_environment_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    local_environment()
    hook = sys.excepthook
    show_briefly()
    assert isinstance(hook, BriefHook)
    assert sys.excepthook is hook


class Shown:
    """A hook that keeps what it is to show."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.frames: list[str] = []

    def __call__(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        self.errors.append(error)
        self.frames = [entry.name for entry in traceback.extract_tb(trace)]


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error) as caught:
        return caught


def test_other_errors_are_shown_as_they_are() -> None:
    shown = Shown()
    error = raised(ValueError("mine"))
    BriefHook(shown)(type(error), error, error.__traceback__)
    assert (shown.errors, shown.frames) == ([error], ["raised"])


def test_of_what_an_error_came_from_only_penstocks_own_is_shown() -> None:
    failure = JobFailedError("first")
    for cause, kept in ((ValueError("of Java"), None), (failure, failure)):
        error: PenstockError = SavepointError("then")
        error.__cause__ = cause
        BriefHook(Shown())(SavepointError, error, None)
        assert error.__cause__ is kept


def test_what_a_library_raises_for_the_engine_is_left_out_and_the_users_is_not() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("no json")
    names = [entry.name for entry in traceback.extract_tb(users_part(caught.tb))]
    assert names[0] == (
        "test_what_a_library_raises_for_the_engine_is_left_out_and_the_users_is_not"
    )
    assert "raw_decode" in names
    with pytest.raises(PenstockError) as told:
        local_environment().execute()
    assert [entry.filename for entry in traceback.extract_tb(users_part(told.tb))] == [__file__]


def test_ctrl_c_is_shown_as_whoever_stopped_for_it_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    answers = [None, "stopped\n"]
    monkeypatch.setattr(uncaught, "_AT_INTERRUPT", asked)
    uncaught.at_interrupt(lambda: answers.pop(0))
    shown = Shown()
    hook = BriefHook(shown)
    hook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert len(shown.errors) == 1
    hook(KeyboardInterrupt, KeyboardInterrupt(), None)
    told = KeyboardInterrupt()
    show_as(told, "told\n")
    show_as(told, "again\n")
    hook(KeyboardInterrupt, told, None)
    assert len(shown.errors) == 1
    assert capsys.readouterr().err == "stopped\ntold\n"
