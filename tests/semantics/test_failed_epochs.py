"""An epoch that failed half way leaves no trace in the one that takes its place."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.datastream import MapFunction
from penstock.errors import LostBufferError
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import epochs

EPOCHS = [[*range(0, 20)], [*range(20, 40)], [*range(40, 60)], [60]]


def lose_a_buffer() -> None:
    raise LostBufferError("A buffer was lost.")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class FailOnce(MapFunction):
    """Fails on one record, the first time it comes."""

    def __init__(self, record: int, fail: Callable[[], None], marker: Path) -> None:
        self._record = record
        self._fail = fail
        self._marker = marker

    def map(self, value: tuple[int, int]) -> tuple[int, int]:
        if value[1] == self._record and not self._marker.exists():
            self._marker.touch()
            self._fail()
        return value


def check(
    new_environment: NewEnvironment, folder: Path, fail: Callable[[], None], level: int, record: int
) -> None:
    env = new_environment(3)
    marker = folder / "failed"
    stream = epochs(env, *EPOCHS).map(lambda number: (number % 4, number)).set_parallelism(1)
    fail_once = FailOnce(record, fail, marker)
    if level == 0:
        stream = stream.map(fail_once).set_parallelism(1)
    sums = stream.key_by(lambda pair: pair[0]).sum(1)
    if level == 1:  # in the chain of the sum, whose state the failed attempt has changed
        sums = sums.map(fail_once)

    found = sorted(sums.execute_and_collect())

    expected = []
    for key in range(4):
        numbers = range(key, 61, 4)
        expected += [(key, sum(numbers[: count + 1])) for count in range(len(numbers))]
    assert found == sorted(expected)
    assert marker.exists()


@pytest.mark.parametrize(("level", "record"), [(0, 10), (0, 30), (1, 18), (1, 72)])
def test_an_epoch_that_is_run_again(
    new_environment: NewEnvironment, tmp_path: Path, level: int, record: int
) -> None:
    check(new_environment, tmp_path, lose_a_buffer, level, record)


@pytest.mark.parametrize("executor", [pytest.param("spark", marks=pytest.mark.spark)], indirect=True)
@pytest.mark.parametrize(("level", "record"), [(0, 30), (1, 72)])
def test_a_worker_that_dies(
    new_environment: NewEnvironment, tmp_path: Path, level: int, record: int
) -> None:
    check(new_environment, tmp_path, die, level, record)
