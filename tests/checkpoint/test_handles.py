from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.checkpoint.handles import StateHandle, read_state_file, write_state_file
from penstock.errors import DamagedStateError

in_one_folder = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@in_one_folder
@given(frames=st.lists(st.binary(), max_size=4), is_snapshot=st.booleans())
def test_what_is_read_is_what_was_written(
    tmp_path: Path, frames: list[bytes], is_snapshot: bool
) -> None:
    folder = tmp_path / "deep" / "folder"

    handle = write_state_file(str(folder), "00000007", iter(frames), is_snapshot=is_snapshot)

    assert list(read_state_file(handle)) == frames
    content = Path(handle.path).read_bytes()
    assert handle == StateHandle(
        handle.path, len(content), zlib.crc32(content), is_snapshot=is_snapshot
    )
    assert os.path.dirname(handle.path) == str(folder)
    assert os.path.basename(handle.path).startswith("00000007-")


def test_two_writers_of_one_name_do_not_meet(tmp_path: Path) -> None:
    one = write_state_file(str(tmp_path), "00000007", [b"one"], is_snapshot=False)
    other = write_state_file(str(tmp_path), "00000007", [b"other"], is_snapshot=False)

    assert list(read_state_file(one)) == [b"one"]
    assert list(read_state_file(other)) == [b"other"]


def test_the_bytes_are_on_disk_before_anybody_hears_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))

    handle = write_state_file(str(tmp_path), "00000007", [b"content"], is_snapshot=False)

    assert synced == [handle.length]


@in_one_folder
@given(frames=st.lists(st.binary(), min_size=1, max_size=3), data=st.data())
def test_any_damage_is_found_before_anything_is_read(
    tmp_path: Path, frames: list[bytes], data: st.DataObject
) -> None:
    handle = write_state_file(str(tmp_path), "a", frames, is_snapshot=False)
    content = Path(handle.path).read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    kind = data.draw(st.sampled_from(["flipped", "truncated", "longer"]))
    damaged = bytearray(content)
    if kind == "flipped":
        damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "truncated":
        del damaged[place:]
    else:
        damaged += b"\0"
    Path(handle.path).write_bytes(damaged)

    with pytest.raises(DamagedStateError) as raised:
        next(read_state_file(handle))

    assert handle.path in raised.value.message
    assert f"it has {len(damaged)} bytes" in raised.value.message
    assert raised.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    handle = StateHandle(str(tmp_path / "gone"), 1, 0, is_snapshot=True)

    with pytest.raises(DamagedStateError, match=r"gone cannot be read: .*No such file") as raised:
        next(read_state_file(handle))

    assert raised.value.hint == (
        "The checkpoint folder must be reached by all workers under the same path."
    )
