from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from tests.executors.driver.rest.page import views

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.job_view import EpochView, JobView, job_view_json

pytestmark = pytest.mark.browser

Explain = Callable[..., list[str]]
END = 9_223_372_036_854_775_807


@pytest.fixture
def explain(call: Callable[..., Any]) -> Explain:
    """Returns the sentences about a running job that is as healthy as can be, but for what is said."""

    def explained(**changes: Any) -> list[str]:
        view = healthy(**changes)
        code = "return it.explain(given[0]).map((each) => each.text)"
        return list(call("health.js", code, job_view_json(view)))

    return explained


def healthy(**changes: Any) -> JobView:
    job = views.clicks()
    easy = views.make_chain(["Source: clicks", "Count"], busy=0.2)
    calm: dict[str, Any] = {
        "vertices": (easy,),
        "watermark": job.at - 1200,
        "holding_back": (),
        "epochs": (),
        "exceptions": (),
        "late_records": 0,
        "failed_records": 0,
        "records_per_second": 12.5,
    }
    return dataclasses.replace(job, **(calm | changes))


def test_a_healthy_job_is_told_in_two_sentences(explain: Explain) -> None:
    doing, behind = explain()
    assert doing == (
        "Reads 13 records/s from clicks, through 2 operators in 1 chain, in up to 4 subtasks."
    )
    assert behind.endswith(", 1.2 s behind the clock.")


def test_before_the_first_record_its_phase_is_told(explain: Explain) -> None:
    start: dict[str, Any] = {"records_in": 0, "watermark": None, "status": JobStatus.CREATED}
    assert explain(phase="starting Spark", **start) == ["Starts: starting Spark."]
    start["status"] = JobStatus.RUNNING
    [found] = explain(phase="first epoch, 12 s", **start)
    assert found == "Runs and has read no record yet (first epoch, 12 s)."


def test_old_records_are_told_from_a_job_that_is_too_slow(explain: Explain) -> None:
    old = healthy().at - 600_000
    assert "the records are that old when they arrive" in " ".join(explain(watermark=old))
    slow = views.make_chain(["Source: clicks", "Ask"], busy=0.97)
    found = " ".join(explain(watermark=old, vertices=(slow,)))
    assert "Source: clicks -> Ask is at its limit: busy 97 % of the time." in found
    assert "that old" not in found


def test_input_that_ends_is_not_behind(explain: Explain) -> None:
    found = " ".join(explain(is_bounded=True, watermark=1_357_000_000_000))
    assert "behind the clock" not in found
    assert explain(watermark=END)[1] == "Event time has come to the end of the input."


def test_time_that_goes_elsewhere_is_told(explain: Explain) -> None:
    slow = EpochView(1, 0, 1000, planning=100, running=300, committing=500, publishing=3000)
    found = explain(epochs=(slow,))
    assert "75 % of an epoch's 4 s goes into publishing, not into records." in found
    assert len(explain(epochs=(dataclasses.replace(slow, publishing=None),))) == 2


def test_a_failure_is_told_with_its_cause(explain: Explain) -> None:
    job = views.clicks()
    failed = dataclasses.replace(job.epochs[-1], failure="KeyError: 'article-77'")
    found = explain(epochs=(failed,), exceptions=job.exceptions)
    assert (
        f"Epoch {failed.number} failed in Ask prices, 3 times in a row: KeyError: 'article-77'."
        in found
    )


def test_a_job_without_a_place_for_its_checkpoints_is_warned_of(explain: Explain) -> None:
    assert explain(checkpoint_location=None)[-1].startswith("No checkpoint location is set")


def test_how_it_ended_is_told(explain: Explain) -> None:
    job = views.clicks()
    ended = {"status": JobStatus.FAILED, "ended": job.started + 90_000}
    assert explain(exceptions=job.exceptions, **ended) == [
        "Failed after 1 min 30 s with KeyError: 'article-77'. It read 530,700 records in 295 epochs."
    ]
    ended["status"] = JobStatus.FINISHED
    assert explain(**ended)[0].startswith("Finished after 1 min 30 s. It read")
