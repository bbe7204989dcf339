"""The files at a job's checkpoint location, as its client reaches them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.checkpoint.storage import LocalStorage, Storage

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
        frame = self._spark.createDataFrame([(text,)], "value string").coalesce(1)
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


def client_files(spark: SparkSession, storage: Storage) -> ClientFiles:
    """Return the files at a location.

    Args:
        spark: The session.
        storage: The location.
    """
    if isinstance(storage, LocalStorage):
        return FilesThroughSpark(spark, storage.location)
    return FilesInStore(storage)
