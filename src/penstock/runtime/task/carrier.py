"""Runs the subtasks that one Spark partition carries on one level of one epoch."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from penstock.errors import JobFailedError, PenstockError, WorkerPythonError
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import ABORT, Buffer
from penstock.runtime.exchange.elements import Block, Watermark
from penstock.runtime.job_pickle import dumps
from penstock.runtime.layout import Layout
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.planned.planned_source import Piece, PlannedSource
from penstock.runtime.program import DRIVER, Program, Vertex
from penstock.runtime.source import NativeSource
from penstock.runtime.task.message import Message
from penstock.runtime.task.profiling.sampler import profiled
from penstock.runtime.task.registry import Tasks
from penstock.runtime.task.subtask import Subtask, driver_buffer
from penstock.runtime.task_place import TaskPlace
from penstock.runtime.timestamp import MIN_TIMESTAMP
from penstock.runtime.user_code import FAILURES

_T = TypeVar("_T")


class Carrier:
    """Runs the subtasks of one carrier on one level of one epoch.

    What a subtask raises ends the epoch, but not the task of Spark, which would try it again in vain: it
    goes to the driver as a message, and later levels are told to skip their work.

    Args:
        layout: Where subtasks run.
        epoch: The epoch.
        level: The level.
        number: The number of this carrier on its level.
        attempt: Tells the attempts of this carrier's task apart.
        tasks: The subtasks that live in this process.

    Attributes:
        epoch: The epoch.
    """

    def __init__(
        self, layout: Layout, epoch: Epoch, level: int, number: int, attempt: str, tasks: Tasks
    ) -> None:
        self._layout = layout
        self.epoch = epoch
        self._level = level
        self._number = number
        self._attempt = attempt
        self._tasks = tasks
        self._running: dict[tuple[int, int], Subtask] = {}
        self._outbox: list[Buffer] = []
        self._is_aborted = False
        tasks.drop_stale(epoch)

    @property
    def number(self) -> int:
        """The number of this carrier on its level."""
        return self._number

    @property
    def program(self) -> Program:
        return self._layout.program

    def run(self, buffers: Iterable[Buffer]) -> Iterator[Buffer]:
        """Run the subtasks of a level above 0 on what was sent to them.

        Args:
            buffers: What was sent to this carrier, in the order of `Buffer.order`.

        Yields:
            What the subtasks send, and what is only passing by.
        """
        for buffer in buffers:
            if buffer.vertex == ABORT:
                self._abort()
            elif not self._is_mine(buffer.vertex):
                self._outbox.append(self._relayed(buffer))
            else:
                self._receive(buffer)
            yield from self._drained()
        yield from self.finish()

    def feed(
        self, vertex: Vertex, block: Block, split: Hashable = None, subtask: int | None = None
    ) -> Iterator[Buffer]:
        """Give records that Spark read to a source's chain, on level 0, those of one split or subtask."""
        sender = self._number if subtask is None else subtask
        self._step(vertex, sender)
        start: int | None = 0
        while start is not None and start < len(block):
            # What a part of the records becomes is sent before the next: it may be much.
            start = self._step(vertex, sender, Subtask.process_part, block, start, split)
            yield from self._drained()

    def feed_messages(
        self, vertex: Vertex, messages: list[Any], split: Hashable
    ) -> Iterator[Buffer]:
        """Give messages that Spark read to a source's chain, as the records that its schema makes of them."""
        if self._is_aborted:
            return
        head = self._tasks.head_prototype(vertex)
        assert isinstance(head, SourceOperator)
        assert head.as_block is not None
        try:
            block = head.as_block(messages)
        except FAILURES as error:
            self._fail(vertex, self._number, error)
            yield from self._drained()
        else:
            yield from self.feed(vertex, block, split)

    def fail(self, vertex: Vertex, error: PenstockError) -> Iterator[Buffer]:
        """End the epoch, on level 0, as the records that Spark read cannot be had."""
        self._fail(vertex, self._number, error)
        yield from self._drained()

    def control(self, share: int, shares: int) -> Iterator[Buffer]:
        """Do, on level 0, what has to be done even where a source has no partition.

        Every source's chain runs at least here; and sources that a worker reads by itself are read: of
        their subtasks each of `shares` carriers runs every so many-th, beginning at `share`.
        """
        for vertex in self._layout.program.on_level(0):
            if vertex.source in self.epoch.finished:
                continue
            source = self._own_source(vertex)
            if isinstance(source, PlannedSource):
                yield from self._read_planned(source, vertex, share, shares)
                continue
            if vertex.is_shared:
                if share == 0:
                    self._step(vertex, self._number)
                    yield from self._drained()
                continue
            for subtask in range(share, vertex.parallelism, shares):
                if source is not None:
                    own_epoch = self.epoch.own_epoch(vertex.source)
                    blocks = source.read(own_epoch, subtask, vertex.parallelism)
                    yield from self._read(vertex, subtask, ((None, block) for block in blocks))
                else:
                    self._step(vertex, subtask)
                    yield from self._drained()

    def _read_planned(
        self, source: PlannedSource, vertex: Vertex, share: int, shares: int
    ) -> Iterator[Buffer]:
        """Read pieces of a source, each in the next subtask; one subtask takes part even if there are none."""
        pieces = self.epoch.planned.get(vertex.source, ()) if vertex.source is not None else ()
        subtasks = min(max(len(pieces), 1), vertex.parallelism)
        for subtask in range(share, subtasks, shares):
            own = pieces[subtask :: vertex.parallelism]
            if source.has_splits:
                for piece in own:
                    self._step(vertex, subtask, Subtask.begin_split, piece.split)
            yield from self._read(vertex, subtask, _blocks_of(source, own))

    def _read(
        self, vertex: Vertex, subtask: int, blocks: Iterator[tuple[Hashable, Block | Watermark]]
    ) -> Iterator[Buffer]:
        self._step(vertex, subtask)
        while not self._is_aborted and not self.epoch.ends:
            before = time.perf_counter()
            try:
                found = next(blocks, None)
            except Exception as error:  # noqa: BLE001 - whatever it is, the driver has to hear of it
                self._fail(vertex, subtask, error)
                break
            self._running[vertex.index, subtask].watch.busy += time.perf_counter() - before
            if found is None:
                break
            split, element = found
            if isinstance(element, Watermark):
                self._step(vertex, subtask, Subtask.process_watermark, element.timestamp)
            else:
                yield from self.feed(vertex, element, split, subtask)
        self._end((vertex.index, subtask))
        yield from self._drained()

    def finish(self) -> Iterator[Buffer]:
        """End the epoch for all subtasks that are still running."""
        for owner in list(self._running):
            self._end(owner)
            yield from self._drained()

    def profiled(self, work: Iterator[_T], as_item: Callable[[Buffer], _T]) -> Iterator[_T]:
        """Do work of this carrier, and tell the driver at its end where its time went, if it asks.

        Args:
            work: The work, done as it is asked for its items.
            as_item: Makes of a buffer an item like the others.
        """
        if not self.program.is_profiled:
            return work
        return profiled(
            work, self._level, lambda profile: as_item(self.to_driver("profile", profile))
        )

    def to_driver(self, kind: str, content: Any, channel: int = DRIVER) -> Buffer:
        """Return the buffer that tells the driver something of the carrier itself: see `Message`."""
        payload = dumps(tuple(Message(kind, DRIVER, self._number, content)))
        target = self._layout.driver_carrier(self._level, self._number)
        return Buffer(target, DRIVER, self._number, 1, MIN_TIMESTAMP, channel, self._level, payload)

    def place(self) -> TaskPlace:
        """Return where in the job its work is done, as far as there is only one place."""
        program = self._layout.program
        running = list(self._running)
        vertices = [program.vertices[vertex] for vertex, _ in running] or program.on_level(
            self._level
        )
        names = {vertex.name for vertex in vertices}
        return TaskPlace(
            self.epoch.job_id,
            names.pop() if len(names) == 1 else None,
            running[0][1] % vertices[0].parallelism if len(running) == 1 else None,
            vertices[0].parallelism,
            self.epoch.number,
        )

    def _drained(self) -> Iterator[Buffer]:
        if not self._outbox:
            return
        before = time.perf_counter()
        yield from self._outbox
        self._outbox.clear()
        for task in self._running.values():
            task.watch.blocked += time.perf_counter() - before

    def _own_source(self, vertex: Vertex) -> NativeSource | PlannedSource | None:
        head = self._tasks.head_prototype(vertex)
        return head.source if isinstance(head, SourceOperator) else None

    def _is_mine(self, vertex: int) -> bool:
        return vertex >= 0 and self._layout.program.vertices[vertex].level == self._level

    def _relayed(self, buffer: Buffer) -> Buffer:
        layout = self._layout
        if buffer.vertex == DRIVER:
            return buffer._replace(carrier=layout.driver_carrier(self._level, buffer.subtask))
        vertex = layout.program.vertices[buffer.vertex]
        return buffer._replace(carrier=layout.next_carrier(self._level, vertex, buffer.subtask))

    def _receive(self, buffer: Buffer) -> None:
        """Give a buffer to its subtask; the order of buffers says that the one before is done."""
        owner = buffer.vertex, buffer.subtask
        if owner not in self._running:
            for other in list(self._running):
                self._end(other)
        self._step(self._layout.program.vertices[owner[0]], owner[1], Subtask.receive, buffer)

    def _step(
        self, vertex: Vertex, sender: int, step: Callable[..., _T] | None = None, *args: Any
    ) -> _T | None:
        """Begin a subtask's epoch, if it has not begun, and let it do a step.

        Returns:
            What the step returned; None if there was none, or the epoch has failed.
        """
        if self._is_aborted:
            return None
        owner = vertex.index, sender
        task = self._running.get(owner)
        now = time.perf_counter()
        try:
            if task is None:
                task = self._tasks.get(vertex, sender, self.epoch)
                self._running[owner] = task
                task.watch.begin_epoch(now)
                task.begin_epoch(self.epoch, self._attempt, self._outbox)
            else:
                task.watch.since = now
            found = None if step is None else step(task, *args)
            task.watch.note_done()
        except FAILURES as error:
            self._fail(vertex, sender, error)
            return None
        return found

    def _end(self, owner: tuple[int, int]) -> None:
        if owner not in self._running:
            return
        vertex = self._layout.program.vertices[owner[0]]
        self._step(vertex, owner[1], Subtask.end_epoch)
        self._running.pop(owner, None)
        if self._layout.is_finishing(vertex, self.epoch):
            self._tasks.discard(*owner)

    def _fail(self, vertex: Vertex, sender: int, error: BaseException) -> None:
        self._tasks.fail(vertex.index, sender)
        message = Message("error", vertex.index, sender, _portable(error, vertex))
        self._outbox.append(driver_buffer(self._layout, message, vertex, 0))
        self._abort()

    def _abort(self) -> None:
        """Skip what is left to do, and tell the next level to do so too."""
        if self._is_aborted:
            return
        self._is_aborted = True
        for task in self._running.values():
            task.give_up()
        self._running.clear()
        if self._level + 1 < self._layout.levels:
            for carrier in range(self._layout.carriers(self._level + 1)):
                self._outbox.append(
                    Buffer(carrier, ABORT, 0, 0, MIN_TIMESTAMP, 0, self._number, b"")
                )


def _blocks_of(
    source: PlannedSource, pieces: Sequence[Piece]
) -> Iterator[tuple[Hashable, Block | Watermark]]:
    for piece in pieces:
        for element in source.read(piece.content):
            yield piece.split, element


def _portable(error: BaseException, vertex: Vertex) -> PenstockError:
    """Return the error in a form that survives pickling."""
    if isinstance(error, PenstockError):
        error.__cause__ = None
        return error
    if isinstance(error, ModuleNotFoundError):
        return WorkerPythonError(
            f"Task {vertex.name!r} cannot run with the Python of the workers: {type(error).__name__}: {error}",
            hint="Install there what the program imports, or have it brought along: env.set_python_requirements(), or "
            "env.add_python_file(). See docs/files-and-packages.md.",
        )
    return JobFailedError(
        "".join(traceback.format_exception(error)) + f"\nTask {vertex.name!r} failed.",
        hint="This is a defect of penstock: please report it with the traceback above.",
    )
