from __future__ import annotations

import importlib.util

import pytest

from penstock.errors import SparkNotFoundError
from penstock.executors.local import LocalExecutor
from penstock.executors.targets import executor_for


def test_local_is_this_process() -> None:
    assert isinstance(executor_for("local"), LocalExecutor)


def test_spark_wants_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pyspark" else found(name)
    )
    with pytest.raises(SparkNotFoundError, match="pyspark is not installed") as raised:
        executor_for("spark")
    assert "pip install 'penstock[spark]'" in str(raised.value.hint)
    assert isinstance(executor_for("local"), LocalExecutor)
