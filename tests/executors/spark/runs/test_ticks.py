from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from penstock.executors.spark.runs import ticks
from penstock.executors.spark.runs.ticks import DriverTicks, SourceTicks, new_ticks

NOW = 100_000
IDLE = {"message": "Waiting for data to arrive", "isTriggerActive": False, "isDataAvailable": False}


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticks, "_now", lambda: NOW)


def query(**status: Any) -> Any:
    return SimpleNamespace(status=IDLE | status)


@pytest.mark.parametrize(
    ("version", "kind"), [("3.5.9", DriverTicks), ("4.1.4", DriverTicks), ("4.2.1", SourceTicks)]
)
def test_who_begins_epochs_without_records(
    version: str, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    found = new_ticks(0)
    found.close()

    assert type(found) is kind


@pytest.mark.parametrize(("at", "is_due"), [(None, False), (NOW + 1, False), (NOW, True)])
def test_an_epoch_is_due_when_its_time_has_come(at: int | None, *, is_due: bool) -> None:
    driver = DriverTicks(0)
    driver.wake(at)

    assert driver.is_due(query()) == is_due


@pytest.mark.parametrize(
    "status",
    [
        {"isDataAvailable": True},
        {"isTriggerActive": True},
        {"message": "Initializing sources"},
    ],
)
def test_none_is_due_while_spark_has_something_to_do(status: dict[str, Any]) -> None:
    driver = DriverTicks(0)
    driver.wake(NOW)

    assert not driver.is_due(query(**status))
    assert driver.is_due(query())


def test_none_is_due_before_the_interval_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = DriverTicks(500)
    driver.began()
    driver.wake(NOW)

    assert not driver.is_due(query())
    monkeypatch.setattr(ticks, "_now", lambda: NOW + 500)
    assert driver.is_due(query())
