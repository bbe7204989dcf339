from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from penstock.errors import RocksDBNotFoundError
from penstock.runtime.state.factory import create_backend
from penstock.runtime.state.rocksdb.rocksdb_database import RocksDatabase

LEAVE_A_DATABASE = """
import os, sys
from penstock.runtime.state.rocksdb.rocksdb_database import RocksDatabase
RocksDatabase.in_directory(sys.argv[1])
os._exit(0)
"""


def put(database: RocksDatabase, key: bytes, value: bytes) -> None:
    batch = database.new_batch()
    batch.put(key, value)
    database.write(batch)


def folders(path: Path) -> list[str]:
    return [found.name for found in path.iterdir()]


def test_a_process_has_one_database_a_directory_until_the_last_user_leaves(tmp_path: Path) -> None:
    database = RocksDatabase.in_directory(str(tmp_path))
    one, other = (database.add_user(lambda: None) for _ in range(2))
    assert RocksDatabase.in_directory(str(tmp_path)) is database
    put(database, one + b"x", b"1")
    put(database, other + b"x", b"2")
    database.remove_user(one)
    assert database.get(one + b"x") is None
    assert database.get(other + b"x") == b"2"
    database.remove_user(one)
    assert len(folders(tmp_path)) == 1
    database.remove_user(other)
    assert folders(tmp_path) == []


def test_threads_have_databases_of_their_own_and_leave_those_of_others(tmp_path: Path) -> None:
    ours = RocksDatabase.in_directory(str(tmp_path))
    user = ours.add_user(lambda: None)
    put(ours, user + b"x", b"1")
    os.utime(tmp_path / folders(tmp_path)[0], (0, 0))  # as old as what a dead process left
    with ThreadPoolExecutor(1) as thread:
        theirs = thread.submit(RocksDatabase.in_directory, str(tmp_path)).result()
        assert theirs is not ours
        other = theirs.add_user(lambda: None)
        assert len(folders(tmp_path)) == 2
        theirs.remove_user(other)
        assert len(folders(tmp_path)) == 1
    assert ours.get(user + b"x") == b"1"
    ours.remove_user(user)
    assert folders(tmp_path) == []


def test_a_scan_is_in_order_and_stays_in_its_prefix(tmp_path: Path) -> None:
    database = RocksDatabase.in_directory(str(tmp_path))
    user = database.add_user(lambda: None)
    for key in (b"a", b"b\xff", b"b\x00", b"b", b"c"):
        put(database, key, key)
    assert list(database.scan(b"b")) == [(key, key) for key in (b"b", b"b\x00", b"b\xff")]
    assert list(database.scan(b"b", b"b\x01")) == [(b"b\xff", b"b\xff")]
    assert list(database.scan_keys(b"b", b"b")) == [b"b", b"b\x00", b"b\xff"]
    database.delete_all(b"b")
    assert list(database.scan(b"")) == [(b"a", b"a"), (b"c", b"c")]
    database.remove_user(user)


def age(path: Path, folder: str, seconds: float) -> None:
    os.utime(path / folder, times=(time.time() - seconds,) * 2)


def test_what_a_dead_process_left_is_removed_and_what_a_living_one_has_is_not(
    tmp_path: Path,
) -> None:
    subprocess.run([sys.executable, "-c", LEAVE_A_DATABASE, str(tmp_path)], check=True, timeout=60)
    (left,) = folders(tmp_path)
    age(tmp_path, left, 3_600)
    database = RocksDatabase.in_directory(str(tmp_path))
    user = database.add_user(lambda: None)
    (mine,) = folders(tmp_path)
    assert mine != left
    age(tmp_path, mine, 3_600)
    subprocess.run([sys.executable, "-c", LEAVE_A_DATABASE, str(tmp_path)], check=True, timeout=60)
    assert mine in folders(tmp_path)
    put(database, b"a", b"b")
    database.remove_user(user)


@pytest.mark.parametrize("has_lock", [True, False])
def test_a_folder_that_another_process_is_about_to_open_is_not_removed(
    tmp_path: Path, has_lock: bool
) -> None:
    name = "penstock-rocksdb-of-another"
    (tmp_path / name).mkdir()
    if has_lock:
        (tmp_path / name / "LOCK").touch()
    database = RocksDatabase.in_directory(str(tmp_path))
    database.remove_user(database.add_user(lambda: None))
    assert folders(tmp_path) == [name]


def test_folders_that_others_can_change_are_not_looked_into(tmp_path: Path) -> None:
    names = ["penstock-rocksdb-link", "penstock-rocksdb-open"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "LOCK").touch()
    (tmp_path / names[0]).symlink_to(tmp_path / "mine")
    (tmp_path / names[1]).mkdir()
    (tmp_path / names[1]).chmod(0o777)
    os.mkfifo(tmp_path / names[1] / "LOCK")
    for name in names:
        age(tmp_path, name, 3_600)
    database = RocksDatabase.in_directory(str(tmp_path))
    database.remove_user(database.add_user(lambda: None))
    assert sorted(folders(tmp_path)) == ["mine", *names]


def test_folders_of_other_names_are_not_removed(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "LOCK").touch()
    age(tmp_path, "left", 3_600)
    database = RocksDatabase.in_directory(str(tmp_path))
    database.remove_user(database.add_user(lambda: None))
    assert folders(tmp_path) == ["left"]


def test_users_spill_when_all_caches_together_are_too_large(tmp_path: Path) -> None:
    database = RocksDatabase.in_directory(str(tmp_path))
    spilled: list[str] = []
    users = [database.add_user(partial(spilled.append, name)) for name in ("a", "b")]
    database.note_cached(60 << 20)
    assert spilled == []
    database.note_cached(5 << 20)
    assert spilled == ["a", "b"]
    assert database.cached == 0
    for user in users:
        database.remove_user(user)


def test_without_rocksdict_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    with pytest.raises(RocksDBNotFoundError, match=r"penstock\[rocksdb\]"):
        create_backend(
            "rocksdb",
            max_parallelism=1,
            key_groups=range(1),
            clock=lambda: 0,
            directory=str(tmp_path),
        )
    assert folders(tmp_path) == []


def test_what_rocksdb_itself_keeps_in_memory_is_bounded(tmp_path: Path) -> None:
    database = RocksDatabase.in_directory(str(tmp_path), 4 << 20)
    prefix = database.add_user(lambda: None)
    for first in range(0, 4000, 100):
        batch = database.new_batch()
        for number in range(first, first + 100):
            batch.put(prefix + b"%08d" % number, os.urandom(10_000))
        database.write(batch)
    assert sum(1 for _ in database.scan(prefix)) == 4000

    # Forty megabytes were written and read; the least that RocksDB is given is eight.
    assert 0 < database.block_cache.get_usage() <= 12 << 20
    database.remove_user(prefix)
