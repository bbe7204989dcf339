"""The executor on Spark: the only place, with `penstock.spark`, that imports pyspark."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from penstock.errors import SparkNotFoundError
from penstock.executors.base import Executor, JobRequest


def create_executor() -> Executor:
    """Return the executor.

    Raises:
        SparkNotFoundError: If pyspark is not installed.
    """
    return _module().SparkExecutor()  # type: ignore[no-any-return]


def to_data_frame(request: JobRequest, collect_id: str, schema: Any) -> Any:
    """Return the results of a bounded program as a DataFrame that runs it when Spark runs that.

    Raises:
        SparkNotFoundError: If pyspark is not installed.
    """
    return _module("frame_result").to_data_frame(request, collect_id, schema)


def _module(name: str = "executor") -> Any:
    if importlib.util.find_spec("pyspark") is None:
        raise SparkNotFoundError(
            "The program is to run on Spark, but pyspark is not installed.",
            hint="Run: pip install 'penstock[spark]'. To try a program without Spark, set "
            "execution.target to 'local'.",
        )
    return importlib.import_module(f"penstock.executors.spark.{name}")
