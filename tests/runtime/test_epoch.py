from __future__ import annotations

from pathlib import Path

import pytest

from penstock.runtime.epoch import Epoch


def test_sinks_prepare_files_below_a_folder_that_is_named_for_the_epoch() -> None:
    name = Epoch("job", 7, generation=2).prepared_name("a.parquet")

    assert name.startswith("prepared/00000007-00000002-")
    assert name.endswith("-a.parquet")


def test_no_attempt_is_given_the_name_of_another() -> None:
    epoch = Epoch("job")

    assert len({epoch.prepared_name("a"), epoch.prepared_name("a")}) == 2


def test_the_storage_is_that_of_the_location(tmp_path: Path) -> None:
    storage = Epoch("job", location=str(tmp_path)).storage

    assert storage.location == str(tmp_path)
    assert Epoch("job", 1, location=str(tmp_path)).storage is storage


def test_a_job_without_a_location_has_no_storage() -> None:
    with pytest.raises(ValueError, match="no place for checkpoints"):
        Epoch("job").storage  # noqa: B018
