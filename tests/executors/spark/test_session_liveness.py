"""What becomes of a job whose session ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import (
    JavaProcessLostError,
    JobFailedError,
    SessionLostError,
    UserFunctionError,
)
from penstock.executors.driver.recovery.restarts import is_worth_restarting
from penstock.executors.spark.failures import as_penstock_error
from penstock.executors.spark.java_process import has_died
from penstock.executors.spark.session import is_alive, session_lost


@pytest.mark.parametrize(
    "text",
    [
        "ExecutorLostFailure (executor 1 exited caused by a task): Command exited with code 137",
        "Job aborted due to stage failure: Container killed by YARN for exceeding memory limits.",
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
        "org.apache.spark.shuffle.FetchFailedException: Connection refused: worker-3",
    ],
)
def test_a_worker_that_was_lost_is_a_reason_to_restart(text: str) -> None:
    assert is_worth_restarting(as_penstock_error(RuntimeError(text), "Job 'x'"))


@pytest.mark.parametrize(
    ("can_go_on", "kind", "hint"),
    [
        (True, JavaProcessLostError, "goes on in a new session"),
        (False, SessionLostError, "only where penstock built"),
    ],
)
def test_a_session_that_was_lost(can_go_on: bool, kind: type[Exception], hint: str) -> None:
    error = JobFailedError("Job 'x' cannot read its input (Connection refused).")
    error.__cause__ = ConnectionRefusedError("[Errno 111] Connection refused")

    lost = session_lost("Job 'x'", error, can_go_on=can_go_on)

    assert type(lost) is kind
    assert lost.message.startswith("Job 'x' lost its SparkSession")
    assert "cannot read its input" not in lost.message
    assert hint in str(lost.hint)
    assert "emory" not in str(lost.hint)
    error.__cause__ = RuntimeError("java.lang.OutOfMemoryError: Java heap space")
    assert "spark.driver.memory" in str(session_lost("Job 'x'", error, can_go_on=can_go_on).hint)
    assert is_worth_restarting(lost) is can_go_on


@pytest.mark.parametrize(
    "said",
    ["Cannot call methods on a stopped SparkContext.", "status = StatusCode.UNAVAILABLE"],
)
def test_a_session_that_is_known_to_be_gone_is_not_asked(said: str) -> None:
    spark: Any = SimpleNamespace(range=lambda _: SimpleNamespace(schema="id long"))
    assert is_alive(spark, JobFailedError("Job 'x' failed."))
    assert not is_alive(spark, JobFailedError(f"Job 'x' was failed by Spark: {said}"))
    # A function may ask a server of its own.
    assert is_alive(spark, UserFunctionError(said))


def test_a_process_that_died_and_one_that_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.executors.spark.java_process._PATIENCE", 0.01)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert not has_died(process)
        process.kill()
        process.wait()
        assert has_died(process)
    assert not has_died(None)


SCRIPT = """
import os
import signal
import sys
from pathlib import Path

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.executors.spark.java_process import java_process
from penstock.executors.spark.session import session

marker, strategy, whose = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
configuration = Configuration()
configuration.set_string("spark.master", "local[2, 4]")
configuration.set_string("restart-strategy.type", strategy)
given = session(None, configuration)
process = java_process().pid


def fatal(number):
    if not marker.exists():
        marker.touch()
        os.kill(process, signal.SIGKILL)
        signal.pause()
    return number % 3, number


env = StreamExecutionEnvironment.get_execution_environment(configuration)
numbers = env.from_collection(list(range(10))) if whose == "nobody" else env.from_data_frame(
    given.range(10)
).map(lambda row: row.id)
sums = numbers.map(fatal).key_by(lambda pair: pair[0]).sum(1)
try:
    found = list(sums.execute_and_collect())
    print("found", len(found), sorted({key: max(s for k, s in found if k == key) for key, _ in found}.values()))
    print("again", list(env.from_collection([1]).map(str).execute_and_collect()))
except Exception as error:
    print(type(error).__name__, "new session" in str(error))
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("strategy", "whose", "said"),
    [
        ("fixed-delay", "nobody", ["found 10 [12, 15, 18]", "again ['1']"]),
        ("none", "nobody", ["JavaProcessLostError True"]),
        ("fixed-delay", "the session", ["SessionLostError False"]),
    ],
)
def test_a_java_process_that_dies(
    tmp_path: Path, strategy: str, whose: str, said: list[str]
) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "marker"), strategy, whose]
    job = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)

    assert job.stdout.splitlines()[-len(said) :] == said, job.stderr[-3000:]
