"""An epoch that failed half way leaves no trace in the one that takes its place."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import epochs

from penstock.datastream import DataStream, MapFunction
from penstock.errors import LostBufferError

EPOCHS = [[*range(20)], [*range(20, 40)], [*range(40, 60)], [60]]
ROLLING = sorted(
    sum(range(key, 61, 4)[: count + 1])
    for key in range(4)
    for count in range(len(range(key, 61, 4)))
)


class Parcel:
    """Is lost on its way through an exchange, the first time."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Callable[[Path], Parcel], tuple[Path]]:
        return arrive, (self._marker,)


def arrive(marker: Path) -> Parcel:
    if not marker.exists():
        marker.touch()
        raise LostBufferError("A parcel was lost.")
    return Parcel(marker)


class Record(NamedTuple):
    key: int
    number: int
    parcel: Parcel | None = None


class KillOnce(MapFunction):
    """Kills its process on one number, the first time it comes."""

    def __init__(self, number: int, marker: Path) -> None:
        self._number = number
        self._marker = marker

    def map(self, value: Record) -> Record:
        if value.number == self._number and not self._marker.exists():
            self._marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value


def records(new_environment: NewEnvironment) -> DataStream:
    numbers = epochs(new_environment(3), *EPOCHS)
    return numbers.map(lambda number: Record(number % 4, number)).set_parallelism(1)


def sums(stream: DataStream) -> DataStream:
    return stream.key_by(lambda record: record.key).sum("number")


def with_parcel(stream: DataStream, number: int, marker: Path) -> DataStream:
    return stream.map(
        lambda record: record._replace(parcel=Parcel(marker) if record.number == number else None)
    )


@pytest.mark.parametrize("number", [10, 30])
def test_lost_on_the_way_to_the_sums(
    new_environment: NewEnvironment, tmp_path: Path, number: int
) -> None:
    marker = tmp_path / "lost"
    parcels = with_parcel(records(new_environment), number, marker).set_parallelism(1)

    found = sums(parcels).execute_and_collect()

    assert sorted(record.number for record in found) == ROLLING
    assert marker.exists()


# Key 2 comes to 18 in the first epoch, and to 72 in the second; no other key does.
@pytest.mark.parametrize("number", [18, 72])
def test_lost_when_the_sums_are_changed(
    new_environment: NewEnvironment, tmp_path: Path, number: int
) -> None:
    marker = tmp_path / "lost"
    parcels = with_parcel(sums(records(new_environment)), number, marker).rebalance()

    found = parcels.map(lambda record: record.number).execute_and_collect()

    assert sorted(found) == ROLLING
    assert marker.exists()


ON_SPARK = pytest.mark.parametrize(
    "executor", [pytest.param("spark", marks=pytest.mark.spark)], indirect=True
)


@ON_SPARK
def test_a_worker_that_dies_at_the_source(new_environment: NewEnvironment, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    survivors = records(new_environment).map(KillOnce(30, marker)).set_parallelism(1)

    found = sums(survivors).execute_and_collect()

    assert sorted(record.number for record in found) == ROLLING
    assert marker.exists()


@ON_SPARK
def test_a_worker_that_dies_when_its_state_is_changed(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    marker = tmp_path / "killed"

    found = sums(records(new_environment)).map(KillOnce(72, marker)).execute_and_collect()

    assert sorted(record.number for record in found) == ROLLING
    assert marker.exists()
