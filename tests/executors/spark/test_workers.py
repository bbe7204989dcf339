from __future__ import annotations

import signal
import sys
import traceback
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession
from tests.semantics.test_functions import Diary

from penstock.datastream import StreamExecutionEnvironment
from penstock.executors.spark.workers import QuietTraceback, end_quietly


def printed(error: Exception, capsys: pytest.CaptureFixture[str]) -> str:
    try:
        raise error
    except type(error):
        QuietTraceback.print_exc()
    return capsys.readouterr().err


def test_only_the_end_of_spark_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(BrokenPipeError("gone"), capsys) == ""
    assert "ValueError: mine" in printed(ValueError("mine"), capsys)


def test_only_a_worker_of_spark_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    script, daemon = ModuleType("__main__"), ModuleType("__main__")
    vars(script)["traceback"] = traceback
    vars(daemon).update(traceback=traceback, worker=lambda: None)
    answered = signal.getsignal(signal.SIGINT)
    try:
        for main, answer in ((script, answered), (daemon, signal.SIG_IGN)):
            monkeypatch.setitem(sys.modules, "__main__", main)
            end_quietly()
            assert signal.getsignal(signal.SIGINT) is answer
    finally:
        signal.signal(signal.SIGINT, answered)

    assert vars(script)["traceback"] is traceback
    assert vars(daemon)["traceback"] is QuietTraceback


@pytest.mark.spark
def test_short_jobs_leave_the_functions_of_a_long_one_open(
    spark: SparkSession, tmp_path: Path
) -> None:
    def new_env() -> StreamExecutionEnvironment:
        return StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(2)

    reader = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 4)
    long = new_env()
    long.from_data_frame(reader.load()).rebalance().add_sink(Diary(tmp_path / "diaries"))
    job = long.execute_async("long")
    try:
        for _ in range(20):
            short = new_env()
            short.from_collection([1, 2]).map(str).print()
            short.execute("short")
    finally:
        job.cancel()

    # One for each subtask and process at most; none was closed to be opened again.
    opened = [path.name.split("-")[:2] for path in (tmp_path / "diaries").iterdir()]
    assert opened
    assert max(Counter(map(tuple, opened)).values()) == 1
