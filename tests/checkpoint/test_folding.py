"""The rules by which files are folded and joined, tried on handles alone."""

from __future__ import annotations

import itertools
from operator import lt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.folding import (
    Handles,
    joinable,
    next_part,
    round_start,
    with_file,
)
from penstock.checkpoint.handles import StateHandle

GROUPS = 64
LEAST_PART = 1 << 18


class Subtask:
    """A subtask whose state has a constant size, and changes by so many bytes in each epoch."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.handles: Handles = ()
        self.written = 0
        self.parts: list[int] = []
        self.joined: list[int] = []

    def epoch(self, number: int, changed: int, *, may_fold: bool = True) -> None:
        part = next_part(self.handles, GROUPS)
        if part is not None and not (may_fold or part.must_be):
            part = None
        groups = 0 if part is None else part.groups
        held = self.size * groups // GROUPS
        begins = part is not None and part.begins
        is_whole = begins and groups == GROUPS
        handle = StateHandle(
            f"{number}", held + (0 if is_whole else changed), 0, begins, groups=groups, held=held
        )
        self._write(handle)
        self.parts += [held] if groups else []
        self.handles = with_file(self.handles, handle, GROUPS)
        if (place := joinable(self.handles)) is not None:
            found = self.handles[place]
            assert all(not handle.is_snapshot for handle in found[1:])
            joined = StateHandle(
                f"{number} joined",
                sum(one.length for one in found),
                0,
                found[0].is_snapshot,
                found[0].level + 1,
                sum(one.groups for one in found),
                sum(one.held for one in found),
                found[-1].version,
            )
            self._write(joined)
            self.joined.append(joined.length)
            self.handles = (*self.handles[: place.start], joined, *self.handles[place.stop :])
            self._check_order()
        self._check_groups()

    def _write(self, handle: StateHandle) -> None:
        self.written += handle.length

    def _check_order(self) -> None:
        versions = [int(handle.version) for handle in self.handles]
        assert all(map(lt, versions, versions[1:]))

    def _check_groups(self) -> None:
        assert self.handles[0].is_snapshot
        assert len(self.handles) < 2 or int(self.handles[-2].version) < int(
            self.handles[-1].version
        )
        start = round_start(self.handles)
        held = sum(handle.groups for handle in self.handles[:start])
        assert held == GROUPS


@pytest.mark.parametrize(
    ("size", "changed"),
    [
        (100, 50),
        (100, 100),
        *itertools.product([50_000, 5_000_000, 500_000_000], [50, 9_000, 1_000_000]),
    ],
)
def test_files_stay_few_and_small_and_little_is_written(size: int, changed: int) -> None:
    subtask = Subtask(size)
    most_files = most_bytes = 0
    epochs = 3000  # after 48 * 48 + 16 of them, files are joined that were joined before
    for number in range(epochs):
        subtask.epoch(number, min(changed, size))
        most_files = max(most_files, len(subtask.handles))
        most_bytes = max(most_bytes, sum(handle.length for handle in subtask.handles))

    least = 1 << 16
    assert most_bytes < 3.5 * max(size, least) + 2 * min(changed, size)
    assert most_files < 200 + most_bytes / (4 << 20)
    assert subtask.written - size < 5 * epochs * min(changed, size) + size
    assert max(subtask.joined, default=0) <= 1 << 24
    assert max(subtask.parts[1:], default=0) < LEAST_PART * 2 + max(9 * changed, size // 32)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.booleans()), max_size=200))
def test_the_state_is_always_whole(epochs: list[tuple[int, bool]]) -> None:
    subtask = Subtask(1_000_000)
    for number, (changed, may_fold) in enumerate(epochs):
        subtask.epoch(number, changed, may_fold=may_fold)


def test_nothing_is_folded_that_may_not_be() -> None:
    subtask = Subtask(1_000_000)
    for number in range(100):
        subtask.epoch(number, 100_000, may_fold=False)
    assert len(subtask.parts) == 1

    for number in range(100, 110):
        subtask.epoch(number, 100_000)
    assert len(subtask.parts) > 1


def test_the_newest_files_stay_by_themselves() -> None:
    subtask = Subtask(10_000_000)
    for number in range(1000):
        subtask.epoch(number, 100)
        if number > 16:
            assert [int(handle.name) for handle in subtask.handles[-16:]] == list(
                range(number - 15, number + 1)
            )
    assert subtask.joined


def test_files_of_others_are_written_anew_at_once() -> None:
    foreign = StateHandle("a", 10, 0, is_snapshot=True, groups=4, held=10, first=0, end=4)

    part = next_part((foreign, foreign._replace(name="b")), 8)

    assert part is not None
    assert (part.begins, part.groups, part.must_be) == (True, 8, True)
