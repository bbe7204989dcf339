from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import ProgramBuilder

from penstock.common.cost import Cost
from penstock.executors.driver.reports.profile_log import ProfileLog
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import Program
from penstock.runtime.task.profiling.sampler import TaskProfile


def _program() -> Program:
    builder = ProgramBuilder()
    source = builder.source([[1]])
    builder.vertex(MapOperator(str), inputs=[(source, RebalancePartitioner())])
    return builder.build()


PROGRAM = _program()
SOURCE, MAP = (vertex.operators[0].operator_id for vertex in PROGRAM.vertices)


def task(
    level: int,
    started: float,
    seconds: float,
    samples: dict[tuple[str, Cost], float] | None = None,
) -> TaskProfile:
    found = samples or {}
    return TaskProfile(level, 1000.0 + started, seconds, found, len(found))


def test_time_is_that_on_the_wall() -> None:
    log = ProfileLog(PROGRAM)
    tasks = [
        # Two at once, of which each is given half of the time.
        task(0, 1.0, 2.0, {(SOURCE, Cost.USER): 0.1, ("", Cost.EXCHANGE): 0.3}),
        task(0, 1.0, 2.0, {(SOURCE, Cost.USER): 0.4}),
        task(1, 3.5, 1.0, {(MAP, Cost.FRAMEWORK): 0.2}),
    ]
    log.add(0, 1000.0, 5.0, 5.25, tasks)
    profile = log.profile()
    source, mapped = profile.operators
    [level] = profile.levels
    # Three seconds are covered, by tasks that took five: two of level 0 took four fifths.
    assert source.times == {Cost.USER: pytest.approx(3000 * 4 / 5 * 5 / 8)}
    assert level.times == {Cost.EXCHANGE: pytest.approx(3000 * 4 / 5 * 3 / 8)}
    assert level.name == "tasks of level 0"
    assert mapped.times == {Cost.FRAMEWORK: pytest.approx(600)}
    assert profile.driver == {
        Cost.PLANNING: pytest.approx(1000),
        Cost.SCHEDULING: pytest.approx(500),
        Cost.RESULTS: pytest.approx(500),
        Cost.COMMIT: pytest.approx(250),
    }
    assert profile.total == pytest.approx(5250)
    assert (profile.tasks, profile.samples, profile.epoch_count) == (3, 4, 1)


def test_what_no_sample_saw_goes_as_the_rest_of_its_level() -> None:
    log = ProfileLog(PROGRAM)
    log.add(0, 1000.0, 1.0, 1.0, [task(0, 0.0, 1.0, {(SOURCE, Cost.USER): 0.2})])
    log.add(1, 1000.0, 3.0, 3.0, [task(0, 0.0, 3.0)])
    log.add(2, 1000.0, 2.0, 2.0, [task(1, 0.0, 2.0)])
    profile = log.profile()
    assert profile.operators[0].times == {Cost.USER: pytest.approx(4000)}
    [level] = profile.levels
    assert level.name == "tasks of level 1"
    assert level.times == {Cost.FRAMEWORK: pytest.approx(2000)}
    assert [epoch.total for epoch in profile.epochs] == pytest.approx([1000, 3000, 2000])
    assert profile.epochs[1].times[Cost.USER] == pytest.approx(3000)


def test_triggers_are_what_spark_does_around_an_epoch() -> None:
    log = ProfileLog(PROGRAM)
    log.add(0, 1000.0, 1.0, 1.0, [])
    log.add_triggers([(0, 1.5), (7, 9.0)])
    log.add_triggers([(0, 2.5)])
    profile = log.profile()
    assert profile.driver[Cost.TRIGGER] == pytest.approx(500)
    assert profile.epochs[0].times == {
        Cost.PLANNING: pytest.approx(1000),
        Cost.COMMIT: 0.0,
        Cost.TRIGGER: pytest.approx(500),
    }


costs = st.sampled_from([Cost.USER, Cost.STATE, Cost.EXCHANGE])
seconds = st.floats(0, 5, allow_subnormal=False)
some_samples = st.dictionaries(
    st.tuples(st.sampled_from([SOURCE, MAP, ""]), costs), st.floats(0.001, 1), max_size=4
)
tasks = st.builds(task, st.integers(0, 1), st.floats(-1, 6), seconds, some_samples)
epochs = st.lists(st.tuples(seconds, seconds, st.lists(tasks, max_size=5)), max_size=4)


@given(epochs)
def test_all_rows_together_are_the_time_of_all_epochs(
    found: list[tuple[float, float, list[TaskProfile]]],
) -> None:
    log = ProfileLog(PROGRAM)
    for number, (ran, rest, of_epoch) in enumerate(found):
        log.add(number, 1000.0, ran, ran + rest, of_epoch)
    profile = log.profile()
    expected = 1000 * sum(ran + rest for ran, rest, _ in found)
    rows = sum(row.total for row in (*profile.operators, *profile.levels))
    assert rows + sum(profile.driver.values()) == pytest.approx(expected, abs=1e-6)
    assert sum(epoch.total for epoch in profile.epochs) == pytest.approx(expected, abs=1e-6)
    assert all(
        time >= 0 for row in (*profile.operators, *profile.levels) for time in row.times.values()
    )
