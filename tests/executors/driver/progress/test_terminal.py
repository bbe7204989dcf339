"""The row of the terminal stays below all else, and mixes with nothing."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.executors.driver.progress.screens import Screen, screen

from penstock.executors.driver.progress.terminal import TerminalRow


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def opened() -> Iterator[tuple[Screen, TerminalRow, Clock]]:
    """Open a row in a terminal: not in a fixture, since pytest puts its own streams back before the test."""
    with screen() as terminal:
        row = TerminalRow(clock := Clock())
        row.open()
        try:
            yield terminal, row, clock
        finally:
            row.close()
        assert "write" not in vars(terminal.out) | vars(terminal.err)


def test_a_text_takes_the_place_of_the_last_one() -> None:
    with opened() as (terminal, row, _):
        row.show("a long text of a job")
        assert terminal.rows() == ["⠙ a long text of a job"]
        row.show("a text")
        assert terminal.rows() == ["⠹ a text"]


def test_what_is_printed_stands_above() -> None:
    with opened() as (terminal, row, _):
        row.show("first")
        print("a result")
        assert terminal.rows() == ["a result"]
        row.show("second")
        print("another result", file=sys.stderr)
        sys.stdout.writelines(["one\n", "two\n"])
        row.show("third")
        assert terminal.rows() == ["a result", "another result", "one", "two", "⠸ third"]


def test_log_lines_stand_above() -> None:
    with opened() as (terminal, row, _):
        handler = logging.StreamHandler()  # keeps the stream that it found
        row.show("first")
        handler.emit(logging.makeLogRecord({"msg": "something is wrong"}))
        row.show("second")
        assert terminal.rows() == ["something is wrong", "⠹ second"]


def test_nothing_is_shown_behind_a_prompt() -> None:
    with opened() as (terminal, row, _):
        sys.stdout.write("Your name: ")
        row.show("first")
        assert terminal.rows() == ["Your name:"]
        sys.stdout.write("\n")
        row.show("second")
        assert terminal.rows() == ["Your name:", "⠙ second"]


def test_what_another_process_writes_is_not_lost() -> None:
    with opened() as (terminal, row, _):
        row.show("first")
        terminal.write_from_outside("WARN one\r\nWARN two\r\n")
        row.show("second")
        assert terminal.rows() == ["⠙ firstWARN one", "WARN two", "⠹ second"]


def test_the_last_text_stays() -> None:
    with opened() as (terminal, row, _):
        row.show("first")
        row.leave("finished")
        row.show("second")
        print("results")
        row.leave("finished too")
        assert terminal.rows() == ["■ finished", "results", "■ finished too"]


def test_the_last_text_begins_a_row() -> None:
    with opened() as (terminal, row, _):
        print("without an end", end="")
        row.leave("finished")
        assert terminal.rows() == ["without an end", "■ finished"]


def test_the_row_goes_when_it_is_closed() -> None:
    with opened() as (terminal, row, _):
        row.show("first")
        row.close()
        print("results")
        assert terminal.rows() == ["results"]
        assert row.columns() == 57


def test_it_waits_until_the_terminal_has_its_width() -> None:
    with opened() as (terminal, row, clock):
        row.show("first")
        terminal.resize(20)
        row.show("second")
        clock.now += 0.2
        row.show("third")
        assert terminal.rows() == ["⠙ first"]
        clock.now += 0.2
        row.show("a fourth text which is longer")
        assert terminal.rows() == ["⠹ a fourth text wh…"]


def test_no_text_is_wider_than_the_terminal_even_if_that_has_just_shrunk() -> None:
    with opened() as (terminal, row, _):
        row.show("x" * 100)
        assert len(terminal.rows()) == 1
        assert terminal.raw.endswith(b"\033[?7h")
        assert b"\033[?7l" in terminal.raw


@given(st.lists(st.sampled_from(["show", "print", "log", "leave"]), max_size=20))
def test_every_line_is_there_once_and_whole(steps: list[str]) -> None:
    with screen() as terminal:
        row = TerminalRow(Clock())
        row.open()
        wanted = []
        for number, step in enumerate(steps):
            if step == "show":
                row.show(f"shown {number}")
            elif step == "leave":
                row.leave(f"left {number}")
                wanted.append(f"■ left {number}")
            else:
                print(f"line {number}", file=sys.stdout if step == "print" else sys.stderr)
                wanted.append(f"line {number}")
        row.close()
        assert terminal.rows() == wanted


def test_a_terminal_without_unicode_has_plain_signs() -> None:
    with screen(encoding="ascii") as terminal:
        row = TerminalRow(Clock())
        row.open()
        row.show("8 records · 3 s")
        assert terminal.rows() == ["/ 8 records ? 3 s"]
        row.leave("8 records · 3 s")
        row.close()
        assert terminal.rows() == ["* 8 records ? 3 s"]


def test_a_terminal_that_is_gone_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened() as (terminal, row, _):
        row.show("first")
        with monkeypatch.context() as patch:
            patch.setattr(row, "_writes", [(terminal.err, _broken)])
            row.show("second")
        row.show("third")
        assert terminal.rows() == ["⠙ first"]


def _broken(text: str) -> int:
    raise OSError(5, f"no terminal for {text!r}")


def test_a_process_that_was_forked_writes_as_it_likes() -> None:
    with opened() as (terminal, row, _):
        row.show("first")
        with row._lock:
            child = os.fork()
        if child == 0:  # another thread of the parent's has the lock, for all it knows
            sys.stdout.write(" and the child")
            row.show("second")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert terminal.rows() == ["⠙ first and the child"]
        print("mine")
        assert terminal.rows() == ["mine"]


def test_streams_that_are_no_terminal_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    row = TerminalRow(Clock())
    row.open()
    print("a result")
    row.close()
    assert capsys.readouterr().out == "a result\n"
