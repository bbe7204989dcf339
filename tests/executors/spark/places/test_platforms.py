from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest
from pyspark.sql import SparkSession

from penstock.common import Configuration, Duration, RestartStrategies, WatermarkStrategy
from penstock.datastream import SourceFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.errors import TriggerNotSupportedError, UnsupportedOperationError
from penstock.executors.driver.recovery.restarts import is_worth_restarting
from penstock.executors.port import JobRequest
from penstock.executors.spark.failures import as_penstock_error
from penstock.executors.spark.places.platforms import refuse_endless

TRIGGER = (
    "[INFINITE_STREAMING_TRIGGER_NOT_SUPPORTED] Trigger type ProcessingTime is not supported for this cluster type. "
    "SQLSTATE: 0A000\n\nJVM stacktrace:\nx"
)
SOURCE = (
    "[UNSUPPORTED_STREAMING_SOURCE_PERMISSION_ENFORCED] Data source rate-micro-batch is not supported as a streaming source "
    "on a shared cluster. SQLSTATE: 0A000"
)
PERSIST = "[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute. SQLSTATE: 0A000"


def test_a_trigger_that_a_platform_refuses_is_said_in_plain_words() -> None:
    error = as_penstock_error(RuntimeError(TRIGGER), "Job 'x'")

    assert isinstance(error, TriggerNotSupportedError)
    assert "Job 'x' reads a stream until it is stopped" in error.message
    assert error.message.endswith("SQLSTATE: 0A000")
    assert "execution.trigger to available-now" in str(error.hint)
    assert not is_worth_restarting(error)


@pytest.mark.parametrize("said", [SOURCE, PERSIST])
def test_what_else_a_platform_refuses_is_said_in_plain_words(said: str) -> None:
    error = as_penstock_error(RuntimeError(f"{said}\n\nJVM stacktrace:\nx"), "Job 'x'")

    assert isinstance(error, UnsupportedOperationError)
    assert error.message == f"Job 'x' needs what this platform does not allow. It says: {said}"
    assert "dedicated access mode" in str(error.hint)
    assert not is_worth_restarting(error)


@pytest.fixture
def serverless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a notebook on serverless compute of Databricks."""
    monkeypatch.setenv("IS_SERVERLESS", "TRUE")
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "client.4.9")


def monitoring(**settings: str) -> StreamExecutionEnvironment:
    """A program that reads the files of a folder, also those that come later."""
    place = {"execution.checkpointing.dir": "/state", **settings}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(place))
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in")
    source = files.monitor_continuously(Duration.of_seconds(1)).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "files").print()
    return env


class Waiting(SourceFunction):
    def run(self, ctx: Any) -> None:
        raise AssertionError

    def cancel(self) -> None:
        raise AssertionError


@pytest.mark.usefixtures("serverless")
def test_where_no_stream_runs_on_one_that_is_planned_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def goes_on(request: JobRequest) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr("penstock.executors.spark.executor.is_for_server", goes_on)
    with pytest.raises(TriggerNotSupportedError, match="Job 'x' reads a stream until") as raised:
        monitoring().execute("x")
    assert "serverless compute of Databricks" in raised.value.message
    assert "execution.trigger to available-now" in str(raised.value.hint)


@pytest.mark.usefixtures("serverless")
def test_where_no_stream_runs_on_what_ends_may_run() -> None:
    refuse_endless(monitoring(**{"execution.trigger": "available-now"}).create_job_request())
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    refuse_endless(env.create_job_request())


@pytest.mark.usefixtures("serverless")
def test_of_a_function_nobody_knows_whether_it_ends() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_source(Waiting(), "fed").print()
    refuse_endless(env.create_job_request())


@pytest.mark.parametrize("missing", ["DATABRICKS_RUNTIME_VERSION", "IS_SERVERLESS"])
@pytest.mark.usefixtures("serverless")
def test_elsewhere_streams_may_run_on(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.delenv(missing)
    refuse_endless(monitoring().create_job_request())


@pytest.mark.spark
@pytest.mark.usefixtures("serverless")
def test_where_no_stream_runs_on_one_of_sparks_is_refused_or_reads_what_is_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("a\n")

    def run(trigger: str) -> list[str]:
        configuration = Configuration().set_string("execution.trigger", trigger)
        configuration.set_string("execution.checkpointing.dir", str(tmp_path / "job"))
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(100, 100))
        lines = env.from_data_frame(spark.readStream.text(str(tmp_path / "in")))
        return list(lines.map(lambda row: str(row.value)).execute_and_collect())

    with pytest.raises(TriggerNotSupportedError, match="serverless compute of Databricks"):
        run("processing-time")
    assert run("available-now") == ["a"]
