from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.checkpoint.storage import LocalStorage
from penstock.errors import CheckpointNotSharedError, CheckpointNotWritableError
from penstock.executors.spark.places.shared_place import check_shared

pytestmark = pytest.mark.spark


class OtherDisk(LocalStorage):
    """A folder that has another content on the driver's machine than on those of workers."""

    def names(self, prefix: str = "") -> list[str]:
        return []


def test_a_folder_that_all_reach_is_left_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    check_shared(spark, LocalStorage(str(tmp_path)), "Job 'x'")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_which_each_machine_has_its_own(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(CheckpointNotSharedError, match=r"(?s)Job 'x' cannot.*object store"):
        check_shared(spark, OtherDisk(str(tmp_path)), "Job 'x'")


def test_a_folder_that_workers_cannot_write(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointNotWritableError, match="cannot be written"):
        check_shared(spark, LocalStorage(str(tmp_path / "file")), "Job 'x'")
