from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.datastream.connectors.cached_records import (
    CachedFile,
    CachedRecords,
    are_there,
    committed_files,
)
from penstock.errors import SourceNotReadableError
from penstock.runtime.job_pickle import dumps


@pytest.fixture
def files(tmp_path: Path) -> list[CachedFile]:
    """What three subtasks wrote in two epochs: later ones first, as folders may list them."""
    (tmp_path / "records").mkdir()
    (tmp_path / "epochs").mkdir()
    listed = [(2, "records/c"), (0, "records/a"), (1, "records/b"), (0, "records/d")]
    for number, (_, name) in enumerate(listed):
        timestamps = [5, None] if number == 0 else [None, None]
        (tmp_path / name).write_bytes(dumps(([f"{name}1", f"{name}2"], timestamps)))
    for epoch in (1, 0):
        part = json.dumps(listed[2 * epoch : 2 * epoch + 2])
        (tmp_path / "epochs" / f"{epoch:010}").write_text(part)
    assert committed_files(str(tmp_path)) == listed
    return listed


def test_each_subtask_reads_what_others_wrote_in_their_order(
    files: list[CachedFile], tmp_path: Path
) -> None:
    source = CachedRecords(str(tmp_path), files)
    read = [[block.values for block in source.read(0, subtask, 2)] for subtask in range(2)]
    names = [[values[0][:-1] for values in blocks] for blocks in read]
    assert names == [["records/c", "records/a", "records/d"], ["records/b"]]
    assert [block.timestamps for block in source.read(0, 0, 2)] == [[5, None], None, None]
    assert list(source.read(1, 0, 2)) == []


def test_files_that_are_gone_are_named(files: list[CachedFile], tmp_path: Path) -> None:
    location = str(tmp_path)
    assert are_there(location, files)
    (tmp_path / "records" / "b").unlink()
    assert not are_there(location, files)
    with pytest.raises(SourceNotReadableError, match=r"(?s)records/b.*Hint: .*checkpointing.dir"):
        list(CachedRecords(location, files).read(0, 1, 2))
