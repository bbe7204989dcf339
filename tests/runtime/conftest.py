from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from penstock.runtime.state.rocksdb.rocksdb_database import RocksDatabase


@pytest.fixture
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine would cut blocks, and so buffers, in another way on every run."""
    clock = SimpleNamespace(perf_counter=lambda: 0.0)
    monkeypatch.setattr("penstock.runtime.task.subtask.time", clock)


@contextmanager
def held_open(directory: str | None) -> Iterator[None]:
    """Keep a directory's database open: opening one takes longer than most of what tests do with it."""
    database = RocksDatabase.in_directory(directory)
    user = database.add_user(lambda: None)
    yield
    database.remove_user(user)


@pytest.fixture(scope="module")
def _open_database() -> Iterator[None]:
    """The database of all operators stays open."""
    with held_open(None):
        yield


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A directory whose database stays open."""
    path = str(tmp_path_factory.mktemp("rocksdb"))
    with held_open(path):
        yield path
