"""What people see of a job while it runs, and when it has ended: in a terminal, and where there is none."""

from __future__ import annotations

import logging
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.executors.driver.progress.screens import screen
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import epochs

from penstock.common import WatermarkStrategy
from penstock.datastream import EpochListener, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import LateRecordsDroppedWarning, PenstockError, UserFunctionError
from penstock.testing import TestingSource

WIDE = 300
SECONDS = 60
"""How long a test waits for what comes at once, if all is well."""


def shown(row: str) -> str:
    """Return a row without how long it took."""
    return re.sub(r"[\d.]+ s\b", "… s", row)


def test_results_stand_above_the_last_line(new_environment: NewEnvironment, tmp_path: Path) -> None:
    env = new_environment(execution__checkpointing__dir=tmp_path)
    epochs(env, [1, 2], [3]).name("numbers").print()
    with screen(WIDE) as terminal:
        env.execute("sums")
        assert list(map(shown, terminal.rows())) == [
            "1",
            "2",
            "3",
            f"■ sums: finished after … s · 3 records · 2 epochs · checkpoint: epoch 1 in {tmp_path}",
        ]


def test_while_it_runs_the_line_is_there(new_environment: NewEnvironment) -> None:
    env = new_environment()
    seen = threading.Event()
    with screen(WIDE) as terminal:

        class Looking(EpochListener):
            """Holds a job up until its line was shown."""

            def on_epoch_completed(self, _: Any) -> None:
                for _ in range(100 * SECONDS):
                    if seen.wait(0.01) or re.search(r"sums: .*records/s", "".join(terminal.rows())):
                        seen.set()
                        return

        env.add_epoch_listener(Looking())
        epochs(env, [1], [2], [3]).print()
        env.execute("sums")
        assert seen.is_set()
        assert [row for row in terminal.rows() if "records/s" in row] == []
        assert terminal.rows()[:3] == ["1", "2", "3"]


def late(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda record, _: record)
    numbers = env.from_source(TestingSource([[100], [5, 7]]), strategy, "numbers")
    keyed = numbers.key_by(lambda _: 0).window(TumblingEventTimeWindows.of(10))
    keyed.reduce(max).name("tens").add_sink(lambda _: None)
    with pytest.warns(LateRecordsDroppedWarning, match="2 at 'tens'"):
        env.execute("numbers")


def test_late_records_are_in_the_last_line(new_environment: NewEnvironment) -> None:
    with screen(WIDE) as terminal:
        late(new_environment())
        (row,) = terminal.rows()
    assert " · 3 records · 2 epochs · 2 dropped as late at 'tens'" in row


def test_where_there_is_no_terminal_the_end_is_told_on_standard_error(
    new_environment: NewEnvironment,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", False)
    late(new_environment())
    # The first job of a process may say where it can be seen.
    address = r"(Job 'numbers': http://\S+\n)?"
    line = r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d INFO penstock: numbers: finished after .*\n"
    assert re.fullmatch(address + line, capsys.readouterr().err)
    late(new_environment(execution__progress="off"))
    assert capsys.readouterr().err == ""


def test_while_it_runs_the_log_says_how_it_is_doing(
    new_environment: NewEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "penstock")
    env = new_environment(execution__progress__interval="10 ms")

    class Looking(EpochListener):
        """Holds a job up until the log has told of it."""

        def on_epoch_completed(self, _: Any) -> None:
            told = threading.Event()
            for _ in range(100 * SECONDS):
                if any("records/s" in record.getMessage() for record in caplog.records):
                    return
                told.wait(0.01)

    env.add_epoch_listener(Looking())
    epochs(env, [1], [2], [3]).add_sink(lambda _: None)
    env.execute("sums")
    messages = [record.getMessage() for record in caplog.records if record.name == "penstock"]
    assert any(
        re.match(r"sums: (\d\.\d|\d{1,3}(,\d{3})*) records/s", message) for message in messages
    )
    assert messages[-1].startswith("sums: finished after ")


def test_a_job_that_fails_says_why_and_where(new_environment: NewEnvironment) -> None:
    def fail(number: int) -> int:
        raise ValueError(f"not {number}\033[31m")

    env = new_environment()
    epochs(env, [1]).map(fail).name("check").add_sink(lambda _: None)
    with screen(WIDE) as terminal:
        with pytest.raises(UserFunctionError):
            env.execute("sums")
        rows = terminal.rows()
    assert shown(rows[-1]).startswith("■ sums: failed after … s: ValueError: not 1"), rows
    assert "at 'check'" in rows[-1]


def test_a_job_that_is_cancelled_says_so(new_environment: NewEnvironment) -> None:
    env = new_environment()
    begun = threading.Event()

    class Started(EpochListener):
        def on_epoch_completed(self, _: Any) -> None:
            begun.set()

    env.add_epoch_listener(Started())
    epochs(env, *[[number] for number in range(1_000)]).add_sink(lambda _: None)
    with screen(WIDE) as terminal:
        client = env.execute_async("sums")
        assert begun.wait(SECONDS)
        client.cancel().result()
        client.wait()
        rows = terminal.rows()
    assert shown(rows[-1]).startswith("■ sums: cancelled after … s · "), rows


def test_several_jobs_leave_a_line_each(new_environment: NewEnvironment) -> None:
    with screen(WIDE) as terminal:
        clients = []
        for name in ("one", "two"):
            env = new_environment()
            epochs(env, [1], [2]).print()
            clients.append(env.execute_async(name))
        for client in clients:
            client.wait()
        rows = terminal.rows()
    assert sorted(row[:5] for row in rows) == ["1", "1", "2", "2", "■ one", "■ two"]
    assert "write" not in vars(sys.stdout)


def test_of_a_job_that_cannot_start_nothing_is_left(new_environment: NewEnvironment) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PenstockError("it does not go on from here")

    env = new_environment()
    epochs(env, [1]).print()
    with screen(WIDE) as terminal:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("penstock.executors.driver.start.Job", refuse)
            with pytest.raises(PenstockError, match="does not go on"):
                env.execute("sums")
        assert terminal.rows() == []
        assert "write" not in vars(terminal.err)
