from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.checkpoint.generations import Generation
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Configuration, JobStatus, WatermarkStrategy
from penstock.common.running_job import RunningJob
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobFailedError, LocationInUseError, NoCheckpointLocationWarning
from penstock.executors.driver.compiled_job import CompiledJob, compile_job
from penstock.executors.driver.job import Job
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.start import DriverSide, start
from penstock.testing import TestingSource


def program(*, is_keyed: bool = False, **settings: Any) -> CompiledJob:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = TestingSource([[1], [2]])
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    (stream.key_by(str).sum() if is_keyed else stream).print()
    return compile_job(env.create_job_request(), "job", lambda node: False)


class Recorded:
    """A run that runs nothing.

    Args:
        driver: What it is given.
        log: Where it says what becomes of it.
        errors: What its attempts fail with.
    """

    patience = 30.0

    def __init__(self, driver: DriverSide, log: list[str], errors: Iterator[Exception]) -> None:
        self.driver = driver
        self._log = log
        self._errors = errors
        driver.at_end.callback(log.append, "let go of what was taken first")
        driver.at_end.callback(log.append, "let go of what was taken last")

    def __call__(self, stop: threading.Event) -> None:
        self._log.append("run")
        for error in self._errors:
            raise error

    def interrupt(self) -> None:
        self._log.append("interrupted")


ENDED = ["let go of what was taken last", "let go of what was taken first"]


def test_a_run_is_let_go_of_when_it_has_ended() -> None:
    log: list[str] = []
    job = start(program(), lambda driver: Recorded(driver, log, iter(())))
    assert job.wait().status is JobStatus.FINISHED
    assert log == ["run", *ENDED]


def test_a_run_is_called_again_after_it_has_failed() -> None:
    log: list[str] = []
    errors = iter([JobFailedError("once")])
    again = program(
        restart_strategy__type="fixed-delay", restart_strategy__fixed_delay__delay="0 s"
    )
    job = start(again, lambda driver: Recorded(driver, log, errors))
    assert job.wait().restarts == 1
    assert log == ["run", "run", *ENDED]


def test_a_start_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    log: list[str] = []

    def fail(driver: DriverSide) -> Recorded:
        Recorded(driver, log, iter(()))
        with pytest.raises(LocationInUseError):
            Generation(LocalStorage(str(tmp_path)))
        raise JobFailedError("It does not run here.")

    with pytest.raises(JobFailedError):
        start(program(execution__checkpointing__dir=tmp_path), fail)
    assert log == ENDED
    Generation(LocalStorage(str(tmp_path))).release()


@pytest.mark.parametrize("is_streaming", [True, False])
def test_state_that_a_stream_will_lose_is_told(
    recwarn: pytest.WarningsRecorder, *, is_streaming: bool
) -> None:
    for is_keyed in (True, False):
        job = replace(program(is_keyed=is_keyed), is_streaming=is_streaming)
        start(job, lambda driver: Recorded(driver, [], iter(()))).wait()
    told = [found for found in recwarn if found.category is NoCheckpointLocationWarning]
    assert len(told) == is_streaming


def test_a_run_gets_a_program_that_is_profiled() -> None:
    runs: list[Recorded] = []

    def make_run(driver: DriverSide) -> Recorded:
        runs.append(Recorded(driver, [], iter(())))
        return runs[-1]

    for is_profiled in (True, False):
        start(program(execution__profile=is_profiled), make_run).wait()
        assert runs[-1].driver.program.is_profiled is is_profiled
        assert (runs[-1].driver.runner.profile is not None) is is_profiled


@pytest.mark.parametrize("is_awaited", [True, False])
def test_ctrl_c_as_a_job_begins_reaches_whoever_waits_for_it(
    is_awaited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []
    compiled = program()
    compiled.request.is_awaited = is_awaited
    seen = ObservedJob(compiled.job_id, compiled.request)
    begin = Job.__init__

    def interrupted(job: Job, *args: Any, **others: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        begin(job, *args, **others)

    monkeypatch.setattr(Job, "__init__", interrupted)

    def started() -> RunningJob:
        return start(compiled, lambda driver: Recorded(driver, log, iter([])), seen)

    if is_awaited:
        job = started()
        with pytest.raises(KeyboardInterrupt):
            job.wait()
        assert job.wait().status is JobStatus.FINISHED
    else:
        with pytest.raises(KeyboardInterrupt):
            started()
        while not seen.has_ended:
            time.sleep(0.001)
    assert seen.has_begun
    assert log[:1] == ["run"]
