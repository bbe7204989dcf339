"""A Python worker that is killed ends a job with an error that says so, in either kind of job."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from tests.executors.spark.conftest import StreamOf

from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import WorkerLostError

pytestmark = pytest.mark.spark


def die(value: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)
    return value


def check(stream: DataStream) -> None:
    with pytest.raises(WorkerLostError) as caught:
        list(stream.map(die).name("deadly").execute_and_collect())

    text = str(caught.value)
    assert "A Python worker died while it ran operators of " in text
    assert "deadly" in text
    assert "emory" not in text
    assert not any(word in text for word in ("Traceback", "\tat ", "Proxy", "py4j"))


def test_in_a_bounded_job(env: StreamExecutionEnvironment) -> None:
    check(env.from_collection([1]))


def test_in_a_streaming_job(env: StreamExecutionEnvironment, stream_of: StreamOf) -> None:
    check(env.from_data_frame(stream_of("number int", [{"number": 1}])))
