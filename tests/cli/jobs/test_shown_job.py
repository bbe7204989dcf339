"""A stranger who has only the terminal can say what a job does, how far it is behind, and why."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from tests.executors.driver.rest.page import views

from penstock.cli.jobs.shown_job import shown_job
from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.driver.rest.shared_views import page_view
from penstock.runtime.timestamp import MAX_TIMESTAMP

PAGE = f"http://127.0.0.1:8081/#/jobs/{views.JOB}"


def shown(view: JobView | None = None, **changes: Any) -> list[str]:
    return list(shown_job(page_view(dataclasses.replace(view or views.clicks(), **changes)), PAGE))


def row(lines: list[str], heading: str, name: str) -> dict[str, str]:
    """Return the cells of a row, by the columns' names, of the table whose first column is called so."""
    start = next(number for number, line in enumerate(lines) if line.startswith(heading))
    line = next(line for line in lines[start:] if line.startswith(name))
    cells = line.split("  ")
    found = [cell.strip() for cell in cells if cell]
    return dict(zip(lines[start].split(), found, strict=True))


def test_state_sentences_and_facts_come_first() -> None:
    lines = shown(records_per_second=12.3)
    assert lines[:3] == [
        f"clicks per user  {views.JOB}",
        "RUNNING, started 2026-09-21 14:13:20 UTC, 5 min ago",
        "",
    ]
    assert lines[3].startswith("* Reads ")
    assert "* Event time is 3 min 12 s behind the clock." in lines
    assert "watermark    2026-09-21 14:15:08 UTC, 3 min 12 s behind" in lines
    assert "records      530,700 read, 12 a second; 77,312 filtered out" in lines
    assert f"page         {PAGE}" in lines
    facts = " ".join(" ".join(lines).split())
    assert "checkpoint epoch 300, 0.0 s ago, took 0.8 s, 1.3 MB written, in s3://bank/" in facts
    assert "began from epoch 12 in s3://bank/checkpoints/clicks/epoch-12" in facts
    assert "failed 5 epochs, the last one was 281, at 2026-09-21 14:18:01 UTC" in facts


def test_event_time_that_is_ahead_of_the_clock_is_shown_as_such() -> None:
    at = views.clicks().at
    found = shown(watermark=at + 3000, watermark_lag=-3000)
    assert any(line.endswith(" UTC, 3.0 s ahead") for line in found)


def test_a_chain_is_shown_with_its_worst_subtask() -> None:
    view = views.clicks()
    clicked = row(shown(view), "CHAIN", "Source: clicks")
    assert clicked["BEHIND"] == "2.4 s"
    assert (clicked["BUSY"], clicked["BACK-PRESSURED"]) == ("45% (4/4)", "45%")
    unknown = dataclasses.replace(view.vertices[0].times, measured=0.0)
    first = dataclasses.replace(view.vertices[0], times=unknown, watermark=MAX_TIMESTAMP)
    nothing = row(shown(view, vertices=(first,)), "CHAIN", "Source: clicks")
    assert (nothing["BUSY"], nothing["BEHIND"], nothing["STATE"]) == ("-", "end", "-")


def test_lost_records_are_shown_at_their_operator_with_what_it_means() -> None:
    lines = shown()
    counted = row(lines, "OPERATOR", "Format")
    assert counted["LATE"] == "1,204"
    assert "FAILED" not in counted
    assert "LATE: dropped, since the watermark had passed." in lines


def test_a_restart_is_not_as_old_as_the_job() -> None:
    lines = shown(status=JobStatus.RESTARTING, phase="restarting in 2 s")
    assert lines[1] == (
        "RESTARTING (restarting in 2 s), started 2026-09-21 14:13:20 UTC, 5 min ago"
    )


def test_an_end_is_shown_with_how_long_it_ran() -> None:
    view = views.clicks()
    lines = shown(status=JobStatus.FINISHED, phase="finished", ended=view.started + 90_000)
    assert lines[1] == "FINISHED, started 2026-09-21 14:13:20 UTC, ran 1 min 30 s"
    assert lines[3].startswith("* Finished after 1 min 30 s.")


def test_the_last_exception_has_a_heading_its_record_and_how_often_it_came() -> None:
    lines = shown()
    at = next(number for number, line in enumerate(lines) if line.startswith("LAST EXCEPTION"))
    assert lines[at] == (
        "LAST EXCEPTION  2026-09-21 14:17:40 UTC, in Ask prices, epoch 281, 3 times in a row"
    )
    assert lines[at + 1].startswith("RECORD  Click(user='u-12'")
    assert lines[-1] == "KeyError: 'article-77'"
    view = views.clicks()
    assert shown(exceptions=view.exceptions * 3)[-1] == (
        "2 other exceptions before it: see the page."
    )


@pytest.mark.parametrize("view", [views.clicks(), views.many(), views.attacked()])
def test_it_fits_a_hundred_columns_and_has_no_control_characters(view: JobView) -> None:
    name = "clicks \x1b[31m of users\n" * 12
    lines = shown(view, name="a \x1b[31m\nb", exceptions=(), vertices=(views.make_chain([name]),))
    lines += shown(view, exceptions=())
    assert max(map(len, lines)) <= 100
    assert all(line.isprintable() for line in lines)


def test_a_job_that_is_only_being_started_is_shown() -> None:
    lines = shown(
        JobView(views.JOB, "clicks", JobStatus.CREATED, "starting Spark", at=1000, started=0)
    )
    assert lines[1] == "CREATED (starting Spark), started 1970-01-01 00:00:00 UTC, 1.0 s ago"
    assert "watermark    none yet" in lines
    assert "checkpoint   none yet, nowhere that outlasts the driver" in lines
    assert not any(line.startswith("CHAIN") for line in lines)
