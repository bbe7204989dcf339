from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from penstock.checkpoint.storage import LocalStorage
from penstock.errors import CheckpointMismatchError
from penstock.executors.spark.runs.offsets import carry_over, offsets_after, sees_ahead


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """What Spark leaves of a query with two sources after three micro-batches."""
    made = LocalStorage(str(tmp_path))
    made.write("spark/metadata", [b"id of the query"])
    for batch in range(3):
        lines = ["v1", f"batch {batch}", f"files {batch}", f"rates {batch}"]
        made.write(f"spark/offsets/{batch}", ["\n".join(lines).encode()])
        made.write(f"spark/commits/{batch}", [f"done {batch}".encode()])
    made.write("spark/sources/0/0", [b"seen files"])
    made.write("spark/sources/0/1", [b"more files"])
    made.write("spark/sources/1/0", [b"start of rates"])
    return made


def carried(storage: LocalStorage, sources: list[str], batch: int = 1) -> dict[str, str]:
    carry_over(
        storage,
        old_folder="spark",
        new_folder="spark-2",
        batch=batch,
        old_sources=["files", "rates"],
        new_sources=sources,
    )
    return {
        name.removeprefix("spark-2/"): storage.read(name).decode()
        for name in storage.names("spark-2")
        if name != "spark-2/metadata"
    }


def test_what_came_after_the_epoch_is_left_out(storage: LocalStorage) -> None:
    assert carried(storage, ["files", "rates"]) == {
        "offsets/0": "v1\nbatch 0\nfiles 0\nrates 0",
        "offsets/1": "v1\nbatch 1\nfiles 1\nrates 1",
        "commits/1": "done 1",
        "sources/0/0": "seen files",
        "sources/0/1": "more files",
        "sources/1/0": "start of rates",
    }


def test_how_far_each_source_is_read_after_a_micro_batch(storage: LocalStorage) -> None:
    storage.write("spark/offsets/3", [b"v1\nbatch 3\n-\nrates 3"])
    assert offsets_after(storage, "spark", 2) == ["files 2", "rates 2"]
    assert offsets_after(storage, "spark", 3) == [None, "rates 3"]


FILES = [f'{{"path":"{number}.json","timestamp":1,"batchId":{number}}}' for number in range(4)]


@pytest.fixture
def files(tmp_path: Path) -> LocalStorage:
    """What Spark leaves of a query that reads one file after the other."""
    made = LocalStorage(str(tmp_path))
    for batch in range(2):
        made.write(f"spark/offsets/{batch}", [f'v1\n{{}}\n{{"logOffset":{batch}}}\n7'.encode()])
        made.write(f"spark/sources/0/{batch}", [f"v1\n{FILES[batch]}".encode()])
    made.write("spark/commits/1", [b"done"])
    return made


def test_a_file_that_was_seen_and_not_planned_is_left_out(files: LocalStorage) -> None:
    files.write("spark/sources/0/2", [f"v1\n{FILES[2]}".encode()])
    files.write("spark/sources/0/3.compact", ["\n".join(["v1", *FILES]).encode()])

    found = carried(files, ["files", "rates"])

    assert "sources/0/2" not in found
    assert found["sources/0/1"] == f"v1\n{FILES[1]}"
    assert found["sources/0/3.compact"] == "\n".join(["v1", *FILES[:2]])


def test_a_source_is_ahead_if_a_file_was_seen_and_not_planned(files: LocalStorage) -> None:
    assert not sees_ahead(files, "spark")
    files.write("spark/sources/0/2", [f"v1\n{FILES[2]}".encode()])
    assert sees_ahead(files, "spark")
    files.write("spark/offsets/2", [b'v1\n{}\n{"logOffset":2}\n7'])
    assert not sees_ahead(files, "spark")
    assert not sees_ahead(files, "nowhere")


def test_a_source_is_ahead_if_none_of_its_files_was_planned(files: LocalStorage) -> None:
    files.write("spark/offsets/1", [b'v1\n{}\n{"logOffset":1}\n-'])
    files.write("spark/sources/1/0", [b'v1\n{"where":"it began"}'])
    assert not sees_ahead(files, "spark")
    files.write("spark/sources/1/0", [f"v1\n{FILES[0]}".encode()])
    assert sees_ahead(files, "spark")
    assert "sources/1/0" not in carried(files, ["files", "rates"])


