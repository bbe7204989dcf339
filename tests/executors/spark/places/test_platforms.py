from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.common import Configuration, RestartStrategies
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import TriggerNotSupportedError
from penstock.executors.driver.recovery.restarts import is_worth_restarting
from penstock.executors.spark.failures import as_penstock_error
from penstock.executors.spark.places.platforms import refuse_endless

SAID = (
    "[INFINITE_STREAMING_TRIGGER_NOT_SUPPORTED] Trigger type ProcessingTime is not supported for this cluster type. "
    "SQLSTATE: 0A000\n\nJVM stacktrace:\nx"
)


def test_what_a_platform_refuses_is_said_in_plain_words() -> None:
    error = as_penstock_error(RuntimeError(SAID), "Job 'x'")

    assert isinstance(error, TriggerNotSupportedError)
    assert "Job 'x' reads a stream until it is stopped" in error.message
    assert error.message.endswith("SQLSTATE: 0A000")
    assert "execution.trigger to available-now" in str(error.hint)
    assert not is_worth_restarting(error)


def test_elsewhere_streams_may_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IS_SERVERLESS", "TRUE")
    monkeypatch.delenv("DATABRICKS_RUNTIME_VERSION", raising=False)
    refuse_endless("Job 'x'")


@pytest.mark.spark
@pytest.mark.classic
def test_where_no_stream_runs_on_a_job_is_refused_before_it_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IS_SERVERLESS", "TRUE")
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "client.4.9")
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
