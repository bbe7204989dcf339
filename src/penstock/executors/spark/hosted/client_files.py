"""The files at a job's checkpoint location, as its client reaches them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.checkpoint.object_storage import reaches
from penstock.checkpoint.storage import LocalStorage, Storage, open_storage
from penstock.errors import ObjectStoreError, ObstoreNotFoundError
from penstock.executors.spark.frames.called_on_workers import called_on_workers
from penstock.executors.spark.shipping import ship_code

T = TypeVar("T")

_LOG: Final = logging.getLogger("penstock")
_NOT_THERE: Final = ("PATH_NOT_FOUND", "FileNotFoundException", "FILE_NOT_EXIST")


class ClientFiles(Protocol):
    """Files below one location. Names are relative to it, with slashes.

    Attributes:
        seconds: The time from one look for new files to the next.
    """

    seconds: float

    def names(self, folder: str) -> list[str]:
        """Return the names of all files below a folder; none if it is not there."""

    def read(self, names: Sequence[str]) -> list[bytes]:
        """Return what is in files.

        Raises:
            FileNotFoundError: If one is gone.
        """

    def write_text(self, folder: str, text: str) -> None:
        """Write a line of text into a new folder, as Spark does: to a file "part-...", and an empty one "_SUCCESS" behind it."""


class FilesThroughSpark:
    """Files that the server reaches, and perhaps not this machine.

    Args:
        spark: The session.
        location: A path.
    """

    seconds = 0.2

    def __init__(self, spark: SparkSession, location: str) -> None:
        self._spark = spark
        self._location = location

    def names(self, folder: str) -> list[str]:
        place = f"{self._location}/{folder}"
        reader = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        try:
            paths = reader.load(place).inputFiles()
        except PySparkException as error:
            if _is_not_there(error):
                return []
            raise
        return [f"{folder}/{path.rpartition(f'/{folder}/')[2]}" for path in paths]

    def read(self, names: Sequence[str]) -> list[bytes]:
        paths = [f"{self._location}/{name}" for name in names]
        try:
            frame = self._spark.read.format("binaryFile").load(paths)
            rows = frame.select("path", "content").collect()
        except PySparkException as error:
            if _is_not_there(error):
                raise FileNotFoundError(str(error)) from error
            raise
        contents = {row[0].rpartition("/")[2]: bytes(row[1]) for row in rows}
        return [contents[name.rpartition("/")[2]] for name in names]

    def write_text(self, folder: str, text: str) -> None:
        # Not createDataFrame, for which a client asks its server for what older ones do not say.
        value = f"CAST(unhex('{text.encode().hex()}') AS STRING) AS value"
        frame = self._spark.range(0, 1, 1, 1).selectExpr(value)
        frame.write.text(f"{self._location}/{folder}")


def _is_not_there(error: PySparkException) -> bool:
    text = str(error)
    return any(sign in text for sign in _NOT_THERE)


class FilesInStore:
    """Files in an object store, which this process reaches as the server does.

    Args:
        storage: The location.
    """

    seconds = 1.0
    """Each look is a request, which costs money."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def names(self, folder: str) -> list[str]:
        return self._storage.names(folder)

    def read(self, names: Sequence[str]) -> list[bytes]:
        return [self._storage.read(name) for name in names]

    def write_text(self, folder: str, text: str) -> None:
        self._storage.write(f"{folder}/part-0", [f"{text}\n".encode()])
        self._storage.write(f"{folder}/_SUCCESS", [])


class FilesThroughWorkers:
    """Files in an object store that this process does not reach: a worker of the server does it, as for the job.

    Args:
        spark: The session.
        location: The store's URL.
    """

    seconds = 1.0

    def __init__(self, spark: SparkSession, location: str) -> None:
        ship_code(spark)
        self._spark = spark
        self._location = location

    def names(self, folder: str) -> list[str]:
        return self._asked(lambda storage: storage.names(folder))

    def read(self, names: Sequence[str]) -> list[bytes]:
        return self._asked(lambda storage: [storage.read(name) for name in names])

    def write_text(self, folder: str, text: str) -> None:
        def write(storage: Storage) -> None:
            storage.write(f"{folder}/part-0", [f"{text}\n".encode()])
            storage.write(f"{folder}/_SUCCESS", [])

        self._asked(write)

    def _asked(self, ask: Callable[[Storage], T]) -> T:
        location = self._location
        (found,) = called_on_workers(
            self._spark.range(0, 1, 1, 1), lambda: ask(open_storage(location))
        )
        return found


def client_files(spark: SparkSession, location: str) -> ClientFiles:
    """Return the files at a location.

    Args:
        spark: The session.
        location: A path, or a URL.

    Raises:
        InvalidArgumentError: If it is neither.
    """
    try:
        storage = open_storage(location)
    except (ObjectStoreError, ObstoreNotFoundError):
        return FilesThroughWorkers(spark, location)
    if isinstance(storage, LocalStorage):
        return FilesThroughSpark(spark, storage.location)
    if reaches(location):
        return FilesInStore(storage)
    _LOG.info("%s is not reached from here: workers of the server look there.", location)
    return FilesThroughWorkers(spark, location)
