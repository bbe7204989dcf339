"""Files in an object store: S3 and what speaks its language, Google Cloud Storage, Azure."""

from __future__ import annotations

import contextlib
import io
import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final

from penstock.errors import ObjectStoreError, ObstoreNotFoundError

if TYPE_CHECKING:
    from obstore import ReadableFile
    from obstore.store import ObjectStore

SCHEMES: Final = frozenset({"s3", "s3a", "gs", "az", "abfs", "abfss"})
"""What the URLs of object stores begin with."""

_CHUNK: Final = 1 << 20
_PART: Final = 8 << 20
_WRITER: Final = "penstock"
_SECONDS_TO_REACH: Final = timedelta(seconds=5)


class ObjectStorage:
    """Files below a URL in an object store. What it refuses to do is an `ObjectStoreError`.

    How the store is reached is said by the environment of each process, in the words of obstore and of
    the vendors' own tools, such as `AWS_ENDPOINT_URL`, `AWS_REGION` and `AWS_ACCESS_KEY_ID`. What the
    network loses is tried again.

    Args:
        location: The URL, such as `s3://bucket/folder`.
        store: The store, if it is known already.

    Raises:
        ObstoreNotFoundError: If obstore is not installed.
        ObjectStoreError: If the store is not described well enough.
    """

    def __init__(self, location: str, store: ObjectStore | None = None) -> None:
        self.location = location.rstrip("/")
        self._store = _open(self.location) if store is None else store

    def url(self, name: str) -> str:
        return f"{self.location}/{name}"

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        import obstore

        rest = iter(chunks)
        first = bytearray()
        for chunk in rest:
            first += chunk
            if len(first) >= _PART:
                break
        with self._named(name, "written"):
            if len(first) < _PART:
                obstore.put(self._store, name, bytes(first))
            else:
                parts = itertools.chain([bytes(first)], rest)
                obstore.put(self._store, name, parts, chunk_size=_PART)

    def create(self, name: str, data: bytes) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        # A store whose answer was lost is asked again, and may find what it wrote itself.
        writer = uuid.uuid4().hex
        with self._named(name, "created"):
            try:
                obstore.put(self._store, name, data, mode="create", attributes={_WRITER: writer})
            except AlreadyExistsError as error:
                if obstore.get(self._store, name).attributes.get(_WRITER) != writer:
                    raise FileExistsError(f"{self.url(name)} exists.") from error

    def read(self, name: str) -> bytes:
        import obstore

        with self._named(name, "read"):
            return obstore.get(self._store, name).bytes().to_bytes()

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        import obstore

        with self._named(name, "found"):
            try:
                obstore.head(self._store, name)
            except FileNotFoundError:
                return False
            return True

    def opened(self, name: str) -> IO[bytes]:
        """Return a file to be read, in which one can go back and forth.

        Raises:
            FileNotFoundError: If there is none.
        """
        import obstore

        with self._named(name, "read"):
            reader = obstore.open_reader(self._store, name)
        return io.BufferedReader(_Reading(reader, partial(self._named, name, "read")), _CHUNK)

    def chunks(self, name: str) -> Iterator[bytes]:
        import obstore

        with self._named(name, "read"):
            for chunk in obstore.get(self._store, name).stream(min_chunk_size=_CHUNK):
                yield bytes(chunk)

    def names(self, prefix: str = "") -> list[str]:
        import obstore

        with self._named(prefix, "listed"):
            found = obstore.list(self._store, prefix or None)
            return sorted(file["path"] for files in found for file in files)

    def sync(self, folder: str) -> None:
        """Nothing: what is there lasts."""

    def delete(self, names: Iterable[str]) -> None:
        import obstore

        gone = list(names)
        if not gone:
            return
        with self._named(gone[0], "deleted"):
            try:
                obstore.delete(self._store, gone)
            except FileNotFoundError:
                for name in gone:
                    with contextlib.suppress(FileNotFoundError):
                        obstore.delete(self._store, name)

    def folders(self, prefix: str) -> list[str]:
        import obstore

        with self._named(prefix, "listed"):
            found = obstore.list_with_delimiter(self._store)["common_prefixes"]
        names = [name.rstrip("/") for name in found]
        return sorted(name for name in names if name.startswith(prefix))

    def delete_folder(self, name: str) -> None:
        self.delete(self.names(name))

    @contextlib.contextmanager
    def _named(self, name: str, what: str) -> Iterator[None]:
        """Name the file in what the store complains of."""
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as error:
            if what == "read":
                raise FileNotFoundError(
                    f"{self.url(name)} is not there: {_reason(error)}"
                ) from error
            raise self._refused(name, what, error) from error
        except BaseError as error:
            raise self._refused(name, what, error) from error

    def _refused(self, name: str, what: str, error: BaseException) -> ObjectStoreError:
        return ObjectStoreError(
            f"{self.url(name)} cannot be {what}: {_reason(error)}.",
            hint="The store's address and credentials come from the environment of each process, also "
            "on the workers.",
        )


class _Reading(io.RawIOBase):
    """A file in an object store, as Python has files.

    Args:
        reader: Reads it.
        named: Names it in what the store complains of.
    """

    def __init__(
        self, reader: ReadableFile, named: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._reader = reader
        self._named = named

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._named():
            data = self._reader.read(len(buffer)).to_bytes()
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._named():
            return self._reader.seek(offset, whence)

    def tell(self) -> int:
        return self._reader.tell()


def _reason(error: BaseException) -> str:
    """Return what obstore says, without the insides of the library."""
    return str(error).partition("\n\nDebug source")[0].strip().rstrip(".")


def reaches(location: str) -> bool:
    """Whether this process reaches a place in an object store, which is found out within some seconds."""
    store = _open(
        location,
        # Whether HTTP is allowed is said by the environment, of which these options take the place.
        client_options={"connect_timeout": "2s", "timeout": "4s", "allow_http": True},
        retry_config={"max_retries": 1, "retry_timeout": _SECONDS_TO_REACH},
    )
    try:
        ObjectStorage(location, store).names("nothing")
    except ObjectStoreError:
        return False
    return True


def _open(location: str, **options: Any) -> ObjectStore:
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise ObstoreNotFoundError(
            f"{location} is in an object store, and obstore is not installed.",
            hint='Install "penstock[object-store]", also where the workers run, or give the path of a '
            "folder.",
        ) from error
    try:
        return from_url(location, **options)
    except (BaseError, ValueError) as error:
        raise ObjectStoreError(
            f"The object store at {location} cannot be opened: {_reason(error)}.",
            hint="Set what is missing in the environment of each process, also on the workers.",
        ) from error
