from __future__ import annotations

import itertools
import sys

import pytest
from tests.semantics.conftest import NewEnvironment

from penstock.common import Configuration, Types
from penstock.common.configuration.options import PROFILE
from penstock.common.cost import Cost
from penstock.errors import UserFunctionError
from penstock.runtime.task.profiling import sampler
from penstock.testing import local_environment


def test_a_program_is_executed_and_its_time_shown(
    new_environment: NewEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    env = new_environment(parallelism=2)
    numbers = env.from_collection(list(range(1000)), Types.INT())
    numbers.map(lambda number: number % 3).key_by(lambda key: key).reduce(max).filter(
        lambda _: False
    ).print()
    numbers.map(lambda _: "one").filter(lambda _: False).print()
    plan = env.explain(analyze=True)
    profile = plan.profile
    assert profile is not None
    assert [row.name for row in profile.operators].count("Map") == 2
    assert profile.epoch_count == 1
    assert profile.tasks >= 2
    [epoch] = profile.epochs
    assert profile.total == pytest.approx(epoch.total)
    assert 0 < profile.total < 600_000
    assert {Cost.PLANNING, Cost.RESULTS, Cost.COMMIT} <= profile.driver.keys()
    assert str(profile) in str(plan)
    assert plan._repr_html_().count("<svg") == 2
    # The environment is as it was, but empty.
    assert not list(env.transformations)
    env.from_collection([1]).print()
    assert env.execute().get_profile() is None
    assert capsys.readouterr().out.endswith("1\n")


class Driven(sampler.SampledTask):
    """Takes a sample when it is told to, and otherwise none."""

    def _run(self) -> None:
        _driven.append(self)
        self._done.wait()


_driven: list[Driven] = []
_seconds = itertools.count()


def works(number: int) -> int:
    """A function that is at work whenever a sample is taken."""
    _driven[-1]._sampler.take(sys._getframe(), float(next(_seconds)))
    return number


def test_a_function_that_does_all_the_work_is_given_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sampler, "SampledTask", Driven)
    env = local_environment()
    env.configure(Configuration().set(PROFILE, value=True))
    numbers = env.from_collection(list(range(100)), Types.INT())
    numbers.map(works).name("works").map(str).add_sink(lambda _: None)
    profile = env.execute().get_profile()
    assert profile is not None
    by_name = {row.name: row for row in profile.operators}
    assert by_name["works"].times.keys() == {Cost.USER}
    in_tasks = sum(time for cost, time in profile.by_cost().items() if cost.is_in_tasks)
    assert by_name["works"].total == pytest.approx(in_tasks)
    assert profile.samples == 100


def test_a_job_that_runs_shows_its_profile() -> None:
    env = local_environment()
    env.configure(Configuration().set(PROFILE, value=True))
    env.from_collection([1]).add_sink(lambda _: None)
    client = env.execute_async()
    client.get_job_execution_result().result()
    profile = client.progress().profile
    assert profile is not None
    assert profile.epoch_count == 1


def _fails_at_seven(number: int) -> int:
    return 1 // (number - 7)


@pytest.mark.parametrize("is_keyed", [False, True])
def test_a_failure_is_told_as_without_a_profile(*, is_keyed: bool) -> None:
    texts = []
    for is_profiled in (False, True):
        env = local_environment()
        env.configure(Configuration().set(PROFILE, value=is_profiled))
        numbers = env.from_collection(list(range(10)), Types.INT()).map(lambda number: number)
        if is_keyed:
            sums = numbers.key_by(lambda _: 0)
            results = sums.reduce(lambda _, number: _fails_at_seven(number) * 0 + number)
        else:
            results = numbers.map(_fails_at_seven)
        results.add_sink(lambda _: None)
        with pytest.raises(UserFunctionError) as caught:
            env.execute()
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert "on the record 7" in texts[0]
