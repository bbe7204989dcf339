"""The programs and subtasks that live in this process, kept from epoch to epoch."""

from __future__ import annotations

import contextlib
import pickle
import time
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cached_property
from typing import Final

from penstock.runtime import job_pickle
from penstock.runtime.epoch import Epoch
from penstock.runtime.layout import Layout
from penstock.runtime.operator import StreamOperator
from penstock.runtime.program import Program, Vertex
from penstock.runtime.state.memory import StateMemory
from penstock.runtime.task.garbage import collect_rarely
from penstock.runtime.task.subtask import Subtask


class Tasks:
    """The subtasks of one run of a job that live in this process.

    Args:
        layout: Where subtasks run.
        memory: Bounds the state that the process holds.

    Attributes:
        own_classes: The classes that its code has brought along.
        used_at: When a task of the run last began here, in seconds of `time.monotonic`.
    """

    def __init__(self, layout: Layout, memory: StateMemory | None = None) -> None:
        self.layout = layout
        self._memory = memory or StateMemory()
        self._looked_at = 0
        self._subtasks: dict[tuple[int, int], Subtask] = {}
        self._heads: dict[int, StreamOperator] = {}
        self._is_interrupted = False
        self.own_classes: dict[str, type] = {}
        self.used_at = 0.0

    def __len__(self) -> int:
        return len(self._subtasks)

    def get(self, vertex: Vertex, sender: int, epoch: Epoch) -> Subtask:
        """Return a subtask that can run an epoch, made and opened if none lives here yet."""
        found = self._subtasks.get((vertex.index, sender))
        if found is not None and not found.can_run(epoch):
            self.discard(vertex.index, sender)
            found.close()
            found = None
        if found is None:
            found = self._subtasks[vertex.index, sender] = Subtask(
                self.layout, vertex, sender, memory=self._memory
            )
            if self._is_interrupted:
                found.interrupt()
        return found

    def drop_stale(self, epoch: Epoch) -> None:
        """Close subtasks, from time to time, whose state can no longer be brought up to an epoch."""
        if 0 <= epoch.number - self._looked_at < _EPOCHS_BETWEEN_LOOKS:
            return
        self._looked_at = epoch.number
        for owner, subtask in list(self._subtasks.items()):
            # One that has had its part in this epoch is ahead of it.
            if subtask.last_epoch != epoch.number and not subtask.can_run(epoch):
                self.fail(*owner)

    @cached_property
    def main_classes(self) -> dict[str, type]:
        """The classes of the user's script, by their names, as the job has them."""
        pickled = self.layout.program.main_classes
        return job_pickle.load_code(pickled, self.own_classes) if pickled else {}

    def interrupt(self) -> None:
        """Let no operator wait any longer, also in subtasks that are made later."""
        self._is_interrupted = True
        for subtask in list(self._subtasks.values()):
            subtask.interrupt()
        for head in list(self._heads.values()):
            head.interrupt()

    def head_prototype(self, vertex: Vertex) -> StreamOperator:
        """Return the prototype of a vertex's first operator."""
        if vertex.index not in self._heads:
            self._heads[vertex.index] = job_pickle.load_code(
                vertex.operators[0].prototype, self.own_classes
            )
            if self._is_interrupted:
                self._heads[vertex.index].interrupt()
        return self._heads[vertex.index]

    def discard(self, vertex: int, sender: int) -> None:
        """Forget a subtask that is done."""
        self._subtasks.pop((vertex, sender), None)

    def fail(self, vertex: int, sender: int) -> None:
        """Close and forget a subtask that failed; why it did is more than what closing it may raise."""
        found = self._subtasks.pop((vertex, sender), None)
        if found is not None:
            with contextlib.suppress(Exception):
                found.close()

    def close(self) -> None:
        """Close all subtasks, also if one of them cannot be closed: what it raised is raised at last."""
        with ExitStack() as stack:
            for subtask in self._subtasks.values():
                stack.callback(subtask.close)
            self._subtasks.clear()


_RUNS: OrderedDict[str, Tasks] = OrderedDict()
_MOST_RUNS: Final = 16
_LONG_UNUSED: Final = 600.0
_EPOCHS_BETWEEN_LOOKS: Final = 16
_MEMORY: Final = StateMemory()


def tasks_of(job_id: str, program: bytes, cores: int, ended: Iterable[str] = ()) -> Tasks:
    """Return the subtasks of a run of a job that live in this process.

    Those of runs that have ended are closed, and nobody hears of what closing them raises: it is not this
    job's. All others stay open, unless there are many and they have long not been used.

    Args:
        job_id: Tells the runs of jobs apart.
        program: The program, pickled; unpickled where this process sees it for the first time.
        cores: How many tasks run at once.
        ended: Runs that have ended.
    """
    for other in ended:
        if other in _RUNS and other != job_id:
            _give_up(other)
    now = time.monotonic()
    tasks = _RUNS.get(job_id)
    if tasks is None:
        _make_room(now)
        collect_rarely()
        loaded: Program = pickle.loads(program)
        tasks = _RUNS[job_id] = Tasks(Layout(loaded, cores), _MEMORY)
    # Of two jobs that had a task here, each may have a class of that name.
    job_pickle.install(tasks.main_classes, tasks.layout.program.class_names, tasks.own_classes)
    tasks.used_at = now
    _RUNS.move_to_end(job_id)
    return tasks


def _make_room(now: float) -> None:
    """Forget the least recently used of the runs that have no subtasks here, or long had no task."""
    spare = [
        job_id
        for job_id, tasks in _RUNS.items()
        if not len(tasks) or now - tasks.used_at > _LONG_UNUSED
    ]
    for job_id in spare[: max(len(_RUNS) - _MOST_RUNS + 1, 0)]:
        _give_up(job_id)


def _give_up(job_id: str) -> None:
    with contextlib.suppress(Exception):
        forget(job_id)


def forget(job_id: str) -> None:
    """Close and forget the subtasks of a run that live in this process."""
    tasks = _RUNS.pop(job_id, None)
    if tasks is not None:
        tasks.close()
