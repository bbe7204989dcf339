from __future__ import annotations

import builtins
import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from obstore.store import MemoryStore

from penstock.checkpoint.lasting import make_lasting_folder
from penstock.checkpoint.object_storage import ObjectStorage
from penstock.checkpoint.storage import LocalStorage, Storage, open_storage
from penstock.errors import (
    CheckpointNotReadableError,
    CheckpointNotWritableError,
    InvalidArgumentError,
    ObjectStoreError,
    ObstoreNotFoundError,
)

if TYPE_CHECKING:
    from tests.servers.s3_server import S3Server

BIG = 17 << 20
"""To an object store it goes in three parts."""


@pytest.fixture(params=["disk", "memory", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """A storage of each kind, with nothing in it."""
    if request.param == "disk":
        return open_storage(str(tmp_path / "deep" / "folder"))
    if request.param == "memory":
        return ObjectStorage("memory", MemoryStore())
    _, location = request.getfixturevalue("s3")
    return open_storage(location)


def test_what_is_read_is_what_was_written(storage: Storage) -> None:
    storage.write("state/0-1/00000007-ab", [b"one", b"", b"two"])

    assert storage.read("state/0-1/00000007-ab") == b"onetwo"
    assert b"".join(storage.chunks("state/0-1/00000007-ab")) == b"onetwo"


@pytest.mark.parametrize("chunks", [[], [b""]])
def test_a_file_may_be_empty(storage: Storage, chunks: list[bytes]) -> None:
    storage.write("empty", chunks)
    storage.create("created", b"")

    assert (storage.read("empty"), storage.read("created")) == (b"", b"")
    assert b"".join(storage.chunks("empty")) == b""
    assert storage.names() == ["created", "empty"]


def test_large_files_are_written_and_read_in_pieces(storage: Storage) -> None:
    most_at_once = 0
    storage.write("large", (bytes([number]) * (1 << 20) for number in range(BIG >> 20)))

    found = bytearray()
    for chunk in storage.chunks("large"):
        most_at_once = max(most_at_once, len(chunk))
        found += chunk

    assert found == b"".join(bytes([number]) * (1 << 20) for number in range(BIG >> 20))
    if storage.location != "memory":
        assert most_at_once < BIG
    storage.delete(["large"])


def test_writing_again_replaces(storage: Storage) -> None:
    storage.write("name", [b"a long first content"])
    storage.write("name", [b"second"])

    assert storage.read("name") == b"second"


@pytest.mark.parametrize("size", [0, 100, 9 << 20])
def test_a_file_appears_whole_or_not_at_all(storage: Storage, size: int) -> None:
    storage.write("known", [b"before"])

    def chunks() -> Iterator[bytes]:
        yield bytes(size)
        raise ValueError("the frame cannot be made")

    for name in ("known", "new"):
        with pytest.raises(ValueError, match="the frame cannot be made"):
            storage.write(name, chunks())

    assert storage.names() == ["known"]
    assert storage.read("known") == b"before"


def test_a_file_is_created_once(storage: Storage) -> None:
    storage.create("epochs/00000001", b"first")

    for content in (b"second", b"first"):
        with pytest.raises(FileExistsError):
            storage.create("epochs/00000001", content)

    assert storage.read("epochs/00000001") == b"first"
    assert storage.names() == ["epochs/00000001"]


def test_of_those_who_create_a_file_at_once_one_wins(storage: Storage) -> None:
    for number in range(10):
        won: list[int] = []
        lost: list[int] = []
        together = threading.Barrier(3)

        def create(
            who: int,
            name: str = f"race-{number}",
            won: list[int] = won,
            lost: list[int] = lost,
            together: threading.Barrier = together,
        ) -> None:
            together.wait()
            try:
                storage.create(name, b"the same content")
            except FileExistsError:
                lost.append(who)
            else:
                won.append(who)

        threads = [threading.Thread(target=create, args=(who,)) for who in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert (len(won), len(lost)) == (1, 2)


def test_names_those_below_a_folder(storage: Storage) -> None:
    for name in ("state/1-0/b", "state/1-0/a", "state/10-0/c", "stated", "epochs/00000001"):
        storage.create(name, b"")

    assert storage.names("state/1-0") == ["state/1-0/a", "state/1-0/b"]
    assert storage.names("state") == ["state/1-0/a", "state/1-0/b", "state/10-0/c"]
    assert storage.names("prepared") == []
    assert len(storage.names()) == 5


def test_there_are_no_names_before_anything_is_written(storage: Storage) -> None:
    assert storage.names() == []


def test_deletes_what_there_is(storage: Storage) -> None:
    for name in ("a/b", "a/c", "d"):
        storage.create(name, b"")

    storage.delete([])
    storage.delete(["unknown", "a/b", "folder/unknown", "d"])

    assert storage.names() == ["a/c"]
    storage.create("a/b", b"new")
    assert storage.read("a/b") == b"new"


@pytest.mark.parametrize("way", ["read", "chunks"])
def test_there_is_no_such_file(storage: Storage, way: str) -> None:
    with pytest.raises(FileNotFoundError):
        b"".join(getattr(storage, way)("no/such/file"))


def test_the_location_opens_the_same_storage(s3: tuple[S3Server, str], tmp_path: Path) -> None:
    for location in (s3[1], s3[1].replace("s3://", "s3a://") + "/", str(tmp_path)):
        open_storage(location).write("a/b", [location.encode()])

        again = open_storage(open_storage(location).location)

        assert again.read("a/b") == location.encode()
        assert again.url("a/b") == f"{location.rstrip('/')}/a/b"


class TestDisk:
    def test_a_file_is_on_disk_before_anybody_sees_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        steps: list[str] = []

        def watched(step: str) -> Callable[..., Any]:
            real = getattr(os, step)

            def call(*arguments: Any) -> Any:
                is_folder = step == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode)
                steps.append("sync folder" if is_folder else step)
                return real(*arguments)

            return call

        make_lasting_folder(str(tmp_path))
        for step in ("fsync", "link", "replace"):
            monkeypatch.setattr(os, step, watched(step))
        storage = LocalStorage(str(tmp_path))

        storage.write("a", [b"content"])
        assert steps == ["fsync", "replace", "sync folder"]
        steps.clear()
        storage.create("b", b"content")
        assert steps == ["fsync", "link", "sync folder"]

    def test_nobody_waits_for_the_disk_where_files_need_not_be_durable(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced: list[int] = []
        monkeypatch.setattr(os, "fsync", synced.append)
        storage = open_storage(str(tmp_path), is_durable=False)

        storage.write("deep/a", [b"content"])
        storage.create("b", b"content")

        assert (storage.read("deep/a"), storage.read("b")) == (b"content", b"content")
        assert synced == []

    @pytest.mark.parametrize("step", ["fsync", "link", "replace"])
    def test_a_full_disk_leaves_nothing_behind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        storage = LocalStorage(str(tmp_path))

        def fail(*arguments: Any) -> None:
            raise OSError("no space left")

        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            if step != "link":
                with pytest.raises(OSError, match="no space left"):
                    storage.write("name", [b"content"])
            if step != "replace":
                with pytest.raises(OSError, match="no space left"):
                    storage.create("name", b"content")

        assert list(tmp_path.iterdir()) == []
        storage.create("name", b"content")

    def test_drafts_are_no_files(self, tmp_path: Path) -> None:
        (tmp_path / ".draft").write_bytes(b"half a fi")

        assert LocalStorage(str(tmp_path)).names() == []

    @pytest.mark.parametrize(
        "scheme", ["file://", "file:", "", "/", "file:///", "file://localhost"]
    )
    def test_a_url_of_a_file_is_a_path(self, tmp_path: Path, scheme: str) -> None:
        storage = open_storage(f"{scheme}{tmp_path}")

        assert storage.location == str(tmp_path)
        assert open_storage(storage.location).location == str(tmp_path)

    def test_a_url_of_a_file_elsewhere_is_refused(self) -> None:
        with pytest.raises(InvalidArgumentError, match="'store'") as raised:
            open_storage("file://store/jobs")
        assert "file:///store/jobs" in str(raised.value.hint)

    def test_a_folder_that_cannot_be_listed_is_not_empty(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(path: str) -> NoReturn:
            raise OSError(errno.EIO, "the disk is away", path)

        storage = LocalStorage(str(tmp_path))
        storage.write("epochs/00000007", [b"content"])
        monkeypatch.setattr(os, "scandir", fail)

        with pytest.raises(CheckpointNotReadableError, match="the disk is away"):
            storage.names("epochs")

    def test_is_named_as_a_text(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgumentError, match="no place for checkpoints"):
            open_storage(tmp_path)  # type: ignore[arg-type]

    @pytest.mark.parametrize("location", ["~", "~/jobs", "~ann/jobs"])
    def test_is_no_home_of_somebody(self, location: str) -> None:
        with pytest.raises(InvalidArgumentError, match=f"'{location}' is no place") as raised:
            open_storage(location)
        assert "Give the whole path" in str(raised.value.hint)

    @pytest.mark.parametrize("below", ["file", "file/folder"])
    def test_a_folder_that_cannot_be_made_is_named(self, tmp_path: Path, below: str) -> None:
        (tmp_path / "file").write_bytes(b"")
        storage = LocalStorage(str(tmp_path / below))

        with pytest.raises(CheckpointNotWritableError, match=str(tmp_path / below)):
            storage.write("name", [b"content"])
        with pytest.raises(CheckpointNotWritableError, match=str(tmp_path / below)):
            storage.create("name", b"content")

    @pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
    def test_a_folder_that_cannot_be_written_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        def refuse(path: str, *arguments: Any) -> NoReturn:
            raise OSError(number, os.strerror(number), path)

        storage = LocalStorage(str(tmp_path))
        monkeypatch.setattr(builtins, "open", refuse)
        with pytest.raises(CheckpointNotWritableError, match=os.strerror(number)) as raised:
            storage.create("name", b"content")
        assert f"The checkpoint location {tmp_path} cannot be written" in raised.value.message
        assert "writable for the driver and all workers" in str(raised.value.hint)

    @pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
    def test_a_disk_without_hard_links_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        def refuse(source: str, target: str) -> NoReturn:
            raise OSError(number, os.strerror(number), source, None, target)

        monkeypatch.setattr(os, "link", refuse)
        with pytest.raises(CheckpointNotWritableError, match="has no hard links") as raised:
            LocalStorage(str(tmp_path)).create("name", b"content")
        assert str(tmp_path) in raised.value.message
        assert os.strerror(number) in raised.value.message
        assert "object store" in str(raised.value.hint)
        assert list(tmp_path.iterdir()) == []


class TestObjectStore:
    def test_a_store_whose_answer_was_lost_has_created_the_file(
        self, s3: tuple[S3Server, str]
    ) -> None:
        server, location = s3
        storage = open_storage(location)
        server.lost_answers = 1

        storage.create("epochs/00000001", b"content")

        assert server.lost_answers == 0
        assert storage.read("epochs/00000001") == b"content"
        with pytest.raises(FileExistsError):
            storage.create("epochs/00000001", b"content")

    def test_names_the_file_that_the_store_refuses(
        self, s3: tuple[S3Server, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        storage = open_storage("s3://unknown/place")

        with pytest.raises(
            ObjectStoreError, match="s3://unknown/place/a cannot be written: "
        ) as raised:
            storage.write("a", [b"content"])
        assert "NoSuchBucket" in raised.value.message
        assert "Debug source" not in raised.value.message
        with pytest.raises(OSError, match="cannot be created: "):
            storage.create("a", b"content")
        with pytest.raises(OSError, match="s3://unknown/place/state cannot be listed: "):
            storage.names("state")

    def test_says_what_is_missing_in_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)

        with pytest.raises(ObjectStoreError, match=r"az://c/x cannot be opened: .*Account must"):
            open_storage("az://c/x")

    def test_an_unknown_kind_of_url_is_refused(self) -> None:
        for place in ("webdav://host/folder", "s3:/bucket/folder"):
            with pytest.raises(
                InvalidArgumentError, match=f"cannot be kept at '{place}'"
            ) as raised:
                open_storage(place)
            assert "s3a://" in str(raised.value.hint)

    @pytest.mark.parametrize(
        ("place", "why"),
        [
            ("dbfs:/jobs/fares", "the file system of Databricks"),
            ("hdfs://host/folder", "the file system of Hadoop"),
        ],
    )
    def test_a_file_system_that_is_out_of_reach_is_named(self, place: str, why: str) -> None:
        with pytest.raises(InvalidArgumentError, match=f"cannot be kept at '{place}'") as raised:
            open_storage(place)
        assert why in raised.value.message
        assert "abfss://" in str(raised.value.hint)

    def test_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = builtins.__import__

        def without(name: str, *arguments: Any) -> Any:
            if name.startswith("obstore"):
                raise ImportError(name)
            return real(name, *arguments)

        monkeypatch.setattr(builtins, "__import__", without)

        with pytest.raises(ObstoreNotFoundError, match="s3://bucket/x") as raised:
            open_storage("s3://bucket/x")
        assert "penstock[object-store]" in str(raised.value.hint)
