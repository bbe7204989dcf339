"""An attempt at an epoch that failed half way leaves no trace in the one that takes its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.faults import Once, kill_the_worker, lose_a_buffer
from tests.semantics.running import epochs

from penstock.common import RestartStrategies, WatermarkStrategy
from penstock.datastream.connectors import NumberSequenceSource

EPOCHS = [[*range(20)], [*range(20, 40)], [*range(40, 60)], [60]]
NUMBERS = range(61)


def rolling_sums() -> list[int]:
    by_key = [[number for number in NUMBERS if number % 4 == key] for key in range(4)]
    return sorted(sum(numbers[: end + 1]) for numbers in by_key for end in range(len(numbers)))


def check(
    new_environment: NewEnvironment, once: Once, marker: Path, *, at_the_source: bool
) -> None:
    pairs = epochs(new_environment(3), *EPOCHS).map(lambda number: (number % 4, number))
    pairs.set_parallelism(1)
    if at_the_source:
        pairs = pairs.map(once).set_parallelism(1)
    sums = pairs.key_by(lambda pair: pair[0]).sum(1)
    if not at_the_source:  # in the chain of the sums, which are changed by then
        sums = sums.map(once)

    assert sorted(pair[1] for pair in sums.execute_and_collect()) == rolling_sums()
    assert marker.exists()


class Written:
    """Appends what it is given to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, number: int) -> None:
        with self._path.open("a") as file:
            file.write(f"{number}\n")

    def numbers(self) -> list[int]:
        return [int(line) for line in self._path.read_text().splitlines()]


def fail() -> None:
    raise ValueError("once")


@pytest.mark.parametrize("happens", [lose_a_buffer, fail])
def test_a_sink_function_gets_every_record_at_least_once(
    new_environment: NewEnvironment, tmp_path: Path, happens: Callable[[], None]
) -> None:
    env, marker = new_environment(2), tmp_path / "happened"
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 1))
    early, late = Written(tmp_path / "early"), Written(tmp_path / "late")
    numbers = epochs(env, *EPOCHS)
    numbers.add_sink(early)
    numbers.rebalance().map(Once(happens, marker, lambda number: number == 30)).add_sink(late)

    env.execute()

    assert marker.exists()
    assert set(early.numbers()) == set(late.numbers()) == set(NUMBERS)


@pytest.mark.parametrize("happens", [lose_a_buffer, fail])
def test_collections_and_numbers_are_replayed(
    new_environment: NewEnvironment, tmp_path: Path, happens: Callable[[], None]
) -> None:
    env, marker = new_environment(2), tmp_path / "happened"
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 1))
    first = env.from_collection([*range(30)])
    source = NumberSequenceSource(30, 60)
    second = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    once = Once(happens, marker, lambda number: number == 50)
    sums = first.union(second).rebalance().map(once).key_by(lambda _: 0).sum()

    assert max(sums.execute_and_collect()) == sum(NUMBERS)
    assert marker.exists()


# Key 2 comes to 18 in the first epoch and to 72 in the second; no other key does.
@pytest.mark.parametrize(
    ("number", "at_the_source"), [(10, True), (30, True), (18, False), (72, False)]
)
def test_a_buffer_that_is_lost(
    new_environment: NewEnvironment, tmp_path: Path, number: int, at_the_source: bool
) -> None:
    marker = tmp_path / "lost"
    once = Once(lose_a_buffer, marker, lambda pair: pair[1] == number)

    check(new_environment, once, marker, at_the_source=at_the_source)


@pytest.mark.parametrize(
    "executor", [pytest.param("spark", marks=pytest.mark.spark)], indirect=True
)
@pytest.mark.parametrize(("number", "at_the_source"), [(30, True), (72, False)])
def test_a_worker_that_dies(
    new_environment: NewEnvironment, tmp_path: Path, number: int, at_the_source: bool
) -> None:
    marker = tmp_path / "killed"
    once = Once(kill_the_worker, marker, lambda pair: pair[1] == number)

    check(new_environment, once, marker, at_the_source=at_the_source)
