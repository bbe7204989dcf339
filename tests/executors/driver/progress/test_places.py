"""Where a job's line is: in the terminal, in turns with others', in a notebook, or in the log."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel
from tests.executors.driver.progress.screens import screen
from tests.executors.driver.reports.views import view

from penstock.common import JobStatus
from penstock.common.configuration import Configuration
from penstock.executors.driver.progress.places import (
    InLog,
    InNotebook,
    InTerminal,
    SharedRow,
    place_for,
)
from penstock.executors.driver.progress.terminal import TerminalRow
from penstock.executors.driver.reports.job_view import JobView

SECONDS = 60


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def of_job(name: str) -> Callable[[], JobView]:
    return lambda: view(name=name, holding_back=(), late_records=0)


def configuration(**settings: str) -> Configuration:
    found = Configuration()
    for key, value in settings.items():
        found.set_string(key.replace("_", "."), value)
    return found


@pytest.mark.parametrize(
    ("wish", "kind"),
    [(None, InTerminal), ("auto", InTerminal), ("on", InTerminal), ("off", type(None))],
)
def test_in_a_terminal(wish: str | None, kind: type) -> None:
    with screen():
        settings = {} if wish is None else {"execution_progress": wish}
        place = place_for(configuration(**settings))
        assert type(place) is kind
        if place is not None:
            place.leave(None)


@pytest.mark.parametrize(
    ("wish", "interval", "kind", "seconds"),
    [
        ("auto", None, InLog, 10.0),
        ("on", "250 ms", InLog, 0.25),
        ("auto", "0", type(None), None),
        ("off", "1 s", type(None), None),
    ],
)
def test_where_there_is_no_terminal(
    wish: str, interval: str | None, kind: type, seconds: float | None
) -> None:
    settings = {} if interval is None else {"execution_progress_interval": interval}
    place = place_for(configuration(execution_progress=wish, **settings))
    assert type(place) is kind
    assert getattr(place, "seconds", None) == seconds


def test_several_jobs_have_the_row_by_turns() -> None:
    with screen(100) as terminal:
        clock = Clock()
        shared = SharedRow(TerminalRow(clock), clock)
        jobs = {name: InTerminal(shared, clock) for name in ("flights", "clicks")}
        seen = []
        for _ in range(12):
            for name, job in jobs.items():
                job.show(of_job(name), is_awaited=True)
            seen.append(terminal.rows()[-1][2:12])
            clock.now += 0.75
        assert seen == 4 * ["[1/2] flig"] + 4 * ["[2/2] clic"] + 4 * ["[1/2] flig"]
        jobs["flights"].leave("flights: finished")
        jobs["clicks"].show(of_job("clicks"), is_awaited=True)
        jobs["clicks"].leave(None)
        assert terminal.rows() == ["■ flights: finished"]
        assert "write" not in vars(terminal.err)


def test_a_job_is_looked_at_twice_a_second_however_often_the_wheel_turns() -> None:
    calls = []

    def counted() -> JobView:
        calls.append(1)
        return view()

    with screen() as terminal:
        clock = Clock()
        shared = SharedRow(TerminalRow(clock), clock)
        job = InTerminal(shared, clock, Clock())
        rows = set()
        for _ in range(100):
            job.show(counted, is_awaited=True)
            rows.add(terminal.rows()[0][:1])
            clock.now += 0.1
        job.leave(None)
    assert 16 <= len(calls) <= 21
    assert len(rows) == 10


def test_one_that_takes_long_to_look_at_is_looked_at_seldom_and_the_wheel_turns_on() -> None:
    calls = []
    clock, spent = Clock(), Clock()

    def slow() -> JobView:
        calls.append(clock.now)
        spent.now += 0.025
        return view()

    with screen() as terminal:
        job = InTerminal(SharedRow(TerminalRow(clock), clock), clock, spent)
        rows = set()
        for _ in range(200):
            job.show(slow, is_awaited=True)
            rows.add(terminal.rows()[0][:1])
            clock.now += 0.1
        job.leave(None)
    assert calls == pytest.approx([0.0, 5.0, 10.0, 15.0], abs=0.5)
    assert len(rows) == 10


def test_in_a_shell_nothing_moves_where_people_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with screen(100) as terminal:
        shared = SharedRow(TerminalRow(Clock()), Clock())
        job = InTerminal(shared, Clock())
        job.show(of_job("flights"), is_awaited=False)
        assert terminal.rows() == []
        job.show(of_job("flights"), is_awaited=True)
        assert terminal.rows()[0].startswith("⠙ flights: 4.0 records/s")
        job.leave("flights: finished")
        assert terminal.rows() == ["■ flights: finished"]


LINE = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d INFO penstock: fares: (.*)\n")


def test_where_no_log_is_configured_lines_are_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", False)
    place = InLog(10.0)
    place.show(view, is_awaited=True)
    shown = capsys.readouterr().err
    found = LINE.fullmatch(shown)
    assert found is not None, shown
    assert found[1].startswith("4.0 records/s · 1 min behind · ")
    place.leave("fares: finished")
    assert LINE.fullmatch(capsys.readouterr().err)
    place.leave(None)
    assert capsys.readouterr() == ("", "")


def test_while_a_job_is_being_cancelled_only_its_last_line_is_to_come(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        InLog(10.0).show(lambda: replace(view(), status=JobStatus.CANCELLING), is_awaited=True)
    assert not caplog.records


def test_where_a_log_is_configured_lines_are_there(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        assert InLog(10.0).leave("fares: finished, 100%")
    with caplog.at_level(logging.WARNING, "penstock"):
        assert not InLog(10.0).leave("clicks: finished")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("penstock", "INFO")
    assert record.getMessage() == "fares: finished, 100%"
    assert capsys.readouterr().err == ""


def test_whoever_asks_for_lines_on_standard_error_has_them_there(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    InLog(10.0, is_always_shown=True).leave("fares: finished")
    assert caplog.records == []
    assert LINE.fullmatch(capsys.readouterr().err)


def test_that_nobody_reads_standard_error_any_more_is_no_failure() -> None:
    with screen() as terminal:
        terminal.err.close()
        InLog(10.0, is_always_shown=True).leave("fares: finished")


CELL = """
import threading
from penstock.common.configuration import Configuration
from penstock.executors.driver.progress.places import place_for
from tests.executors.driver.reports.views import view

place = place_for(Configuration())
print(type(place).__name__)
other = threading.Thread(target=lambda: [place.show(view, is_awaited=True), place.leave("fares: finished")])
other.start()
other.join()
"""


def test_in_a_notebook_one_line_changes() -> None:
    manager, client = start_new_kernel(kernel_name="python3")
    messages: list[dict[str, Any]] = []
    try:
        client.execute_interactive(CELL, timeout=SECONDS, output_hook=messages.append)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    contents = [(each["msg_type"], each["content"]) for each in messages]
    assert ("stream", {"name": "stdout", "text": "InNotebook\n"}) in contents, contents
    shown = [(kind, content) for kind, content in contents if "data" in content]
    assert [kind for kind, _ in shown] == [
        "display_data",
        "update_display_data",
        "update_display_data",
    ]
    texts = [content["data"]["text/plain"] for _, content in shown]
    assert texts[1].startswith("fares: 4.0 records/s · 1 min behind")
    assert texts[2] == "fares: finished"
    assert len({content["transient"]["display_id"] for _, content in shown}) == 1
    assert InNotebook.seconds == 1.0
