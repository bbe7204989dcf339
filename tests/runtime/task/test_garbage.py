from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from penstock.runtime.task.garbage import collect_rarely, rare_collections


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


SURVIVORS = """
import gc
import weakref

from penstock.runtime.task.garbage import Survivors

class Cycle:
    # Garbage that only a collection finds.
    def __init__(self):
        self.itself = self

# The first collection takes 2 s, so the next of everything is due 200 s after it.
clock = iter([0.0, 2.0, 201.9, 202.0, 203.0, 204.0])
survivors = Survivors(clock=lambda: next(clock))
survivors.set_aside()
old = weakref.ref(Cycle())
survivors.set_aside()

gc.collect()
new = weakref.ref(Cycle())
gc.collect()
assert old() is not None
assert new() is None

survivors.set_aside()
assert old() is None
"""


def test_what_has_survived_is_not_looked_through_before_it_is_due() -> None:
    """In a process of its own: to look through all that tests hold, and have set aside, takes seconds."""
    subprocess.run([sys.executable, "-c", SURVIVORS], check=True)
