"""What is seen of a job, while it runs and once it has ended, on both executors."""

from __future__ import annotations

import gc
import json
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from tests.executors.rescaling import input_of, run
from tests.semantics.conftest import NewEnvironment

from penstock.common import JobStatus, WatermarkStrategy
from penstock.common.restart_strategy import RestartStrategies
from penstock.errors import UserFunctionError
from penstock.executors.driver.compiled_job import CompiledJob
from penstock.executors.driver.epoch_feed import EpochFeed
from penstock.executors.driver.observation.epoch_log import EpochLog
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.observation.running_jobs import JOBS
from penstock.executors.driver.reports.job_view import JobView, VertexView, job_view_json
from penstock.runtime.program import Program
from penstock.testing import TestingSource


def view_of(name: str) -> JobView:
    """Return the view of the last job of a name."""
    return next(job.view() for job in reversed(JOBS.jobs()) if job.name == name)


def views_after_epochs(name: str, monkeypatch: pytest.MonkeyPatch) -> list[JobView]:
    """Return a list to which the view of a job is added after each of its epochs."""
    seen: list[JobView] = []
    monkeypatch.setattr(EpochFeed, "put", lambda *_: seen.append(view_of(name)))
    return seen


def test_a_job_that_has_ended_is_seen_as_it_was(
    new_environment: NewEnvironment, executor: str, tmp_path: Path
) -> None:
    env = new_environment(2, execution__checkpointing__dir=tmp_path / "job", my__password="pst")
    numbers = env.from_source(
        TestingSource([[1, 2, 3], [4], [5, 6]]), WatermarkStrategy.no_watermarks(), "numbers"
    ).uid("numbers")
    sums = numbers.key_by(lambda number: number % 2).sum().uid("sum").name("Sum")
    sums.filter(lambda number: number > 3).print()
    name = f"seen on {executor}"
    env.execute(name)
    view = view_of(name)

    assert view.status is JobStatus.FINISHED
    assert (view.phase, view.is_bounded, view.records_in) == ("finished", True, 6)
    assert view.ended is not None
    assert view.started <= view.status_times[JobStatus.RUNNING] <= view.ended
    assert view.checkpoint_location is not None
    assert view.filtered_records == 2
    assert view.configuration["my.password"] == "******"
    assert "pst" not in json.dumps(job_view_json(view))
    assert [epoch.records_in for epoch in view.epochs] == [3, 1, 2]
    assert (view.epochs_completed, view.epochs_failed) == (3, 0)
    for epoch in view.epochs:
        assert abs(epoch.running + epoch.committing - epoch.duration) <= 1
        assert epoch.publishing is not None
        assert epoch.state_size == sum(epoch.state_sizes.values())
    assert view.epochs[0].changed_size == view.epochs[0].state_size > 0
    check_chains(view.vertices)


def check_chains(vertices: tuple[VertexView, ...]) -> None:
    source, chain = vertices
    assert source.is_source
    assert [(one.vertex_id, one.ship_strategy) for one in chain.inputs] == [
        (source.vertex_id, "HASH")
    ]
    assert [operator.name for operator in chain.operators][:2] == ["Sum", "Filter"]
    assert [
        (operator.figures.records_in, operator.figures.records_out) for operator in chain.operators
    ] == [(6, 6), (6, 4), (4, 0)]
    for vertex in vertices:
        assert len(vertex.subtasks) == vertex.parallelism
        for place, operator in enumerate(vertex.operators):
            parts = [subtask.operators[place].records_in for subtask in vertex.subtasks]
            assert sum(parts) == operator.figures.records_in
        assert sum(one.state_size for one in vertex.subtasks) == vertex.state_size
    assert chain.operators[0].figures.state_size == chain.state_size > 0


def spin(number: int) -> int:
    # Of its own: on a busy machine the rest takes longer, too.
    until = time.thread_time() + 0.2
    while time.thread_time() < until:
        pass
    return number


