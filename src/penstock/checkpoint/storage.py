"""Where checkpoints are kept: files below one location, on a disk or in an object store."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from penstock.checkpoint.lasting import make_lasting_folder, sync_folder
from penstock.checkpoint.object_storage import SCHEMES, ObjectStorage
from penstock.errors import (
    CheckpointNotReadableError,
    CheckpointNotWritableError,
    InvalidArgumentError,
)

_CHUNK: Final = 1 << 20
_DRAFT: Final = re.compile(r"\.[0-9a-f]{32}")
_NO_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}
_FOREIGN: Final = {
    "dbfs": (
        "DBFS, the file system of Databricks",
        (
            "Give the object store that is mounted there or, in place of DBFS's own root, one of yours, as in "
            "s3://bucket/folder, gs://bucket/folder or abfss://container@account.dfs.core.windows.net/folder. See "
            "docs/platforms/databricks.md."
        ),
    ),
    "hdfs": (
        "HDFS, the file system of Hadoop",
        (
            "Give an object store, as in s3://bucket/folder, gs://bucket/folder or "
            "abfss://container@account.dfs.core.windows.net/folder, or the path of a folder that is mounted on all machines."
        ),
    ),
}
"""By the schemes of their URLs, file systems that penstock cannot reach, and what to give instead."""


class Storage(Protocol):
    """Files below one location. Names are relative to it, with slashes.

    A file appears whole or not at all, and is durable once the call that wrote it has returned.

    Attributes:
        location: The location, as `open_storage` takes it.
    """

    location: str

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file; one of that name is replaced."""

    def create(self, name: str, data: bytes) -> None:
        """Write a file that must not exist.

        Raises:
            FileExistsError: If it exists; of two that create it at once, one gets this.
        """

    def read(self, name: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            FileNotFoundError: If there is none.
        """

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file, in pieces of about a megabyte.

        Raises:
            FileNotFoundError: If there is none.
        """

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all files below a folder, sorted.

        Raises:
            CheckpointNotReadableError: If a folder is there and cannot be listed.
        """

    def sync(self, folder: str) -> None:
        """Make durable what is there in a folder: whoever wrote it may have been killed before its name was.

        Args:
            folder: The name of the folder, which need not be there.
        """

    def delete(self, names: Iterable[str]) -> None:
        """Delete files; those that do not exist are left out."""

    def folders(self, prefix: str) -> list[str]:
        """Return the names of the folders right below the location whose names begin with a prefix, sorted."""

    def delete_folder(self, name: str) -> None:
        """Delete a folder with all that is in it, also what `names` leaves out."""

    def url(self, name: str) -> str:
        """Return where a file is, in a form that Spark and other programs read."""


class LocalStorage:
    """Files below a folder that all processes of the job reach under one path.

    Args:
        folder: The folder; made when something is written.
        is_durable: Whether files outlive a failure of the machine; not needed of what ends with the job.
    """

    def __init__(self, folder: str, *, is_durable: bool = True) -> None:
        # What begins with two slashes is absolute as well, and Python keeps both.
        self.location = re.sub(r"^//", "/", os.path.abspath(folder))
        self._is_durable = is_durable

    def url(self, name: str) -> str:
        return os.path.join(self.location, *name.split("/"))

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        with writing(self.location):
            draft = self._draft(name, chunks)
            try:
                os.replace(draft, self.url(name))
            except BaseException:
                os.unlink(draft)
                raise
            self._sync_folder(os.path.dirname(draft))

    def create(self, name: str, data: bytes) -> None:
        with writing(self.location):
            draft = self._draft(name, [data])
            try:
                self._link(draft, name)
            finally:
                os.unlink(draft)
            self._sync_folder(os.path.dirname(draft))

    def _link(self, draft: str, name: str) -> None:
        """Give a draft its name, unless another has it: of those who do so at once, one wins."""
        try:
            os.link(draft, self.url(name))
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            raise CheckpointNotWritableError(
                f"Checkpoints cannot be kept at {self.location}: the file system there has no hard links "
                f"({error.strerror}), by which of two drivers that commit an epoch only one does.",
                hint="Set execution.checkpointing.dir to an object store, such as s3://bucket/folder, or to a folder on a disk "
                "that has hard links, as local disks and NFS have. See docs/object-stores.md.",
            ) from None

    def drafts(self) -> list[str]:
        """Return the paths of files that are half written, by somebody who still writes or by one who died."""
        return [
            os.path.join(folder, file)
            for folder, _, files in os.walk(self.location)
            for file in filter(_DRAFT.fullmatch, files)
        ]

    def delete_drafts(self, paths: Iterable[str]) -> None:
        """Delete files that are half written. One who still writes them will fail."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _draft(self, name: str, chunks: Iterable[bytes]) -> str:
        folder = os.path.dirname(self.url(name))
        make_folder(folder, self.location, is_durable=self._is_durable)
        draft = os.path.join(folder, f".{uuid.uuid4().hex}")
        try:
            with open(draft, "xb") as file:
                file.writelines(chunks)
                file.flush()
                if self._is_durable:
                    os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)
            raise
        return draft

    def sync(self, folder: str) -> None:
        with writing(self.location), contextlib.suppress(FileNotFoundError):
            self._sync_folder(self.url(folder))

    def _sync_folder(self, folder: str) -> None:
        """Make the names in a folder durable."""
        if self._is_durable:
            sync_folder(folder)

    def read(self, name: str) -> bytes:
        with open(self.url(name), "rb") as file:
            return file.read()

    def chunks(self, name: str) -> Iterator[bytes]:
        with open(self.url(name), "rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    def names(self, prefix: str = "") -> list[str]:
        found = []
        top = self.url(prefix) if prefix else self.location
        for folder, _, files in os.walk(top, onerror=self._raise_unless_gone):
            place = folder[len(self.location) :].strip(os.sep).replace(os.sep, "/")
            inside = f"{place}/" if place else ""
            found += [inside + file for file in files if not file.startswith(".")]
        return sorted(found)

    def _raise_unless_gone(self, error: OSError) -> None:
        """Refuse to take a folder that cannot be listed for one that is empty."""
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return
        raise CheckpointNotReadableError(
            f"The checkpoint location {self.location} cannot be read: {error}.",
            hint="It has to be readable for the driver and all workers. What was committed there before is kept: "
            "the job goes on from that when it is started again.",
        ) from error

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.url(name))

    def folders(self, prefix: str) -> list[str]:
        with contextlib.suppress(FileNotFoundError), os.scandir(self.location) as entries:
            return sorted(
                entry.name for entry in entries if entry.name.startswith(prefix) and entry.is_dir()
            )
        return []

    def delete_folder(self, name: str) -> None:
        shutil.rmtree(self.url(name), ignore_errors=True)


