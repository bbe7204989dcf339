"""The executor in this process: for tests and debugging. No Spark, no JVM, one thread."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NoReturn

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import PYTHON_EXECUTABLE
from penstock.common.running_job import RunningJob
from penstock.errors import OtherInterpreterError, UnsupportedOperationError
from penstock.executors.driver.compiled_job import CompiledJob, compile_job
from penstock.executors.driver.epoch_loop import EpochLoop
from penstock.executors.driver.observation.running_jobs import observed
from penstock.executors.driver.reports.task_lines import places_in_records
from penstock.executors.driver.rest.outside import seen_from_outside
from penstock.executors.driver.staged_files import module_path
from penstock.executors.driver.start import DriverSide, start
from penstock.executors.port import JobRequest
from penstock.graph.source_descriptions import TextFileSource
from penstock.graph.stream_graph import StreamNode
from penstock.graph.watermarks import refuse_alignment
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.job_files.workplace import at_work
from penstock.runtime.job_pickle import job_classes
from penstock.runtime.layout import Layout
from penstock.runtime.operators.prepared_sink import PreparedSinkOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.planned.planned_source import PlannedSource
from penstock.runtime.private_folder import private_folder
from penstock.runtime.source import NativeSource, TextLines
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.garbage import rare_collections
from penstock.runtime.task.registry import Tasks
from penstock.runtime.task.stack_room import with_room

_CARRIERS = 2
"""As on a small machine, so that subtasks meet on one carrier and part on two."""


class LocalExecutor:
    """Runs programs in this process, level by level as on Spark, and with the same tasks."""

    def submit(self, request: JobRequest) -> RunningJob:
        """Start a job.

        Raises:
            UnsupportedOperationError: If the program needs Spark, or another Python.
        """
        with observed(request) as seen:
            seen_from_outside(request, by_default=False)
            _check_interpreter(request.configuration)
            for node in request.graph.nodes.values():
                _resolve(node)
            job = compile_job(request, seen.job_id, lambda node: node.source.is_unordered)
            if job.has_epochs:
                refuse_alignment(request.graph)
            modules = module_path(request.python_files)
            return start(job, partial(LocalRun, job, modules=modules), seen)

    def to_data_frame(self, request: JobRequest, collect_id: str, schema: Any) -> NoReturn:
        """See `Executor.to_data_frame`.

        Raises:
            UnsupportedOperationError: In any case.
        """
        raise UnsupportedOperationError(
            "to_data_frame() needs Spark, and execution.target is 'local'.",
            hint="Use execute_and_collect(), or set execution.target to 'spark'.",
        )


class LocalRun:
    """A job in this process, which can be run again after it has failed.

    Args:
        job: The program.
        driver: What the driver has of it.
        modules: Where modules are found that the program named.
    """

    patience = 1.5

    def __init__(self, job: CompiledJob, driver: DriverSide, modules: Sequence[str] = ()) -> None:
        self._loop = EpochLoop(
            driver.runner,
            job.request.configuration,
            job.run_end,
            has_streams=job.has_streams,
            name=job.request.name,
        )
        self._publisher = driver.publisher
        self._attempts = itertools.count()
        self._modules = modules
        self._layout = Layout(driver.program, _CARRIERS)
        self._tasks = Tasks(self._layout)

    def __call__(self, stop: threading.Event) -> None:
        """Run all epochs, or until `stop` is set."""
        with rare_collections(), places_in_records(), self._at_work():
            with_room(self._run_all, stop)

    def _at_work(self) -> AbstractContextManager[None]:
        files = self._layout.program.files
        if not files and not self._modules:
            return nullcontext()
        return at_work(files, private_folder(), self._modules)

    def interrupt(self) -> None:
        """Let operators no longer wait for calls."""
        self._tasks.interrupt()

    def _run_all(self, stop: threading.Event) -> None:
        try:
            with self._publisher.opened():
                self._loop(self.run_epoch, stop)
        finally:
            self._tasks.close()

    def run_epoch(self, epoch: Epoch) -> Iterable[Buffer]:
        """Run one epoch, level by level, and return what its tasks told the driver."""
        tasks = self._tasks
        with job_classes(tasks.main_classes, self._layout.program.class_names, tasks.own_classes):
            return self._run_levels(epoch)

    def _run_levels(self, epoch: Epoch) -> Iterable[Buffer]:
        layout = self._layout
        carriers = layout.carriers(0)
        sent: list[Buffer] = []
        for number in range(carriers):
            carrier = self._carrier(epoch, 0, number)
            work = itertools.chain(carrier.control(number, carriers), carrier.finish())
            sent.extend(carrier.profiled(work, _unchanged))
        for level in range(1, layout.levels):
            received: dict[int, list[Buffer]] = defaultdict(list)
            for buffer in sent:
                received[buffer.carrier].append(buffer)
            sent = []
            for number in range(layout.carriers(level)):
                buffers = sorted(received[number], key=lambda buffer: buffer.order)
                carrier = self._carrier(epoch, level, number)
                sent.extend(carrier.profiled(carrier.run(buffers), _unchanged))
        return sent

    def _carrier(self, epoch: Epoch, level: int, number: int) -> Carrier:
        attempt = f"{next(self._attempts)}"
        return Carrier(self._layout, epoch, level, number, attempt, self._tasks)


def _check_interpreter(configuration: Configuration) -> None:
    """Make sure that functions can run in this process.

    Raises:
        OtherInterpreterError: If they are to run in another Python.
    """
    wanted = configuration.get(PYTHON_EXECUTABLE)
    if wanted is None:
        return
    found, own = shutil.which(wanted), sys.executable
    folders = {os.path.dirname(os.path.abspath(path)) for path in (found or "", own)}
    if found is not None and len(folders) == 1 and os.path.samefile(found, own):
        return
    raise OtherInterpreterError(
        f"python.executable asks for {wanted!r}, but the local executor runs functions in this process, "
        f"which is {own!r}.",
        hint="Start the program with that Python, or leave python.executable out. With execution.target 'spark' "
        "functions run in processes of their own, which can have another.",
    )


def _unchanged(buffer: Buffer) -> Buffer:
    return buffer


def _resolve(node: StreamNode) -> None:
    """Give a source's operator what it reads, if that can be had without Spark.

    Raises:
        UnsupportedOperationError: If the node needs Spark.
    """
    hint = "Set execution.target to 'spark', or read from a collection."
    if isinstance(node.operator, PreparedSinkOperator):
        raise UnsupportedOperationError(
            f"{node.name!r} writes with Spark, which the local executor has not.", hint=hint
        )
    if node.source is None:
        return
    if isinstance(node.source, TextFileSource):
        node.source = TextLines(node.source.path, node.source.charset)
    if not isinstance(node.source, (NativeSource, PlannedSource)):
        raise UnsupportedOperationError(
            f"{node.name!r} is read by Spark, which the local executor has not.", hint=hint
        )
    assert isinstance(node.operator, SourceOperator)
    node.operator.source = node.source
