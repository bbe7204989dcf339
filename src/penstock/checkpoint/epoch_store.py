"""Where the metadata of epochs is kept. To put a record in is to commit its epoch."""

from __future__ import annotations

import contextlib
from typing import Final, Protocol

from penstock.checkpoint.epoch_record import EpochRecord, decode, digest_of_record, encode
from penstock.checkpoint.storage import Storage
from penstock.errors import EpochTakenError

FOLDER: Final = "epochs"


class EpochStore(Protocol):
    """Where the records of epochs are kept. To put a record in is to commit its epoch."""

    def get(self, number: int) -> EpochRecord | None:
        """Return the record of an epoch, or None if it was not committed."""

    def numbers(self) -> list[int]:
        """Return the numbers of the epochs that were committed and not forgotten, in order."""

    def commit(self, record: EpochRecord) -> str:
        """Commit an epoch, and return the digest of its metadata.

        Raises:
            EpochTakenError: If it was committed before.
        """

    def replace(self, record: EpochRecord) -> None:
        """Put another record in the place of one that was committed."""

    def forget(self, number: int) -> None:
        """Drop the record of an epoch that nobody needs any more."""


class MemoryEpochStore:
    """Keeps records in this process: for jobs that nobody will start again."""

    def __init__(self) -> None:
        self._records: dict[int, EpochRecord] = {}

    def get(self, number: int) -> EpochRecord | None:
        return self._records.get(number)

    def numbers(self) -> list[int]:
        return sorted(self._records)

    def commit(self, record: EpochRecord) -> str:
        if record.number in self._records:
            raise _taken(record, self._records[record.number], "this process")
        self._records[record.number] = record
        return digest_of_record(record)

    def replace(self, record: EpochRecord) -> None:
        self._records[record.number] = record

    def forget(self, number: int) -> None:
        self._records.pop(number, None)


class StoredEpochs:
    """Keeps records in a storage, one file each.

    A record appears whole or not at all, and none replaces another: whoever commits an epoch first has
    committed it.

    Args:
        storage: The job's storage.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def get(self, number: int) -> EpochRecord | None:
        """Return the record of an epoch, or None if it was not committed.

        Raises:
            DamagedStateError: If the record is not what was written.
        """
        name = name_of(number)
        try:
            data = self._storage.read(name)
        except FileNotFoundError:
            return None
        return decode(data, self._storage.url(name))

    def numbers(self) -> list[int]:
        names = (name.rpartition("/")[2] for name in self._storage.names(FOLDER))
        return [int(name) for name in names if name.isdecimal()]

    def commit(self, record: EpochRecord) -> str:
        data = encode(record)
        name = name_of(record.number)
        try:
            self._storage.create(name, data)
        except FileExistsError as error:
            other = None
            with contextlib.suppress(Exception):
                other = self.get(record.number)
            raise _taken(record, other, self._storage.url(name)) from error
        return digest_of_record(record)

    def replace(self, record: EpochRecord) -> None:
        self._storage.write(name_of(record.number), [encode(record)])

    def forget(self, number: int) -> None:
        self._storage.delete([name_of(number)])


def name_of(number: int) -> str:
    """Return the name of the file that holds the record of an epoch."""
    return f"{FOLDER}/{number:08d}"


def _taken(record: EpochRecord, other: EpochRecord | None, where: str) -> EpochTakenError:
    who = "" if other is None else f" by driver {other.generation}"
    return EpochTakenError(
        f"Epoch {record.number} was committed before{who}, so that driver {record.generation} cannot "
        f"commit it: {where}.",
        hint="Two drivers run the same job. Stop one of them; the other goes on from what is committed.",
    )