def test_a_source_is_ahead_if_spark_has_planned_nothing(files: LocalStorage) -> None:
    files.delete([f"spark/offsets/{batch}" for batch in range(2)])
    assert sees_ahead(files, "spark")


def test_sources_go_to_their_new_places(storage: LocalStorage) -> None:
    found = carried(storage, ["rates", "new", "files"])

    assert found["offsets/1"] == "v1\nbatch 1\nrates 1\n-\nfiles 1"
    assert found["sources/0/0"] == "start of rates"
    assert found["sources/2/1"] == "more files"
    assert "sources/1/0" not in found


def test_a_source_that_is_gone_leaves_nothing(storage: LocalStorage) -> None:
    found = carried(storage, ["rates"])

    assert found["offsets/1"] == "v1\nbatch 1\nrates 1"
    assert [name for name in found if name.startswith("sources")] == ["sources/0/0"]


def test_the_query_is_another_one(storage: LocalStorage) -> None:
    carried(storage, ["files", "rates"])

    found = json.loads(storage.read("spark-2/metadata"))
    assert str(uuid.UUID(found["id"])) == found["id"]


def test_state_is_cut_after_the_epoch(storage: LocalStorage) -> None:
    for version in (1, 2, 3):
        for name in ("{}.delta", "1/right-keys/{}.snapshot", "2/{}.zip", "3/{}_5f.changelog"):
            storage.write(f"spark/state/0/{name.format(version)}", [b"rows"])
    storage.write("spark/state/0/_metadata/metadata", [b"{}"])
    storage.write("spark/state/0/2/SSTs/000009-5f.sst", [b"rows"])

    found = carried(storage, ["files", "rates", "ticks"])

    # A micro-batch makes of the version with its number the next one: state after 1 is version 2.
    assert {name for name in found if name.startswith("state")} == {
        "state/0/_metadata/metadata",
        "state/0/2/SSTs/000009-5f.sst",
        *(f"state/0/{version}.delta" for version in (1, 2)),
        *(f"state/0/1/right-keys/{version}.snapshot" for version in (1, 2)),
        *(f"state/0/2/{version}.zip" for version in (1, 2)),
        *(f"state/0/3/{version}_5f.changelog" for version in (1, 2)),
    }


@pytest.mark.parametrize(
    "sources", [["files"], ["rates", "files"], ["files", "rates", "new"], ["new", "rates"]]
)
def test_state_does_not_go_on_with_other_sources(storage: LocalStorage, sources: list[str]) -> None:
    storage.write("spark/state/0/0/1.delta", [b"rows"])

    with pytest.raises(CheckpointMismatchError, match="Spark keeps state"):
        carried(storage, sources)


def test_an_epoch_that_spark_did_not_hear_of_counts_as_done(storage: LocalStorage) -> None:
    storage.delete(["spark/commits/2"])

    assert carried(storage, ["files"], batch=2)["commits/2"] == "done 1"


def test_no_micro_batch_leaves_nothing(storage: LocalStorage) -> None:
    assert carried(storage, ["files"], batch=-1) == {}


def test_the_first_epoch_has_none_before_it(storage: LocalStorage) -> None:
    found = carried(storage, ["files"], batch=0)

    assert [name for name in found if name.startswith("offsets")] == ["offsets/0"]


def test_offsets_that_are_not_kept_are_named(storage: LocalStorage) -> None:
    with pytest.raises(CheckpointMismatchError, match="spark/offsets/7"):
        carried(storage, ["files"], batch=7)


def joined(storage: LocalStorage, sources: list[str]) -> None:
    """Carry over what Spark leaves of a job whose one DataFrame reads two of Spark's sources."""
    carry_over(
        storage,
        old_folder="spark",
        new_folder="spark-2",
        batch=1,
        old_sources=["joined"],
        new_sources=sources,
    )


def test_a_frame_that_reads_several_sources_stays(files: LocalStorage) -> None:
    files.write("spark/sources/0/2", [f"v1\n{FILES[2]}".encode()])
    files.write("spark/sources/1/0", [b"start of rates"])

    joined(files, ["joined"])

    assert files.read("spark-2/offsets/1") == files.read("spark/offsets/1")
    found = {name.removeprefix("spark-2/sources/") for name in files.names("spark-2/sources")}
    assert found == {"0/0", "0/1", "1/0"}


def test_a_frame_that_reads_several_sources_cannot_move(storage: LocalStorage) -> None:
    with pytest.raises(CheckpointMismatchError, match="has 2 of them, not 1"):
        joined(storage, ["other", "joined"])
