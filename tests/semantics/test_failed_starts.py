"""A start that fails leaves nothing behind that keeps the next one from starting."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import epochs

from penstock.checkpoint.generations import Generation
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import PenstockError, UserFunctionError
from penstock.runtime.sinks import CommitContext, Committer, SinkWriter, WriterContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Silent(SinkWriter):
    def write(self, value: Any, timestamp: int | None) -> None:
        pass

    def prepare_commit(self) -> list[Any]:
        return []


class Closed(Committer):
    """Cannot be opened."""

    def open(self) -> None:
        raise ConnectionRefusedError("nobody is there")

    def commit(self, committables: list[Any], context: CommitContext) -> None:
        raise AssertionError


class ClosedSink(TwoPhaseCommitSink):
    def create_writer(self, context: WriterContext) -> SinkWriter:
        return Silent()

    def create_committer(self) -> Committer:
        return Closed()


STEPS = [
    ("local", "penstock.executors.local.Layout"),
    ("local", "penstock.executors.local.Tasks"),
    ("spark", "penstock.executors.driver.publishing.Publisher.open"),
    ("spark", "penstock.executors.spark.executor.DrivenRun"),
    ("spark", "penstock.executors.spark.runs.attempts.Interruption"),
    *(
        (executor, step)
        for executor in ("local", "spark")
        for step in (
            "penstock.executors.driver.start.Checkpoints.last",
            "penstock.executors.driver.start.Publisher",
            "penstock.executors.driver.start.EpochRunner",
            "penstock.executors.driver.start.Job",
            "penstock.executors.driver.job.restart_strategy_of",
            "penstock.executors.driver.job.LateRecordsLog",
        )
    ),
]


def raising(*_: object, **__: object) -> None:
    raise PenstockError("it does not go on from here")


@pytest.mark.parametrize("is_durable", [True, False])
def test_of_any_step(
    new_environment: NewEnvironment,
    executor: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_durable: bool,
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    location = tmp_path / "job"
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for target, step in STEPS:
        if target != executor:
            continue
        settings = {"execution__checkpointing__dir": location} if is_durable else {}
        env = new_environment(**settings)
        epochs(env, [1], [2]).print()
        with monkeypatch.context() as patch:
            patch.setattr(step, raising)
            with pytest.raises(PenstockError, match="does not go on"):
                env.execute()
        assert not list(temporary.glob("penstock-*")), step
        if is_durable:
            Generation(LocalStorage(str(location))).release()


@pytest.mark.spark
@pytest.mark.classic
@pytest.mark.parametrize(
    "step", ["runs.attempts.Interruption", "executor.StreamingRun", "runs.streaming.DiskLog"]
)
def test_of_any_step_of_a_stream(
    step: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    configuration = Configuration().set_string("execution.checkpointing.dir", str(tmp_path / "job"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.from_data_frame(spark.readStream.format("rate").load()).print()
    monkeypatch.setattr(f"penstock.executors.spark.{step}", raising)
    with pytest.raises(PenstockError, match="does not go on"):
        env.execute()

    assert not list(temporary.glob("penstock-*"))


def test_of_a_sink_that_cannot_be_opened(new_environment: NewEnvironment, tmp_path: Path) -> None:
    env = new_environment(execution__checkpointing__dir=tmp_path)
    epochs(env, [1], [2]).sink_to(ClosedSink())
    with pytest.raises(UserFunctionError, match="nobody is there"):
        env.execute()

    Generation(LocalStorage(str(tmp_path))).release()
