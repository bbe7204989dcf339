"""How a job is doing, and how it ended, in a line that people read at once."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.executors.driver.reports.views import STARTED, figures, source, summing, view

from penstock.common.job_status import JobStatus
from penstock.common.plain_text import text_width
from penstock.executors.driver.progress.job_line import job_line, last_line
from penstock.executors.driver.reports.job_view import (
    ExceptionView,
    JobView,
    SavepointView,
    VertexView,
)


def plain(**others: Any) -> JobView:
    """Return a job of which there is nothing out of the way to say."""
    nothing = {"holding_back": (), "late_records": 0, "restarts": 0, "state_size": 0}
    return view(**{**nothing, "vertices": (source(),), **others})


def with_figures(*figures_of_operators: dict[str, Any]) -> tuple[VertexView, ...]:
    """Return chains of one operator each, named as figures say."""
    return tuple(
        dataclasses.replace(
            summing(),
            operators=(
                dataclasses.replace(
                    summing().operators[0], name=found.pop("name"), figures=figures(1, 1, **found)
                ),
            ),
        )
        for found in figures_of_operators
    )


def test_what_matters_most_comes_first() -> None:
    assert job_line(view()) == (
        "fares: 4.0 records/s · 1 min behind · held back by 'Source: fares' · 2 dropped as late at 'Sum' · "
        "1 restart · 80 B of state · 30 records · 2 epochs · 1 min"
    )


def test_nothing_is_said_of_what_is_not_there() -> None:
    quiet = plain(watermark=None, watermark_lag=None, records_per_second=1557.4, records_in=86_000)
    assert job_line(quiet) == "fares: 1,557 records/s · 86,000 records · 2 epochs · 1 min"


@pytest.mark.parametrize("phase", ["starting Spark", "first epoch, 12 s"])
def test_before_the_first_epoch_only_the_phase_is_told(phase: str) -> None:
    starting = plain(epochs_completed=0, phase=phase, watermark=None, watermark_lag=None)
    assert job_line(starting) == f"fares: {phase}"


def test_a_phase_other_than_running_comes_first() -> None:
    assert job_line(plain(phase="restarting in 3 s (2)")).startswith(
        "fares: restarting in 3 s (2) · 4.0 records/s · "
    )


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0.0, "0"), (0.04, "0"), (0.5, "0.5"), (9.94, "9.9"), (9.96, "10"), (1234.5, "1,234")],
)
def test_slow_rates_have_a_fraction(rate: float, text: str) -> None:
    assert f": {text} records/s · " in job_line(plain(records_per_second=rate))


@pytest.mark.parametrize(
    ("watermark", "lag", "text"),
    [
        (STARTED, 12_300, "12 s behind"),
        (STARTED, -3_000, "3.0 s ahead"),
        (STARTED, 86_399_000, "23 h 59 min behind"),
        (1_370_000_000_000, 330_060_000_000, "event time 2013-05-31 11:33"),
    ],
)
def test_the_lag_is_told_and_of_old_records_event_time_itself(
    watermark: int, lag: int, text: str
) -> None:
    assert f" · {text} · " in job_line(plain(watermark=watermark, watermark_lag=lag))


@pytest.mark.parametrize(
    ("watermark", "lag"), [(2**63 - 1, None), (2**63 - 2, STARTED - 2**63 + 2), (-(2**62), 2**62)]
)
def test_nothing_is_said_of_the_last_of_all_times_and_those_beyond_the_calendar(
    watermark: int, lag: int | None
) -> None:
    odd = plain(watermark=watermark, watermark_lag=lag)
    assert job_line(odd) == job_line(plain(watermark=None, watermark_lag=None))


def test_sources_that_hold_the_watermark_back_are_named_up_to_three() -> None:
    assert "held back by 'a', 'b', 'c' and 2 more · " in job_line(
        plain(holding_back=tuple("abcde"))
    )


def test_late_records_are_told_by_operator() -> None:
    late = plain(
        late_records=10_263,
        vertices=with_figures(
            {"name": "join", "late_records": 63}, {"name": "hours", "late_records": 10_200}
        ),
    )
    assert " · 10,263 dropped as late (10,200 at 'hours', 63 at 'join') · " in job_line(late)


def test_failed_records_and_calls_are_told() -> None:
    user = {"async.in_flight": 40, "async.retried": 7, "async.timed_out": 0, "mine": 3}
    found = with_figures(
        {"name": "ask", "failed_records": 5, "user": user},
        {"name": "ask", "failed_records": 1, "user": {"async.in_flight": 2}},
    )
    line = job_line(plain(failed_records=6, vertices=found))
    assert " · 6 failed at 'ask' · calls: 42 in flight, 7 retried · " in line


def test_in_a_narrow_terminal_the_end_is_left_out() -> None:
    assert job_line(view(), 40) == "fares: 4.0 records/s · 1 min behind"
    assert job_line(view(), 12) == "far…: 4.0 r…"


NAMES = st.text(st.characters(), max_size=60)


@given(st.integers(0, 200), NAMES, NAMES, NAMES, NAMES)
def test_a_line_has_room_and_steers_no_terminal(
    columns: int, job: str, phase: str, held: str, operator: str
) -> None:
    shown = view(
        name=f"\033[31m{job}",
        phase=phase,
        holding_back=(held, f"\033]0;{held}\a"),
        vertices=with_figures({"name": f"{operator}\r\n", "late_records": 2}),
    )
    line = job_line(shown, columns)
    assert text_width(line) <= columns
    assert line.isprintable()
    assert job_line(shown).isprintable()


class TestLastLine:
    def ended(self, status: JobStatus = JobStatus.FINISHED, **others: Any) -> JobView:
        return plain(
            **{"status": status, "ended": STARTED + 55_000, "records_in": 86_000, **others}
        )

    def test_of_a_job_that_finished(self) -> None:
        assert last_line(self.ended()) == (
            "fares: finished after 55 s · 86,000 records · 2 epochs · "
            "checkpoint: epoch 3 in file:/checkpoints/fares"
        )

    def test_of_one_with_losses(self) -> None:
        late = with_figures(
            {"name": "hours", "late_records": 10_200}, {"name": "join", "late_records": 63}
        )
        found = self.ended(
            late_records=10_263,
            vertices=late,
            restarts=2,
            state_size=12_340_000,
            filtered_records=7,
        )
        assert last_line(found) == (
            "fares: finished after 55 s · 86,000 records · 2 epochs · "
            "10,263 dropped as late (10,200 at 'hours', 63 at 'join') · 7 filtered out · 2 restarts · "
            "12.3 MB of state · checkpoint: epoch 3 in file:/checkpoints/fares"
        )

    def test_of_one_that_failed(self) -> None:
        failure = ExceptionView(STARTED, "ValueError", "no such\nthing", "Traceback", "Sum")
        found = last_line(self.ended(JobStatus.FAILED, exceptions=(failure,)))
        assert found.startswith(
            "fares: failed after 55 s: ValueError: no such at 'Sum' · 86,000 rec"
        )
        assert found.endswith(
            "checkpoint: epoch 3 in file:/checkpoints/fares, where the next start goes on"
        )

    @pytest.mark.parametrize(
        ("name", "message", "text"),
        [
            ("UserFunctionError", "KeyError: 'x'", "KeyError: 'x'"),
            ("OSError", "OSError: no room", "OSError: no room"),
            (
                "LocationInUseError",
                "Another job is there.",
                "LocationInUseError: Another job is there.",
            ),
        ],
    )
    def test_an_exception_is_named_once(self, name: str, message: str, text: str) -> None:
        failure = ExceptionView(STARTED, name, message, "")
        found = last_line(self.ended(JobStatus.FAILED, exceptions=(failure,)))
        assert found.startswith(f"fares: failed after 55 s: {text} · ")

    def test_of_one_that_was_cancelled(self) -> None:
        found = last_line(self.ended(JobStatus.CANCELED))
        assert found.startswith("fares: cancelled after 55 s · ")

    def test_of_one_that_was_left_behind(self) -> None:
        found = last_line(self.ended(JobStatus.CANCELED, is_left_behind=True))
        assert found.endswith(" · some of it still runs, and is left behind")

    @pytest.mark.parametrize(
        ("savepoint", "place"),
        [
            (None, "checkpoint: epoch 3 in file:/checkpoints/fares, where the next start goes on"),
            ("s3://bucket/last", "savepoint: s3://bucket/last"),
        ],
    )
    def test_of_one_that_was_stopped(self, savepoint: str | None, place: str) -> None:
        written = (
            ()
            if savepoint is None
            else (SavepointView(savepoint, 3, STARTED, 5, 80, stopped=True),)
        )
        found = last_line(self.ended(is_stopped=True, savepoints=written))
        assert found == f"fares: stopped after 55 s · 86,000 records · 2 epochs · {place}"

    def test_one_that_was_cancelled_as_it_stopped_was_not_stopped(self) -> None:
        found = last_line(self.ended(JobStatus.CANCELED, is_stopped=True))
        assert found.startswith("fares: cancelled after 55 s · ")

    def test_the_epoch_is_that_which_was_restored_if_none_followed(self) -> None:
        found = self.ended(JobStatus.FAILED, epochs=(), restored_epoch=11)
        assert "checkpoint: epoch 11 in " in last_line(found)

    def test_nothing_was_committed(self) -> None:
        found = self.ended(JobStatus.FAILED, epochs=())
        assert last_line(found).endswith("no new checkpoint in file:/checkpoints/fares")

    @pytest.mark.parametrize(
        ("status", "is_bounded", "is_lost"),
        [
            (JobStatus.FINISHED, True, False),
            (JobStatus.FINISHED, False, True),
            (JobStatus.FAILED, True, True),
        ],
    )
    def test_state_without_a_checkpoint_is_lost(
        self, status: JobStatus, is_bounded: bool, is_lost: bool
    ) -> None:
        found = self.ended(status, is_bounded=is_bounded, state_size=5, checkpoint_location=None)
        assert last_line(found).endswith("no checkpoint: the next start begins anew") is is_lost

    def test_no_password_is_shown(self) -> None:
        place = "s3://writer:secret@bucket/fares"
        failure = ExceptionView(STARTED, "E", "cannot read //me:secret@host/x", "")
        found = self.ended(JobStatus.FAILED, checkpoint_location=place, exceptions=(failure,))
        assert "secret" not in last_line(found)
        assert "s3://bucket/fares" in last_line(found)

    @given(NAMES, NAMES, NAMES)
    def test_it_is_one_line(self, job: str, message: str, place: str) -> None:
        failure = ExceptionView(STARTED, "ValueError", message, "", f"{job}\n")
        found = self.ended(
            JobStatus.FAILED, name=job, checkpoint_location=place, exceptions=(failure,)
        )
        assert last_line(found).isprintable()
