"""Where the metadata of epochs is kept. To put a record in is to commit its epoch."""

from __future__ import annotations

import contextlib
import math
import re
from typing import Final, NamedTuple, Protocol

from penstock.checkpoint.epoch_record import EpochRecord, decode, digest_of_record, encode
from penstock.checkpoint.storage import Storage
from penstock.errors import EpochTakenError

FOLDER: Final = "epochs"
_NAME: Final = re.compile(rf"{FOLDER}/(\d{{8,}})(?:-(\d{{8,}})-(\d{{8,}}))?")
_FIRST: Final = (0, 0)


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

    def forget(self, number: int) -> None:
        """Drop the record of an epoch that nobody needs any more."""

    def forget_given_up(self) -> None:
        """Drop the records of epochs that a job which went back has given up."""


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

    def forget(self, number: int) -> None:
        self._records.pop(number, None)

    def forget_given_up(self) -> None:
        """Nothing: nobody goes back."""


class _Place(NamedTuple):
    """What the name of a record says.

    Attributes:
        era: The generation of the driver that went back, and the number of the epoch it went back to;
            twice 0 as long as nobody has.
        number: The number of the epoch.
    """

    era: tuple[int, int]
    number: int

    @property
    def name(self) -> str:
        suffix = "" if self.era == _FIRST else "-{:08d}-{:08d}".format(*self.era)
        return f"{FOLDER}/{self.number:08d}{suffix}"


class StoredEpochs:
    """Keeps records in a storage, one file each.

    A record appears whole or not at all, and none replaces another: whoever commits an epoch first has
    committed it. A driver that goes back to an earlier epoch begins another era, under names of its own: with
    one file later epochs of earlier eras are given up, and nobody who still works in one of these can take
    part any more, nor delete what the new era has.

    Args:
        storage: The job's storage.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._era = _FIRST
        self._known: dict[int, _Place] = {}

    def _places(self) -> list[_Place]:
        """Return where all records are, those that were given up too."""
        return [
            _Place((int(match[2] or 0), int(match[3] or 0)), int(match[1]))
            for match in map(_NAME.fullmatch, self._storage.names(FOLDER))
            if match is not None
        ]

    def get(self, number: int) -> EpochRecord | None:
        """Return the record of an epoch, or None if it was not committed.

        Raises:
            DamagedStateError: If the record is not what was written.
        """
        place = self._known.get(number) or _that_count(self._places()).get(number)
        if place is None:
            return None
        name = place.name
        try:
            data = self._storage.read(name)
        except FileNotFoundError:
            return None
        return decode(data, self._storage.url(name))

    def name_of(self, number: int) -> str:
        """Return the name of the file that holds the record of an epoch, or is to hold it."""
        return self._known.get(number, _Place(self._era, number)).name

    def numbers(self) -> list[int]:
        places = self._places()
        self._known = _that_count(places)
        self._era = max((place.era for place in places), default=_FIRST)
        return sorted(self._known)

    def commit(self, record: EpochRecord) -> str:
        return self._create(record, _Place(self._era, record.number))

    def begin_era(self, record: EpochRecord) -> None:
        """Commit the epoch that a driver goes back to, and give up the later ones.

        Raises:
            EpochTakenError: If the driver has gone back before.
        """
        era = (record.generation, record.number)
        self._create(record, _Place(era, record.number))
        self._era = era

    def _create(self, record: EpochRecord, place: _Place) -> str:
        try:
            self._storage.create(place.name, encode(record))
        except FileExistsError as error:
            other = None
            with contextlib.suppress(Exception):
                other = self.get(record.number)
            raise _taken(record, other, self._storage.url(place.name)) from error
        self._known[record.number] = place
        return digest_of_record(record)

    def forget(self, number: int) -> None:
        place = self._known.pop(number, None)
        if place is not None:
            self._storage.delete([place.name])

    def forget_given_up(self) -> None:
        places = self._places()
        count = _that_count(places).values()
        self._storage.delete(
            place.name for place in places if place.era < self._era and place not in count
        )


def _that_count(places: list[_Place]) -> dict[int, _Place]:
    """Return those records, by their numbers, that no later era has given up."""
    found: dict[int, _Place] = {}
    end: float = math.inf
    for era in sorted({place.era for place in places}, reverse=True):
        found |= {
            place.number: place for place in places if place.era == era and place.number < end
        }
        end = min(end, era[1])
    return found


def _taken(record: EpochRecord, other: EpochRecord | None, where: str) -> EpochTakenError:
    who = "" if other is None else f" by driver {other.generation}"
    return EpochTakenError(
        f"Epoch {record.number} was committed before{who}, so that driver {record.generation} cannot "
        f"commit it: {where}.",
        hint="Two drivers run the same job. Stop one of them; the other goes on from what is committed.",
    )
