"""When changelogs are folded into snapshots, and when files are joined: decided by the files alone.

Whichever process runs the next epoch comes to the same decision, as it knows the same files. Folding goes in
rounds. A round begins once what changed outweighs the state; then each epoch writes a few key groups whole
beside what it changed, in proportion to that, so that no epoch has to write a large state. When all key groups
were written, the files before the round are dropped. Files of single epochs are joined many at a time as
they are, byte for byte.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from penstock.checkpoint.handles import StateHandle

Handles = tuple[StateHandle, ...]

_SMALL: Final = 1 << 16
"""Changelogs of fewer bytes are never worth a round."""
_LEAST_PART: Final = 1 << 18
"""How many bytes a part of a round has at least, so that a small state is written as a whole."""
_SPEED: Final = 4
"""How many bytes of a round are written for a byte that changes."""
_KEPT: Final = 16
"""How many files of single epochs stay, by which processes that fell behind catch up."""
_JOINED: Final = 48
"""How many files are joined at a time."""
_LARGE: Final = 1 << 22
"""Files of more bytes are not joined: they are few enough."""
_MOST_JOINED: Final = 1 << 24
"""How many bytes an epoch joins at most."""


class Part(NamedTuple):
    """The part of a round that an epoch writes.

    Attributes:
        begins: Whether the round begins with it.
        first: The first of its key groups, counted among those of the subtask.
        groups: How many key groups it has.
        is_urgent: Whether the round has fallen far behind.
        must_be: Whether the state cannot be written without it.
    """

    begins: bool
    first: int
    groups: int
    is_urgent: bool = False
    must_be: bool = False


def round_start(handles: Sequence[StateHandle]) -> int | None:
    """Return the place of the file with which the round under way began; None if there is none."""
    return next(
        (place for place, handle in enumerate(handles) if place and handle.is_snapshot), None
    )


def next_part(handles: Sequence[StateHandle], groups: int) -> Part | None:
    """Return the part of a round that is due in the next epoch, if one is.

    Args:
        handles: The files of a subtask's state.
        groups: How many key groups the subtask has.
    """
    if not handles or any(handle.is_foreign for handle in handles):
        return Part(begins=True, first=0, groups=groups, must_be=True)
    start = round_start(handles)
    size = max(sum(handle.held for handle in handles[:start]), 1)
    recent = handles if start is None else handles[start:]
    changed = sum(handle.length - handle.held for handle in recent)
    if start is None:
        if changed < max(size, _SMALL):
            return None
        return Part(begins=True, first=0, groups=groups if size <= _LEAST_PART else 0)
    owed = _SPEED * changed - sum(handle.held for handle in recent)
    if owed <= 0:
        return None
    first = sum(handle.groups for handle in recent)
    latest = handles[-1].length - handles[-1].held
    length = max(_LEAST_PART, min(owed, 2 * _SPEED * latest))
    count = math.ceil(length * groups / size)
    count = min(count, groups - first)
    return Part(begins=False, first=first, groups=count, is_urgent=owed > size)


def with_file(handles: Sequence[StateHandle], new: StateHandle, groups: int) -> Handles:
    """Return the files that make up the state once a file was added: without those it makes needless."""
    found = (*handles, new)
    if new.is_snapshot and new.groups == groups:
        return (new,)
    start = round_start(found)
    if start is not None and sum(handle.groups for handle in found[start:]) == groups:
        return found[start:]
    return found


def joinable(handles: Sequence[StateHandle]) -> slice | None:
    """Return the place of files that should be joined, if there are any."""
    if len(handles) < _JOINED:
        return None
    begin = 0
    for place in range(1, len(handles) + 1):
        if place < len(handles) and _are_alike(handles[place - 1], handles[place]):
            continue
        kept = _KEPT if handles[begin].level == 0 else 0
        if place - begin >= _JOINED + kept:
            lengths = accumulate(handle.length for handle in handles[begin : begin + _JOINED])
            count = sum(length <= _MOST_JOINED for length in lengths)
            return slice(begin, begin + count)
        begin = place
    return None


def _are_alike(one: StateHandle, next_one: StateHandle) -> bool:
    """Whether two files that follow each other may be joined."""
    return (
        one.level == next_one.level
        and not next_one.is_snapshot
        # What was written whole is not written again with the little that changed since.
        and not (one.is_snapshot and one.length > _SMALL)
        and max(one.length, next_one.length) <= _LARGE
    )
