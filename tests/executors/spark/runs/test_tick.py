from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from penstock.executors.spark.runs.wake_up import write_wake_up
from penstock.executors.spark.versions.features import Feature, has

if not has(Feature.PYTHON_TICKS):
    pytest.skip("this Spark has no such sources: test_ticks.py", allow_module_level=True)

from pyspark.sql.streaming.datasource import ReadAllAvailable

from penstock.executors.spark.runs.tick import TickSource

NOW = 1_000


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: NOW * 1_000_000)


def latest(folder: Path, ticks: int) -> dict[str, int]:
    reader = TickSource({"folder": str(folder)}).streamReader(StructType())
    return reader.latestOffset({"ticks": ticks}, ReadAllAvailable())


@pytest.mark.parametrize(("wake_up", "ticks"), [(None, 5), (NOW + 1, 5), (NOW, 6), (NOW - 1, 6)])
def test_ticks_when_the_time_has_come(tmp_path: Path, wake_up: int | None, ticks: int) -> None:
    write_wake_up(str(tmp_path), wake_up)

    # Where it stood is Spark's to know: another driver goes on with the same numbers.
    assert latest(tmp_path, 5) == {"ticks": ticks}


def test_does_not_tick_before_the_first_epoch(tmp_path: Path) -> None:
    reader = TickSource({"folder": str(tmp_path)}).streamReader(StructType())

    assert latest(tmp_path, 0) == reader.initialOffset() == {"ticks": 0}
