"""An attempt at an epoch that failed half way leaves no trace in the one that takes its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.faults import Once, kill_the_worker, lose_a_buffer
from tests.semantics.running import epochs

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
