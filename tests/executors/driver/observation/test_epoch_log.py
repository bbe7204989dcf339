from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.executors.driver.observation.virtual import SINCE_1970, VirtualJob, two_chains

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.executors.driver.reports.job_view import TaskTimes
from penstock.runtime.task.watch import Spent


def shares(times: TaskTimes) -> tuple[object, ...]:
    return (
        pytest.approx(times.busy, abs=1e-6),
        pytest.approx(times.back_pressured, abs=1e-6),
        pytest.approx(times.idle, abs=1e-6),
    )


def test_before_the_first_epoch_nothing_is_measured() -> None:
    job = VirtualJob()
    for vertex in job.views():
        assert vertex.times.measured == 0.0
        assert vertex.times.idle == 1.0


def test_a_subtask_is_idle_until_its_input_comes_and_held_up_until_others_are_done() -> None:
    job = VirtualJob()
    job.epoch(
        8.0,
        2.0,
        records=1,
        spent={
            (0, 0): job.spent(0.0, 1.0, 1.0),
            (1, 0): job.spent(1.0, 4.0, 5.0),
            (1, 1): job.spent(5.0, 2.0, 8.0),
        },
    )
    source, chain = job.views()
    # The two seconds of publishing hold up nobody.
    assert shares(source.times) == (0.1, 0.7, 0.2)
    assert shares(chain.subtasks[0].times) == (0.4, 0.3, 0.3)
    assert shares(chain.subtasks[1].times) == (0.2, 0.0, 0.8)
    assert shares(chain.times) == (0.3, 0.15, 0.55)
    assert source.times.measured == 10.0


def test_what_nothing_passes_through_is_idle_while_others_are_at_work() -> None:
    job = VirtualJob()
    job.epoch(8.0, 2.0, spent={(0, 0): job.spent(0.0, 1.0, 1.0), (1, 0): job.spent(1.0, 7.0, 8.0)})
    source, chain = job.views()
    assert shares(source.times) == (0.1, 0.0, 0.9)
    assert shares(chain.subtasks[0].times) == (0.7, 0.0, 0.3)


def test_waiting_until_what_was_sent_is_taken_is_being_held_up() -> None:
    job = VirtualJob()
    job.epoch(10.0, spent={(0, 0): job.spent(0.0, 4.0, 10.0, blocked=5.0)})
    assert shares(job.views()[0].times) == (0.4, 0.5, 0.1)


def test_between_epochs_and_in_epochs_without_input_a_subtask_is_idle() -> None:
    job = VirtualJob()
    job.epoch(1.0)
    job.now += 3.0
    source, chain = job.views()
    assert shares(source.times) == (0.25, 0.0, 0.75)
    assert shares(chain.times) == (0.0, 0.0, 1.0)
    job.now += 100.0
    assert shares(job.views()[0].times) == (0.0, 0.0, 1.0)


def test_while_an_epoch_runs_the_times_are_those_before_it() -> None:
    job = VirtualJob()
    job.epoch(10.0, records=100)
    with job.log.epoch(1):
        job.now += 5.0
        source, _ = job.views()
        assert source.times.busy == 1.0
        assert source.times.records_in_per_second == 10.0
        job.now += 1000.0
        source, _ = job.views()
        # Nobody knows what it does, but no records have come of it for long.
        assert source.times.busy == 1.0
        assert source.times.records_in_per_second == 0.0


def test_a_failed_epoch_is_counted() -> None:
    job, error = VirtualJob(), ValueError("no")
    job.epoch(1.0)
    job.log.begin(1)
    job.log.fail(error)
    assert job.log.failed == 1
    assert job.log.running is None
    assert job.log.epochs[-1].failure is error


def test_an_epoch_that_could_not_be_published_is_committed_all_the_same() -> None:
    job = VirtualJob()
    job.log.begin(0)
    job.log.committed(EpochRecord(0), EpochOutcome(), {})
    job.log.fail(ValueError("gone"))
    assert (job.log.completed, job.log.failed) == (1, 0)
    assert [(epoch.failure, epoch.published) for epoch in job.log.epochs] == [(None, None)]


def test_the_last_hundred_epochs_are_kept() -> None:
    job = VirtualJob()
    for _ in range(250):
        job.epoch(0.001, records=2)
    assert [epoch.number for epoch in job.log.epochs] == list(range(150, 250))
    assert (job.log.completed, job.log.records_in) == (250, 500)


def test_what_was_noted_does_not_change_when_more_is() -> None:
    job = VirtualJob()
    job.epoch(2.0, records=10)
    noted = job.log.noted()
    before = job.chains.views(noted)
    job.epoch(3.0, 1.0, records=1000)
    assert job.chains.views(noted) == before
    assert job.views() != before


