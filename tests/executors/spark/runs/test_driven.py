from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.executors.scripted import Script, ScriptedSource

from penstock.common import Configuration, RestartStrategies, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.streams.closeable_iterator import CloseableIterator
from penstock.errors import UserFunctionError

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]


@pytest.mark.classic  # it reaches into the driver's side, which is in another process otherwise
def test_a_stream_that_is_planned_goes_on_after_failures_and_from_start_to_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    flag = tmp_path / "fails"
    flag.touch()

    def fail_once(number: int) -> int:
        if number == 2 and flag.exists():
            flag.unlink()
            raise ValueError("not yet")
        return number

    def start(script: Script) -> CloseableIterator:
        configuration = Configuration()
        configuration.set_string("execution.checkpointing.dir", str(tmp_path / "job"))
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
        env.set_parallelism(2).set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
        source = ScriptedSource("driven", script)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        total = numbers.uid("numbers").map(fail_once).key_by(lambda number: 0).sum().uid("sum")
        return total.execute_and_collect()

    # The script gives each epoch but once.
    script = Script([[1]], [[2], [3], [4]], ends=False)
    with start(script) as results:
        found = [next(results) for _ in range(4)]
    assert (found[0], found[-1]) == (1, 10)
    assert not flag.exists()
    last = Script([[5]])
    with start(last) as results:
        assert list(results) == [15]
    assert (last.states[0], last.is_closed) == ({"epochs": 2}, True)


def test_what_a_task_fails_with_ends_the_job(spark: SparkSession) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    source = ScriptedSource("failing", Script([[1, 0]]))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
        list(numbers.map(lambda number: 1 // number).execute_and_collect())


def test_files_that_are_read_once_may_become_a_data_frame(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name in "ab":
        (tmp_path / name).write_text(f"1 {name}\n2 {name}\n")
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(2)
    text = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(text, tmp_path).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")

    frame = lines.to_data_frame("line string")

    assert sorted(row.line for row in frame.collect()) == ["1 a", "1 b", "2 a", "2 b"]
