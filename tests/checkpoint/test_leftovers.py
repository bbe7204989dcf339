from __future__ import annotations

from pathlib import Path

import pytest

from penstock.checkpoint.leftovers import (
    Leftovers,
    Origin,
    engine_folder,
    file_name,
    is_engine_folder_of,
    origin_of,
)
from penstock.checkpoint.storage import LocalStorage


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("state/a-0/00000012-00000003-0123456789ab", Origin(12, 3)),
        ("prepared/00000012-00000003-0123456789ab-id-0", Origin(12, 3)),
        # As earlier versions named files.
        ("state/a-0/00000012-0123456789ab", Origin(12, 0)),
        ("state/a-0/00000012-012345678901", Origin(12, 0)),
        ("prepared/00000012-0-4711-01234567-id-0", Origin(12, 0)),
        ("state/something", Origin(0, 0)),
    ],
)
def test_names_tell_where_files_come_from(name: str, origin: Origin) -> None:
    assert origin_of(name) == origin


def test_names_are_never_given_twice() -> None:
    assert file_name("state/a", 7, 2) != file_name("state/a", 7, 2)
    assert origin_of(file_name("state/a", 7, 2, "-x")) == Origin(7, 2)


def test_folders_of_spark_tell_whose_they_are() -> None:
    # As earlier versions named them.
    for folder in (engine_folder(2), "spark-2"):
        assert [is_engine_folder_of(folder, made) for made in (0, 1, 2, 22)] == [
            False,
            False,
            True,
            False,
        ]
    assert not is_engine_folder_of("spark", 1)


def test_only_what_no_later_driver_can_have_written_is_deleted(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    names = [file_name(folder, 5, made) for folder in ("state/a", "pieces") for made in (1, 2, 3)]
    prepared = [file_name("prepared", epoch, made) for epoch in (4, 5) for made in (2, 3)]
    folders = ["spark", "spark-1", engine_folder(2), engine_folder(3), "sparks"]
    for name in (*names, *prepared, *(f"{folder}/.hidden" for folder in folders)):
        storage.write(name, [b""])
    leftovers = Leftovers(storage, 2)
    leftovers.delete_all({names[0]}, {"spark-1"})
    leftovers.delete_prepared(5)

    assert storage.names("state") == sorted([names[0], names[2]])
    assert storage.names("pieces") == [names[5]]
    assert storage.names("prepared") == sorted(prepared[1:])
    assert storage.folders("spark") == sorted(["spark-1", folders[3], "sparks"])
