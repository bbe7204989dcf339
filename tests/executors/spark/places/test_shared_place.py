from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.checkpoint.storage import LocalStorage
from penstock.errors import CheckpointNotSharedError, CheckpointNotWritableError
from penstock.executors.spark.places.shared_place import check_shared
from penstock.executors.spark.session import cores_of

pytestmark = pytest.mark.spark


class OtherDisk(LocalStorage):
    """A folder that has another content on the driver's machine than on those of workers."""

    def names(self, prefix: str = "") -> list[str]:
        return []


class SomeDisks(LocalStorage):
    """A folder that the driver's machine shares with one worker's, and not with another's."""

    def names(self, prefix: str = "") -> list[str]:
        return super().names(prefix)[:1]


def test_a_folder_that_all_reach_is_left_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    check_shared(spark, LocalStorage(str(tmp_path)), "Job 'x'")
    assert list(tmp_path.iterdir()) == []


def test_as_many_tasks_write_as_run_at_once(spark: SparkSession, tmp_path: Path) -> None:
    found: list[str] = []

    class Watched(LocalStorage):
        def names(self, prefix: str = "") -> list[str]:
            found.extend(super().names(prefix))
            return found

    check_shared(spark, Watched(str(tmp_path)), "Job 'x'")
    assert len(found) == cores_of(spark) > 1


@pytest.mark.parametrize("other", [OtherDisk, SomeDisks])
def test_a_folder_of_which_each_machine_has_its_own(
    spark: SparkSession, tmp_path: Path, other: type[LocalStorage]
) -> None:
    with pytest.raises(CheckpointNotSharedError, match=r"(?s)Job 'x' cannot.*object store"):
        check_shared(spark, other(str(tmp_path)), "Job 'x'")


def test_a_folder_that_workers_cannot_write(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointNotWritableError, match="cannot be written"):
        check_shared(spark, LocalStorage(str(tmp_path / "file")), "Job 'x'")
