from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from penstock.errors import SinkError
from penstock.executors.spark.frames.called_on_workers import called_on_workers

pytestmark = pytest.mark.spark


def test_what_each_task_returns_comes_back(spark: SparkSession) -> None:
    found = called_on_workers(spark.range(0, 9, 1, 3), lambda: (os.getpid(), None))
    assert len(found) == 3
    assert os.getpid() not in dict(found)


@pytest.mark.parametrize("error", [SinkError("full", hint="Make room."), FileNotFoundError("gone")])
def test_what_it_raises_is_raised_here(spark: SparkSession, error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error), match=str(error).partition("\n")[0]):
        called_on_workers(spark.range(1), fail)
