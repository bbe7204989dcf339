"""How a job starts, and what it lets go of at its end, whatever its epochs run on."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from penstock.common.configuration.options import PROFILE
from penstock.common.plain_text import shown_name
from penstock.common.running_job import RunningJob
from penstock.errors import NoCheckpointLocationWarning
from penstock.executors.driver.checkpoints import Checkpoints
from penstock.executors.driver.compiled_job import CompiledJob
from penstock.executors.driver.epoch_feed import EpochFeed
from penstock.executors.driver.epoch_runner import EpochRunner
from penstock.executors.driver.interrupts import take_interrupts
from penstock.executors.driver.job import Job
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.planning import Planning
from penstock.executors.driver.publishing import Publisher, drop_uncommitted, open_files_of
from penstock.executors.driver.recovery.restoring import with_key_groups_of
from penstock.executors.driver.reporters.reporting import Reporting
from penstock.executors.driver.reports.profile_log import ProfileLog
from penstock.interruptible import postponed
from penstock.runtime.program import Program
from penstock.runtime.user_code import stack_level_of_user


class Run(Protocol):
    """Runs the epochs of a job.

    Attributes:
        patience: How many seconds are waited for its return once the job is cancelled.
    """

    patience: float

    def __call__(self, stop: threading.Event) -> None:
        """Run the job from its last epoch to its end, or until `stop` is set.

        It may be called again after it has raised what the job failed with.
        """

    def interrupt(self) -> None:
        """Interrupt what is being done for the job now."""


@dataclass(frozen=True)
class DriverSide:
    """What a run is given.

    Attributes:
        program: The program, with the key groups that are known.
        runner: Runs and commits its epochs.
        checkpoints: Where they are committed.
        publisher: Publishes what sinks prepared in them; it is to be opened before the first of them.
        at_end: Is called back when the job has ended, or did not start, the last first.
    """

    program: Program
    runner: EpochRunner
    checkpoints: Checkpoints
    publisher: Publisher
    at_end: ExitStack


def start(
    job: CompiledJob, make_run: Callable[[DriverSide], Run], observed: ObservedJob | None = None
) -> RunningJob:
    """Start a job.

    Args:
        job: The program.
        make_run: Makes what runs its epochs.
        observed: What is noted of it. Default: what nobody sees.

    Raises:
        PenstockError: If the job cannot start; then it has left nothing behind.
    """
    seen = observed or ObservedJob(job.job_id, job.request)
    with _released_unless_begun(seen) as at_end:
        return _start(job, make_run, at_end, seen)


@contextmanager
def _released_unless_begun(observed: ObservedJob) -> Iterator[ExitStack]:
    taken = ExitStack()
    try:
        yield taken
    except BaseException:
        # What Ctrl-C interrupts once it has begun ends like any other.
        if not observed.has_begun:
            taken.close()
        raise


def _start(
    job: CompiledJob,
    make_run: Callable[[DriverSide], Run],
    at_end: ExitStack,
    observed: ObservedJob,
) -> RunningJob:
    configuration = job.request.configuration
    at_end.callback(Reporting(configuration, observed.view).close)
    checkpoints = at_end.enter_context(closing(_checkpoints_of(job)))
    if job.has_streams and not checkpoints.is_durable:
        job.run_end.check_location(f"Job {shown_name(job.request.name)!r}")
        _warn_of_state(job)
    last = checkpoints.last()
    program = job.program if last is None else with_key_groups_of(last.job, job.program)
    feed = EpochFeed(observed.compiled(job, program, checkpoints), observed.hears)
    if configuration.get(PROFILE):
        program = replace(program, is_profiled=True)
        feed.profile = observed.profile = ProfileLog(program)
    publisher = Publisher(job.sinks, checkpoints.location, lambda: checkpoints.kept)
    only_present = job.has_streams and job.run_end.is_present
    planning = at_end.enter_context(
        closing(Planning(job.planned, program, only_present=only_present))
    )
    runner = EpochRunner(
        program,
        job.job_id,
        checkpoints,
        publisher,
        feed,
        job.bounded,
        planning,
        main_classes=job.main_classes,
    )
    run = make_run(DriverSide(program, runner, checkpoints, publisher, at_end))

    def interrupt() -> None:
        planning.cancel()
        publisher.cancel()
        run.interrupt()

    begin = partial(
        Job,
        job.job_id,
        job.request,
        program,
        feed,
        run,
        interrupt,
        at_end.close,
        observed,
        patience=run.patience,
    )
    return _begun(begin, is_awaited=job.request.is_awaited)


def _checkpoints_of(job: CompiledJob) -> Checkpoints:
    return Checkpoints(
        job.request.configuration,
        has_epochs=job.has_epochs,
        has_files=bool(job.sinks),
        open_files=partial(open_files_of, job.sinks),
        drop=partial(drop_uncommitted, job.sinks),
    )


def _begun(begin: Callable[[], Job], *, is_awaited: bool) -> Job:
    """Return a job that has begun.

    Raises:
        KeyboardInterrupt: If Ctrl-C came meanwhile, unless whoever awaits the job is told as he does.
    """
    take_interrupts()
    job: Job | None = None
    try:
        with postponed():
            job = begin()
    except KeyboardInterrupt:
        if job is None or not is_awaited:
            raise
        job.is_interrupted = True
    return job


def _warn_of_state(job: CompiledJob) -> None:
    """Say so where state will be lost with the job."""
    operators = [spec for vertex in job.program.vertices for spec in vertex.operators]
    if any(spec.is_stateful for spec in operators):
        warnings.warn(
            NoCheckpointLocationWarning(
                f"The streaming job {shown_name(job.request.name)!r} has state and no checkpoint location: when it ends, "
                "by whatever cause, it can only begin anew.\n\nHint: Set execution.checkpointing.dir to "
                "a folder that the driver and all workers reach."
            ),
            stacklevel=stack_level_of_user(),
        )
