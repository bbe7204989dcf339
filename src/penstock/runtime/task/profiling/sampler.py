"""A thread that looks, every now and then, at what a task does, and what it saw."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Final, TypeVar

from penstock.common.cost import Cost
from penstock.runtime.task.profiling.attribution import attribute

_T = TypeVar("_T")
_SECONDS: Final = 0.002
_SWITCH_SECONDS: Final = 0.0005
"""How long a busy task may keep the sampling thread waiting: Python's usual 5 ms would miss short tasks."""

_switching = threading.Lock()
_hurried: list[float] = []

Samples = dict[tuple[str, Cost], float]
"""Seconds by the id of an operator, empty for none, and what was done for it."""


@dataclass(frozen=True)
class TaskProfile:
    """Where the time of one task of an epoch went.

    Attributes:
        level: The level that the task ran.
        started: When it began, in seconds since 1970.
        seconds: How long it took.
        samples: What the samples that were taken of it stand for.
        count: How many they are.
    """

    level: int
    started: float
    seconds: float
    samples: Samples = field(default_factory=dict)
    count: int = 0


class Sampler:
    """Counts what a task does, sample by sample.

    A sample stands for the time since the one before it. The first stands for the usual time between two,
    as it comes at a time by chance: so a task too short for one sample each time is still seen, and in
    proportion.

    Args:
        seconds: The usual time between two samples.

    Attributes:
        samples: What the samples stand for.
        count: How many there are.
    """

    def __init__(self, seconds: float = _SECONDS) -> None:
        self.samples: Samples = {}
        self.count = 0
        self._seconds = seconds
        self._last: float | None = None

    def take(self, frame: FrameType | None, now: float) -> None:
        """Take a sample.

        Args:
            frame: The innermost frame of the task's thread.
            now: The time, in seconds.
        """
        key = attribute(frame)
        elapsed = self._seconds if self._last is None else now - self._last
        self.samples[key] = self.samples.get(key, 0.0) + elapsed
        self.count += 1
        self._last = now


class SampledTask:
    """Samples the thread that enters it until it is left.

    Args:
        level: The level that the task runs.
    """

    profile: TaskProfile

    def __init__(self, level: int) -> None:
        self._level = level
        self._sampler = Sampler()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-profile", daemon=True)

    def __enter__(self) -> SampledTask:
        self._watched = threading.get_ident()
        self._started_at = time.time()
        self._started = time.perf_counter()
        _hurry()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._started
        self._done.set()
        self._thread.join()
        _hurry_no_longer()
        sampler = self._sampler
        self.profile = TaskProfile(
            self._level, self._started_at, seconds, sampler.samples, sampler.count
        )

    def _run(self) -> None:
        wait = random.random() * _SECONDS
        while not self._done.wait(wait):
            frame = sys._current_frames().get(self._watched)  # noqa: SLF001 - so Python documents it
            self._sampler.take(frame, time.perf_counter())
            wait = _SECONDS


def profiled(work: Iterator[_T], level: int, as_item: Callable[[TaskProfile], _T]) -> Iterator[_T]:
    """Do the work of a task, and yield at its end where its time went.

    Args:
        work: The work, which is done as it is asked for its items.
        level: The level that the task runs.
        as_item: Makes of a profile an item like the others.
    """
    with SampledTask(level) as task:
        yield from work
    yield as_item(task.profile)


def _hurry() -> None:
    with _switching:
        _hurried.append(sys.getswitchinterval())
        sys.setswitchinterval(_SWITCH_SECONDS)


def _hurry_no_longer() -> None:
    with _switching:
        usual = _hurried.pop()
        if not _hurried:
            sys.setswitchinterval(usual)