def test_with_a_profile_each_operator_has_its_share_of_the_chains_time(
    new_environment: NewEnvironment, executor: str
) -> None:
    env = new_environment(execution__profile="true")
    numbers = env.from_source(
        TestingSource([[1, 2], [3]]), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.map(spin).name("Spin").print()
    name = f"profiled on {executor}"
    env.execute(name)

    (chain,) = view_of(name).vertices
    shares = {operator.name: operator.busy or 0.0 for operator in chain.operators}
    assert sum(shares.values()) == pytest.approx(1)
    assert max(shares, key=lambda one: shares[one]) == "Spin"


def fail(number: int) -> int:
    if number == 4:
        raise ValueError("four")
    return number


def test_a_poison_record_is_one_exception_that_came_often(
    new_environment: NewEnvironment, executor: str
) -> None:
    env = new_environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 1))
    numbers = env.from_source(
        TestingSource([[1], [4]]), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.map(fail).name("Fail").print()
    name = f"poisoned on {executor}"
    with pytest.raises(UserFunctionError):
        env.execute(name)
    view = view_of(name)

    assert (view.status, view.phase, view.restarts) == (JobStatus.FAILED, "failed", 2)
    (found,) = view.exceptions
    assert (found.operator, found.record, found.times, found.epoch) == ("Fail", "4", 3, 1)
    assert (found.name, found.message) == ("ValueError", "ValueError: four")
    assert found.traceback.startswith("Traceback")
    assert "raise ValueError" in found.traceback
    assert found.vertex_id in {vertex.vertex_id for vertex in view.vertices}
    assert (view.epochs_completed, view.epochs_failed, view.records_in) == (1, 3, 1)
    first, *others = [epoch.failure for epoch in view.epochs]
    assert first is None
    assert len(others) == 3
    assert all(
        failure.startswith("ValueError: four (operator 'Fail', record 4")
        for failure in others
        if failure
    )


def test_with_another_parallelism_the_state_is_as_large_as_it_was(
    new_environment: NewEnvironment, executor: str, tmp_path: Path
) -> None:
    found = []
    for number, (parallelism, until) in enumerate([(2, 2), (4, 2), (3, 3), (1, None)]):
        env = new_environment(parallelism, execution__checkpointing__dir=tmp_path / "job")
        numbers = input_of(env, [range(20), range(20, 40), [7], [8]], until)
        run(env, numbers.key_by(lambda number: number).sum().uid("sum").name("Sum"))
        view = JOBS.jobs()[-1].view()
        (chain,) = [vertex for vertex in view.vertices if vertex.state_size]
        assert chain.parallelism == len(chain.subtasks) == parallelism
        assert chain.operators[0].figures.state_size == chain.state_size == view.state_size
        found.append((view.state_size, chain.operators[0].figures.records_in))
        if number != 1:
            assert view.epochs[0].state_sizes == {chain.vertex_id: view.epochs[0].state_size}

    first, same, more, last = found
    assert same == (first[0], 0)  # it died in its first epoch
    assert first[0] < more[0]
    assert (first[1], more[1], last[1]) == (40, 1, 1)


@pytest.mark.parametrize("fails", [False, True])
def test_an_ended_job_is_kept_without_its_program_and_its_data(
    new_environment: NewEnvironment, executor: str, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    compiled = ObservedJob.compiled
    found: list[weakref.ref[Any]] = []

    def noted(job: ObservedJob, request: CompiledJob, program: Program, *others: Any) -> EpochLog:
        found.extend([weakref.ref(request), weakref.ref(program)])
        return compiled(job, request, program, *others)

    monkeypatch.setattr(ObservedJob, "compiled", noted)
    env = new_environment()
    env.from_collection([4 if fails else 1, 2]).map(fail).print()
    name = f"kept on {executor}"
    try:
        env.execute(name)
    except UserFunctionError:
        assert fails
    del env
    gc.collect()
    view = view_of(name)
    assert view.status is (JobStatus.FAILED if fails else JobStatus.FINISHED)
    assert [vertex.is_source for vertex in view.vertices][:1] == [True]
    assert [one() for one in found] == [None, None]


def timed(epochs: list[list[int]]) -> tuple[TestingSource, WatermarkStrategy]:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return TestingSource(epochs), strategy.with_timestamp_assigner(lambda number, _: number)


def _held(view: JobView) -> dict[str, bool]:
    """Return of the operators in which watermarks begin whether they hold the watermark back, by name."""
    names = {one.operator_id: one.name for vertex in view.vertices for one in vertex.operators}
    return {names[operator_id]: held for operator_id, held in view.watermark_origins.items()}


def test_watermarks_that_are_assigned_behind_a_source_say_that_they_hold_it_back(
    new_environment: NewEnvironment, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = new_environment()
    name = f"assigned later on {executor}"
    seen = views_after_epochs(name, monkeypatch)
    parts = [
        env.from_source(TestingSource(epochs), WatermarkStrategy.no_watermarks(), source)
        .rebalance()
        .assign_timestamps_and_watermarks(timed([])[1])
        .name(f"times of {source}")
        for source, epochs in (("clicks", [[60_000], [120_000]]), ("views", [[], [70_000]]))
    ]
    parts[0].union(parts[1]).map(str).rebalance().print()
    env.execute(name)

    assert _held(seen[0]) == {
        "Source: clicks": False,
        "Source: views": False,
        "times of clicks": False,
        "times of views": True,
    }


def test_a_union_that_an_empty_source_holds_back_says_so(
    new_environment: NewEnvironment, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = new_environment()
    name = f"held back on {executor}"
    seen = views_after_epochs(name, monkeypatch)
    full = env.from_source(*timed([[60_000], [120_000], [180_000]]), "clicks")
    empty = env.from_source(*timed([[], [], [170_000]]), "views")
    full.union(empty).map(str).rebalance().print()
    env.execute(name)

    assert [(view.holding_back, view.watermark) for view in seen[:2]] == [
        (("Source: views",), None)
    ] * 2
    assert _held(seen[1]) == {"Source: clicks": False, "Source: views": True}
    for vertex in seen[1].vertices:
        for subtask in vertex.subtasks:
            times = subtask.times
            assert times.measured > 0
            assert times.busy + times.back_pressured + times.idle == pytest.approx(1.0)
            assert 0 < times.busy < 1
    source, *_, sink = seen[1].vertices
    assert source.times.bytes_out > 0
    assert sink.times.bytes_in > 0
