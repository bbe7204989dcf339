from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from penstock.runtime.garbage import collect_rarely, rare_collections


@pytest.fixture(autouse=True)
def usual() -> Iterator[tuple[int, int, int]]:
    """The thresholds of a new process, whatever other tests have left."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.set_threshold(*before)


def test_collections_are_rare_inside_and_as_before_behind(usual: tuple[int, int, int]) -> None:
    with rare_collections():
        inside = gc.get_threshold()

    assert inside[0] > usual[0]
    assert gc.get_threshold() == usual


def test_collections_stay_rare_in_a_process_of_operators(usual: tuple[int, int, int]) -> None:
    collect_rarely()

    assert gc.get_threshold()[0] > usual[0]
