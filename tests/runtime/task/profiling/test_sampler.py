from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from penstock.common.cost import Cost
from penstock.runtime.task.profiling.sampler import SampledTask, Sampler, TaskProfile, profiled


def test_a_sample_stands_for_the_time_since_the_one_before() -> None:
    sampler = Sampler(seconds=0.002)
    sampler.take(None, 10.0)
    sampler.take(None, 10.5)
    sampler.take(None, 10.75)
    assert sampler.count == 3
    assert sampler.samples == {("", Cost.EXCHANGE): pytest.approx(0.752)}


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "penstock-profile"]


def test_a_task_is_sampled_until_it_is_left() -> None:
    usual = sys.getswitchinterval()
    with SampledTask(3) as outer:
        assert len(threads()) == 1
        with SampledTask(4) as inner:
            assert len(threads()) == 2
        assert sys.getswitchinterval() < usual
    assert not threads()
    assert sys.getswitchinterval() == usual
    assert (outer.profile.level, inner.profile.level) == (3, 4)
    assert outer.profile.seconds >= inner.profile.seconds
    assert outer.profile.started <= inner.profile.started


def numbers() -> Iterator[int]:
    yield from range(3)


def test_the_profile_comes_last() -> None:
    def as_item(profile: TaskProfile) -> int:
        return -profile.level

    assert list(profiled(numbers(), 7, as_item)) == [0, 1, 2, -7]
    assert not threads()


def test_work_that_is_given_up_is_sampled_no_longer() -> None:
    usual = sys.getswitchinterval()
    work = profiled(numbers(), 7, lambda _: -1)
    assert next(work) == 0
    assert len(threads()) == 1
    work.close()  # type: ignore[attr-defined]
    assert not threads()
    assert sys.getswitchinterval() == usual
