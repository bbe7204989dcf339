"""Which of several drivers at a place is alive, by the signs of life that they give; without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.executors.spark.hosted import there
from tests.executors.spark.hosted.there import Driver

from penstock.checkpoint.storage import LocalStorage
from penstock.executors.spark.hosted.client_files import FilesInStore
from penstock.executors.spark.hosted.living import living_driver


def living(place: Path, seconds: float) -> str | None:
    return living_driver(FilesInStore(LocalStorage(str(place))), seconds)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    there.hurry(monkeypatch)


def test_at_a_new_place_there_is_none_and_nothing_is_waited_for(tmp_path: Path) -> None:
    assert living(tmp_path, 1_000_000) is None


def test_of_several_the_one_that_gives_signs_is_found(tmp_path: Path) -> None:
    dead, ended, alive = (Driver(tmp_path, folder) for folder in ("1-a-x", "2-b-x", "3-c-x"))
    dead.kill()
    ended.job.stop()
    ended._thread.join(10)
    assert living(tmp_path, 20) == "3-c-x"
    alive.kill()
    assert living(tmp_path, 0.05) is None


def test_one_that_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    driver.job.stop()
    driver._thread.join(10)
    assert living(tmp_path, 1_000_000) is None
