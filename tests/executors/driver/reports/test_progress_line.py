from __future__ import annotations

import io
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.common.configuration import Configuration
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.executors.driver.reports.progress_line import ProgressLine

CLEAR = "\r\033[K"


class Terminal(io.StringIO):
    """A terminal, or a file, that keeps what was written."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def taken(self) -> str:
        """Return what was written since the last call."""
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        return text


class Shown:
    """A progress line on a terminal or in a file, with a clock that is set by hand."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool = True, wish: str | None = None
    ) -> None:
        self.now = 100.0
        self.terminal = Terminal(is_terminal)
        monkeypatch.setattr("sys.stderr", self.terminal)
        clock = SimpleNamespace(perf_counter=lambda: self.now)
        monkeypatch.setattr("penstock.executors.driver.reports.progress_line.time", clock)
        configuration = Configuration()
        if wish is not None:
            configuration.set_string("execution.progress", wish)
        self.line = ProgressLine("flights", configuration)


def progress(epochs: int = 2, records: int = 3000, **more: Any) -> JobProgress:
    return JobProgress(JobStatus.RUNNING, epochs, records, **more)


def test_shows_how_far_the_job_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    shown.now += 2

    shown.line.show(progress(1234, 5_000_000))

    assert shown.terminal.taken() == (
        f"{CLEAR}⠋ flights: 1,234 epochs · 5,000,000 records · 2,500,000 records/s · 2.0 s"
    )


def test_tells_one_epoch_from_many(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    texts = []
    for epochs in (0, 1, 2):
        shown.line.show(progress(epochs))
        texts.append(shown.terminal.taken().split(": ")[1].split(" · ")[0])

    assert texts == ["0 epochs", "1 epoch", "2 epochs"]


def test_needs_no_time_to_have_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    shown.line.show(progress())

    assert "· 0 records/s · 0.0 s" in shown.terminal.taken()


def test_moves_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    signs = []
    for _ in range(100):
        shown.now += 0.025
        shown.line.turn(progress())
        signs.append(shown.terminal.taken().removeprefix(CLEAR)[:1])

    turns = [sign for sign in signs if sign]
    assert 20 <= len(turns) <= 26
    assert all(one != other for one, other in pairwise(turns))
    assert len(set(turns)) == 10


def test_shows_every_epoch_however_fast_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    for epochs in range(3):
        shown.line.turn(progress(epochs))
        shown.terminal.taken()
        shown.line.show(progress(epochs))
        assert f"flights: {epochs} epoch" in shown.terminal.taken()


def test_makes_room_for_a_line_of_output(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    shown.line.clear()

    assert shown.terminal.taken() == CLEAR


def test_leaves_the_last_state(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    shown.now += 1.5
    shown.line.finish(progress())

    assert shown.terminal.taken() == (
        f"{CLEAR}■ flights: 2 epochs · 3,000 records · 2,000 records/s · 1.5 s\n"
    )


def test_is_a_line_for_each_epoch_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch, is_terminal=False, wish="on")
    shown.now += 1
    shown.line.clear()
    shown.line.show(progress(1))
    shown.now += 1
    shown.line.turn(progress(1))
    shown.line.show(progress(2))
    shown.line.finish(progress(2))

    assert shown.terminal.taken() == (
        "⠋ flights: 1 epoch · 3,000 records · 3,000 records/s · 1.0 s\n"
        "⠋ flights: 2 epochs · 3,000 records · 1,500 records/s · 2.0 s\n"
        "■ flights: 2 epochs · 3,000 records · 1,500 records/s · 2.0 s\n"
    )


@pytest.mark.parametrize(
    ("is_terminal", "wish", "is_shown"),
    [
        (True, None, True),
        (True, "auto", True),
        (True, "on", True),
        (True, "off", False),
        (False, None, False),
        (False, "auto", False),
        (False, "on", True),
        (False, "off", False),
    ],
)
def test_is_shown_in_a_terminal_or_where_it_is_wished_for(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, wish: str | None, is_shown: bool
) -> None:
    shown = Shown(monkeypatch, is_terminal=is_terminal, wish=wish)
    shown.now += 1
    for step in (shown.line.show, shown.line.turn, shown.line.finish):
        step(progress())
    shown.line.clear()

    assert bool(shown.terminal.taken()) == is_shown


def test_tells_of_asynchronous_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    found = progress(2, 3000)
    counts = {"completed": 2000, "in_flight": 40, "retried": 7, "timed_out": 0, "failed": 1}
    found.operators["1"] = {"user": {f"async.{name}": count for name, count in counts.items()}}
    found.operators["2"] = {"user": {"async.completed": 500, "mine": 3}}

    shown.line.show(found)

    text = shown.terminal.taken()
    assert " · 2,500 calls, 40 in flight, 7 retried, 1 failed · " in text


def test_says_nothing_of_calls_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch)
    found = progress()
    found.operators["1"] = {"user": {"mine": 3}}

    shown.line.show(found)

    assert "calls" not in shown.terminal.taken()


@pytest.mark.parametrize(
    ("columns", "more", "shown_text"),
    [
        (200, {}, "0.0 s"),
        (200, {"restarts": 1, "state_size": 999}, "0.0 s · 1 restart · 999 B of state"),
        (200, {"restarts": 2, "state_size": 12_340_000}, "0.0 s · 2 restarts · 12.3 MB of state"),
        (200, {"state_size": 5_000_000_000_000}, "0.0 s · 5.0 TB of state"),
        (75, {"restarts": 2, "state_size": 12_340_000}, "0.0 s · 2 restarts"),
        (40, {"restarts": 2, "state_size": 12_340_000}, "0.0 s"),
    ],
)
def test_shows_restarts_and_state_if_there_is_room(
    monkeypatch: pytest.MonkeyPatch, columns: int, more: dict[str, int], shown_text: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = Shown(monkeypatch)
    shown.line.show(progress(**more))
    assert shown.terminal.taken().endswith(shown_text)


def test_says_that_a_job_is_waiting_for_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = Shown(monkeypatch)
    waiting = progress(restarts=3)
    waiting.status = JobStatus.RESTARTING
    shown.line.show(waiting)
    assert shown.terminal.taken().endswith("0.0 s · restarting · 3 restarts")
