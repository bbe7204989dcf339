from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.checkpoint.handles import (
    StateHandle,
    join_state_files,
    read_state_file,
    verify_state_file,
    write_state_file,
)
from penstock.checkpoint.lasting import make_lasting_folder
from penstock.checkpoint.storage import LocalStorage
from penstock.errors import DamagedStateError

in_one_folder = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


frames_of_files = st.lists(st.lists(st.binary(), max_size=3), min_size=1, max_size=4)


@in_one_folder
@given(
    frames=st.lists(st.binary(), max_size=4),
    whole=st.lists(st.binary(), max_size=2),
    is_snapshot=st.booleans(),
    at_once=st.sampled_from([0, 1 << 20]),
)
def test_what_is_read_is_what_was_written(
    tmp_path: Path, frames: list[bytes], whole: list[bytes], is_snapshot: bool, at_once: int
) -> None:
    storage = LocalStorage(str(tmp_path))
    handle = write_state_file(
        storage, "deep/00000007", iter(frames), is_snapshot=is_snapshot, whole=whole, groups=3
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.checkpoint.handles._AT_ONCE", at_once)
        assert list(read_state_file(storage, handle)) == frames + whole
    content = storage.read(handle.name)
    held = sum(8 + len(frame) for frame in whole)
    assert handle == StateHandle(
        handle.name, len(content), zlib.crc32(content), is_snapshot, groups=3, held=held
    )
    assert handle.name.startswith("deep/00000007-")
    assert handle.version == handle.name


@in_one_folder
@given(frames=frames_of_files)
def test_a_joined_file_holds_what_the_files_held(tmp_path: Path, frames: list[list[bytes]]) -> None:
    storage = LocalStorage(str(tmp_path))
    handles = [
        write_state_file(storage, "a", found, is_snapshot=place == 0, whole=[b"w"], groups=2)
        for place, found in enumerate(frames)
    ]

    joined = join_state_files(storage, "b", handles)
    twice = join_state_files(storage, "c", [joined])

    contents = [frame for found in frames for frame in (*found, b"w")]
    assert list(read_state_file(storage, joined)) == contents
    assert list(read_state_file(storage, twice)) == contents
    assert (joined.is_snapshot, joined.level, twice.level) == (True, 1, 2)
    assert (joined.groups, joined.held) == (2 * len(handles), 9 * len(handles))
    assert joined.version == twice.version == handles[-1].name


def test_damage_is_found_when_files_are_joined(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    handles = [write_state_file(storage, "a", [b"x"], is_snapshot=False) for _ in range(2)]
    storage.write(handles[1].name, [b"something else"])

    with pytest.raises(DamagedStateError, match=storage.url(handles[1].name)):
        join_state_files(storage, "b", handles)
    assert sorted(storage.names()) == sorted(handle.name for handle in handles)


def test_two_writers_of_one_name_do_not_meet(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    one = write_state_file(storage, "00000007", [b"one"], is_snapshot=False)
    other = write_state_file(storage, "00000007", [b"other"], is_snapshot=False)

    assert list(read_state_file(storage, one)) == [b"one"]
    assert list(read_state_file(storage, other)) == [b"other"]


def test_the_bytes_are_on_disk_before_anybody_hears_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_lasting_folder(str(tmp_path))
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))

    handle = write_state_file(LocalStorage(str(tmp_path)), "a", [b"content"], is_snapshot=False)

    assert synced[0] == handle.length


@in_one_folder
@given(frames=st.lists(st.binary(), min_size=1, max_size=3), data=st.data())
def test_any_damage_is_found_before_anything_is_read(
    tmp_path: Path, frames: list[bytes], data: st.DataObject
) -> None:
    storage = LocalStorage(str(tmp_path))
    handle = write_state_file(storage, "a", frames, is_snapshot=False)
    content = storage.read(handle.name)
    place = data.draw(st.integers(0, len(content) - 1))
    kind = data.draw(st.sampled_from(["flipped", "truncated", "longer"]))
    damaged = bytearray(content)
    if kind == "flipped":
        damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "truncated":
        del damaged[place:]
    else:
        damaged += b"\0"
    storage.write(handle.name, [bytes(damaged)])

    for at_once in (0, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("penstock.checkpoint.handles._AT_ONCE", at_once)
            with pytest.raises(DamagedStateError) as raised:
                next(read_state_file(storage, handle))

        assert storage.url(handle.name) in raised.value.message
        assert f"it has {len(damaged)} bytes" in raised.value.message
        assert raised.value.hint
    with pytest.raises(DamagedStateError):
        verify_state_file(storage, handle)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    handle = StateHandle("gone", 1, 0, is_snapshot=True)

    with pytest.raises(DamagedStateError, match=r"gone cannot be read: .*No such file") as raised:
        next(read_state_file(LocalStorage(str(tmp_path)), handle))

    assert raised.value.hint is not None
    assert raised.value.hint.startswith("The checkpoint folder must be reached by all workers")
