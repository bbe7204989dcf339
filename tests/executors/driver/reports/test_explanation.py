from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from tests.executors.driver.rest.page import views

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.explanation import explained
from penstock.executors.driver.reports.job_view import (
    EpochView,
    JobView,
    SavepointView,
    VertexView,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP


def healthy(**changes: Any) -> JobView:
    """A job that is as healthy as can be, but for what is said."""
    job = views.clicks()
    calm: dict[str, Any] = {
        "vertices": (views.make_chain(["Source: clicks", "Count"], busy=0.2),),
        "watermark": job.at - 1200,
        "holding_back": (),
        "held_since": None,
        "epochs": (),
        "exceptions": (),
        "late_records": 0,
        "failed_records": 0,
        "records_per_second": 12.5,
    }
    found = dataclasses.replace(job, **(calm | changes))
    mark = found.watermark
    lag = None if mark is None or mark >= MAX_TIMESTAMP else found.at - mark
    return dataclasses.replace(found, watermark_lag=lag)


def explain(**changes: Any) -> list[str]:
    return [sentence.text for sentence in explained(healthy(**changes))]


def busy(chain: VertexView, *shares: float) -> VertexView:
    """The chain with subtasks that are so busy."""
    subtasks = tuple(
        dataclasses.replace(
            chain.subtasks[0],
            index=index,
            times=dataclasses.replace(chain.times, busy=share, idle=1 - share),
        )
        for index, share in enumerate(shares)
    )
    mean = sum(shares) / len(shares)
    times = dataclasses.replace(chain.times, busy=mean, idle=1 - mean)
    return dataclasses.replace(chain, parallelism=len(shares), subtasks=subtasks, times=times)


def test_a_healthy_job_is_told_in_two_sentences() -> None:
    assert explain() == [
        "Reads 12 records/s from clicks, through 2 operators in 1 chain with 4 subtasks.",
        "Event time is 1.2 s behind the clock.",
    ]


def test_event_time_that_is_ahead_of_the_clock_is_told() -> None:
    assert explain(watermark=healthy().at + 3000)[1] == "Event time is 3.0 s ahead of the clock."


def test_many_sources_are_told_in_few_words() -> None:
    names = ["clicks", "orders", "users", "prices"]
    found = explain(vertices=tuple(views.make_chain([f"Source: {name}"]) for name in names))
    assert "from clicks, orders and 2 more, through 4 operators in 4 chains" in found[0]
    pair = tuple(views.make_chain([f"Source: {name}"]) for name in names[:2])
    assert "from clicks and orders, through" in explain(vertices=pair)[0]


def test_before_the_first_record_its_phase_is_told() -> None:
    start: dict[str, Any] = {"records_in": 0, "watermark": None, "status": JobStatus.CREATED}
    assert explain(phase="starting Spark", **start) == ["Starts: starting Spark."]
    start["status"] = JobStatus.RUNNING
    [found] = explain(phase="first epoch, 12 s", **start)
    assert found == "Runs and has read no record yet (first epoch, 12 s)."


def test_old_records_are_told_from_a_job_that_is_too_slow() -> None:
    old = healthy().at - 600_000
    assert "the records are that old when they arrive" in " ".join(explain(watermark=old))
    slow = busy(views.make_chain(["Source: clicks", "Ask"]), 0.97)
    found = " ".join(explain(watermark=old, vertices=(slow,)))
    assert "Source: clicks -> Ask is at its limit: it is busy 97% of the time." in found
    assert "that old" not in found


def test_long_epochs_are_told_from_old_records() -> None:
    epoch = EpochView(1, 0, 7800, running=7700)
    found = explain(watermark=healthy().at - 11_000, epochs=(epoch,))[1]
    assert found == (
        "Event time is 11 s behind the clock. Its last epoch took 7.8 s, and event time moves when one is over."
    )


def test_one_subtask_that_is_at_its_limit_is_found_among_many() -> None:
    source = views.make_chain(["Source: clicks"], busy=0.1, waits=0.7)
    uneven = busy(views.make_chain(["Ask"], (source, "HASH")), 0.1, 0.95, 0.2, 0.15)
    [found] = explain(vertices=(source, uneven))[2:]
    assert found == (
        "Ask is at its limit in subtask 2/4, which is busy 95% of the time, and 1 other chain waits for it. "
        "On average its subtasks are busy 35% of it: records are not spread evenly."
    )


def test_who_holds_the_watermark_back_is_told_with_since_when_and_what_to_do() -> None:
    at = healthy().at
    told = explain(watermark=None, holding_back=("Source: orders",), held_since=at - 300_000)
    assert told[1].startswith(
        "orders holds the watermark back: it has sent no watermark for 5 min. Windows"
    )
    assert told[1].endswith("needs an idleness timeout (with_idleness).")
    names = ("Source: orders", "Source: clicks (2/4)")
    told = explain(watermark=at - 90_000, holding_back=names, held_since=at - 60_000)
    assert told[1] == "Event time is 1 min 30 s behind the clock."
    assert told[2].startswith(
        "orders and clicks (2/4) hold the watermark back: they are behind the others, and have stood still "
        "for 1 min. Windows"
    )


def test_input_that_ends_is_not_behind() -> None:
    found = " ".join(explain(is_bounded=True, watermark=1_357_000_000_000))
    assert "behind the clock" not in found
    assert explain(watermark=MAX_TIMESTAMP)[1] == "Event time has come to the end of the input."


def test_time_that_goes_elsewhere_is_told() -> None:
    slow = EpochView(1, 0, 1000, planning=100, running=300, committing=500, publishing=3000)
    found = explain(epochs=(slow,))
    assert "75% of an epoch's 4.0 s goes into publishing, not into records." in found
    assert len(explain(epochs=(dataclasses.replace(slow, publishing=None),))) == 2


def test_a_failure_is_told_with_its_cause() -> None:
    job = views.clicks()
    failed = dataclasses.replace(job.epochs[-1], failure="KeyError: 'article-77'")
    found = explain(epochs=(failed,), exceptions=job.exceptions)
    told = f"Epoch {failed.number} failed in Ask prices, 3 times in a row: KeyError: 'article-77'."
    assert told in found
    waits = explain(
        epochs=(failed,),
        exceptions=job.exceptions,
        status=JobStatus.RESTARTING,
        phase="restarting in 2 s",
    )
    assert waits[0] == "Has failed, and waits to go on: restarting in 2 s."


def test_what_a_users_function_raised_has_its_own_name() -> None:
    job = views.clicks()
    [cause] = job.exceptions
    raised = dataclasses.replace(cause, name="UserFunctionError", message="ValueError: no", times=1)
    failed = dataclasses.replace(job.epochs[-1], failure="ValueError: no")
    told = f"Epoch {failed.number} failed in Ask prices: ValueError: no."
    assert told in explain(epochs=(failed,), exceptions=(raised,))


def test_what_was_lost_is_told_with_where_to_look() -> None:
    lost = explained(healthy(late_records=2, failed_records=1))[-1]
    assert lost.text == "Lost so far: 2 records dropped as late, 1 record failed and passed over."
    assert lost.section == "records"


def test_a_job_without_a_place_for_its_checkpoints_is_warned_of() -> None:
    assert explain(checkpoint_location=None)[-1].startswith("No checkpoint location is set")
    assert len(explain(checkpoint_location=None, is_bounded=True)) == 2


def test_how_it_ended_is_told_and_where_it_can_go_on() -> None:
    job = views.clicks()
    ended = {"status": JobStatus.FAILED, "ended": job.started + 90_000, "epochs": job.epochs[-1:]}
    assert explain(exceptions=job.exceptions, **ended) == [
        "Failed after 1 min 30 s with KeyError: 'article-77'. It read 530,700 records in 295 epochs.",
        "It can go on from epoch 300, its last one, in s3://bank/checkpoints/clicks",
    ]
    ended["status"] = JobStatus.FINISHED
    [found] = explain(**ended)
    assert found.startswith("Finished after 1 min 30 s. It read")


def test_a_job_that_was_stopped_without_a_savepoint_has_not_finished() -> None:
    ended = {"status": JobStatus.FINISHED, "ended": views.STARTED + 90_000}
    assert explain(is_stopped=True, savepoints=(), **ended)[0].startswith("Stopped after")
    assert explain(is_stopped=False, savepoints=(), **ended)[0].startswith("Finished after")


def test_a_job_that_was_stopped_is_told_with_its_savepoint() -> None:
    written = SavepointView("/s/savepoint-1", 7, views.STARTED, 200, stopped=True)
    ended = {"status": JobStatus.FINISHED, "ended": views.STARTED + 90_000}
    first, second = explain(savepoints=(written,), is_stopped=True, **ended)
    assert first.startswith("Stopped after 1 min 30 s. It read")
    assert second == "It can go on from its savepoint: /s/savepoint-1"


@pytest.mark.parametrize("status", list(JobStatus))
def test_every_status_is_told(status: JobStatus) -> None:
    assert explained(healthy(status=status))[0].tone in {"good", "calm", "busy", "warn", "bad"}


def an_epoch_that_ended(ago: int) -> EpochView:
    """An epoch of a tenth of a second that ended so many milliseconds before the job was seen."""
    job = views.clicks()
    epoch = next(each for each in job.epochs if each.failure is None)
    return dataclasses.replace(epoch, started=job.at - ago - 100, duration=100, publishing=0)


def test_a_long_epoch_under_way_explains_why_event_time_is_behind() -> None:
    texts = explain(
        vertices=(views.make_chain(["Source: clicks", "Rate"], busy=0.65),),
        watermark=views.clicks().at - 60_000,
        epochs=(an_epoch_that_ended(54_000),),
    )
    assert texts[1] == (
        "Event time is 1 min behind the clock. The epoch under way has run for 54 s, and event time moves "
        "when it is over."
    )


def test_where_no_chain_is_at_work_no_epoch_is_said_to_be_under_way() -> None:
    texts = explain(
        vertices=(views.make_chain(["Source: clicks", "Rate"], busy=0.1),),
        watermark=views.clicks().at - 60_000,
        epochs=(an_epoch_that_ended(54_000),),
    )
    assert "under way" not in texts[1]
    assert "the records are that old when they arrive" in texts[1]