@contextlib.contextmanager
def writing(location: str) -> Iterator[None]:
    """Turn what the operating system refuses into an error of penstock's.

    Raises:
        CheckpointNotWritableError: If the location is full, read-only, or somebody else's.
    """
    try:
        yield
    except (CheckpointNotWritableError, FileExistsError, FileNotFoundError):
        raise
    except OSError as error:
        raise _not_writable(location, error) from error


def make_folder(folder: str, location: str, *, is_durable: bool = True) -> None:
    """Make a folder of a location, if it is not there.

    Args:
        folder: The folder.
        location: The location.
        is_durable: Whether it outlives a failure of the machine.

    Raises:
        CheckpointNotWritableError: If it cannot be made.
    """
    try:
        if is_durable:
            make_lasting_folder(folder)
        else:
            os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise _not_writable(location, error) from error


def _not_writable(location: str, error: OSError) -> CheckpointNotWritableError:
    return CheckpointNotWritableError(
        f"The checkpoint location {location} cannot be written: {error}.",
        hint="It has to have room, and to be writable for the driver and all workers. What was committed "
        "there before is kept: the job goes on from that when it is started again.",
    )


def open_storage(location: str, *, is_durable: bool = True) -> Storage:
    """Return the storage at a location: a folder's path, or the URL of a place in an object store.

    Args:
        location: The location.
        is_durable: Whether files in a folder outlive a failure of the machine; in an object store all do.

    Raises:
        InvalidArgumentError: If nothing is known of such a URL.
        ObstoreNotFoundError: If it is one of an object store and obstore is not installed.
        ObjectStoreError: If the object store is not described well enough.
    """
    if not isinstance(location, str) or not location.strip():
        raise InvalidArgumentError(
            f"{location!r} is no place for checkpoints.",
            hint="Give the path of a folder, or a URL, as a string.",
        )
    if location.startswith("~"):
        raise InvalidArgumentError(
            f"{location!r} is no place for checkpoints: on another machine, or for another user, ~ is another folder.",
            hint=f"Give the whole path, as {os.path.expanduser(location)!r}; or ./{location} for a folder of that name.",
        )
    scheme, separator, _ = location.partition(":/")
    if scheme == "file" or not separator or "/" in scheme:
        return LocalStorage(_path_of(location), is_durable=is_durable)
    if scheme in SCHEMES and location.startswith(f"{scheme}://"):
        return ObjectStorage(location)
    if scheme in _FOREIGN:
        place, hint = _FOREIGN[scheme]
        raise InvalidArgumentError(
            f"Checkpoints cannot be kept at {location!r}: penstock writes them by itself, and has no client for {place}.",
            hint=hint,
        )
    raise InvalidArgumentError(
        f"Checkpoints cannot be kept at {location!r}: penstock knows no such place.",
        hint="Give the path of a folder that all workers reach, or a URL that begins with "
        f"{', '.join(f'{scheme}://' for scheme in sorted(SCHEMES))}.",
    )


def _path_of(location: str) -> str:
    """Return the path that a location of files names: a path itself, or a URL.

    Raises:
        InvalidArgumentError: If it is on another machine.
    """
    if not location.startswith("file://"):
        return location.removeprefix("file:") if location.startswith("file:/") else location
    host, slash, path = location.removeprefix("file://").partition("/")
    if host in {"", "localhost"} and slash:
        return slash + path
    raise InvalidArgumentError(
        f"Checkpoints cannot be kept at {location!r}: after file:// comes the name of a machine, {host!r}.",
        hint=f"Give the path of a folder that driver and workers reach, or a URL such as file:///{host}/{path}.",
    )
