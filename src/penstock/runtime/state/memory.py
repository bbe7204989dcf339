"""The state that a process keeps in memory: bounded, and what is not in use goes first."""

from __future__ import annotations

import os
import resource
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

_CONTAINER: Final = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
_PART_FOR_STATE: Final = 4


class Held(Protocol):
    """The state of a subtask, as a process holds it.

    Attributes:
        is_in_use: Whether an epoch is under way in it.
    """

    is_in_use: bool

    def let_go(self) -> None:
        """Hold nothing any more; the next epoch reads again what it needs."""


class StateMemory:
    """The states that a process holds in memory, of all jobs.

    Where they are too large together, those are let go of that are not in use, the least recently used first:
    durable are their files, and Spark may run the next epoch elsewhere in any case.

    Attributes:
        held: How many bytes they take, about.
    """

    def __init__(self) -> None:
        self._sizes: OrderedDict[Held, int] = OrderedDict()
        self.held = 0

    def note(self, state: Held, size: int, limit: int) -> None:
        """Note that a state was used, and make room.

        Args:
            state: The state.
            size: How many bytes it takes, about.
            limit: How many bytes all may take.
        """
        self.held += size - self._sizes.get(state, 0)
        self._sizes[state] = size
        self._sizes.move_to_end(state)
        if self.held > limit:
            for other in list(self._sizes):
                if self.held <= limit:
                    break
                if not other.is_in_use:
                    other.let_go()
                    self.forget(other)

    def forget(self, state: Held) -> None:
        """Count a state no more."""
        self.held -= self._sizes.pop(state, 0)


@lru_cache(maxsize=1)
def default_limit() -> int:
    """Return how much memory the state in this process may take if nobody says so, in bytes.

    It is a quarter of the memory that the machine or the container has, divided by its cores: as many
    workers are at work at once, and about as many wait with what they hold. Where the process itself is
    limited, it is no more than half of that.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = min(_limits_of_all()) // _PART_FOR_STATE // (cores or 1)
    own, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limit if own == resource.RLIM_INFINITY else min(limit, own // 2)


def _limits_of_all() -> Iterator[int]:
    """Yield what all processes together may take: of the machine, and of the container, if it says."""
    yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _CONTAINER:
        try:
            text = Path(path).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit() and int(text) > 0:
            yield int(text)