def test_epochs_that_failed_are_found_when_a_hundred_others_have_followed() -> None:
    job = VirtualJob()
    for number in range(12):
        with pytest.raises(KeyError), job.log.epoch(number):
            raise KeyError(number)
    for _ in range(105):
        job.epoch(0.001)
    assert len(job.log.epochs) == 100
    assert [epoch.number for epoch in job.log.failures] == list(range(2, 12))


def test_the_last_epoch_that_was_committed_is_known_however_many_failed_since() -> None:
    job = VirtualJob()
    job.epoch(1.0)
    job.epoch(1.0)
    for count in range(150):
        job.now += 1.0
        with pytest.raises(KeyError), job.log.epoch(2):
            raise KeyError(count)
    found = job.log.noted().epochs
    assert [epoch.number for epoch in found if epoch.failure is None] == [1]
    assert len(found) == 111
    assert sorted(found, key=lambda epoch: epoch.begun) == list(found)


def test_a_job_that_rests_reads_nothing_and_is_idle() -> None:
    job = VirtualJob()
    job.epoch(10.0, records=100)
    source, _ = job.chains.views(job.log.noted(rests=True))
    assert source.times.records_in_per_second == 0.0
    assert source.operators[0].records_per_second == 0.0
    assert shares(source.times) == (0.0, 0.0, 1.0)
    assert source.operators[0].figures.records_in == 100
    assert job.views()[0].times.records_in_per_second == 10.0


def test_a_job_that_was_idle_for_a_minute_shows_what_it_does_now() -> None:
    job = VirtualJob()
    for _ in range(30):
        job.epoch(1.0, records=100)
    assert job.views()[0].times.records_in_per_second == 100.0
    job.now += 60.0
    assert job.views()[0].times.records_in_per_second == 0.0
    for seconds in range(1, 12):
        job.epoch(1.0, records=500)
        source = job.views()[0]
        assert source.times.records_in_per_second == 50.0 * min(10, seconds)
        assert source.times.busy == pytest.approx(min(10, seconds) / 10)


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions something calls."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_ten_thousand_epochs_take_no_more_room_and_no_more_time_to_see_than_two_hundred() -> None:
    job, found = VirtualJob(two_chains(subtasks=5)), []
    for epochs in (200, 9_800):
        for _ in range(epochs):
            owners = {(1, number): job.spent(0.0, 0.1, 0.2) for number in range(5)}
            job.epoch(0.2, 0.1, records=3, spent={(0, 0): job.spent(0.0, 0.1, 0.2), **owners})
        gc.collect()
        found.append((len(gc.get_objects()), calls_of(job.views)))
    (objects, calls), (objects_then, calls_then) = found
    assert job.log.records_in == 30_000
    assert calls_then == calls
    assert objects_then <= objects + 100


SECONDS = st.floats(0, 20)


@given(
    st.lists(
        st.tuples(
            SECONDS, SECONDS, SECONDS, st.lists(st.tuples(*[st.floats(-5, 40)] * 4), max_size=3)
        ),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_subtasks_tell_their_shares_come_to_one(
    epochs: list[tuple[float, float, float, list[tuple[float, float, float, float]]]],
) -> None:
    job = VirtualJob()
    for pause, seconds, publishing, told in epochs:
        job.now += pause
        at = SINCE_1970 + job.now
        spent = {
            (1 if place else 0, max(0, place - 1)): Spent(
                at + begun, at + ended, max(0.0, busy), max(0.0, blocked)
            )
            for place, (begun, ended, busy, blocked) in enumerate(told)
        }
        job.epoch(seconds, publishing, spent=spent)
        for vertex in job.views():
            for times in (vertex.times, *(subtask.times for subtask in vertex.subtasks)):
                found = times.busy, times.back_pressured, times.idle
                assert sum(found) == pytest.approx(1.0)
                assert all(-1e-9 <= share <= 1 + 1e-9 for share in found)


@given(st.lists(st.tuples(st.integers(0, 1000), st.floats(0.001, 30)), min_size=1, max_size=40))
def test_rates_are_records_by_time_and_chains_are_sums_of_subtasks(
    epochs: list[tuple[int, float]],
) -> None:
    job = VirtualJob()
    for records, seconds in epochs:
        job.epoch(seconds, records=records)
    source, chain = job.views()
    rates = [subtask.times.records_in_per_second for subtask in source.subtasks]
    assert source.times.records_in_per_second == pytest.approx(sum(rates))
    assert source.operators[0].records_per_second == pytest.approx(sum(rates))
    greatest = max(records / seconds for records, seconds in epochs)
    assert -1e-9 <= source.times.records_in_per_second <= greatest * (1 + 1e-9)
    assert source.operators[0].figures.records_in == sum(records for records, _ in epochs)
    assert chain.times.records_in_per_second == 0.0
