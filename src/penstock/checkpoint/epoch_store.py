"""Where the metadata of epochs is kept. To put a record in is to commit its epoch."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from penstock.checkpoint.epoch_record import (
    EpochRecord,
    decode,
    digest_in,
    digest_of,
    digest_of_record,
    encode,
)
from penstock.checkpoint.storage import Storage
from penstock.errors import DamagedStateError, EpochTakenError

FOLDER: Final = "epochs"
ERAS: Final = "eras"
_NAME: Final = re.compile(rf"{FOLDER}/(\d{{8,}})(?:-(\d{{8,}})-(\d{{8,}}))?")
_ERA: Final = re.compile(rf"{ERAS}/(\d{{8,}})")
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

    def take_over(self, generation: int) -> None:
        """Begin an era: of what earlier drivers still put in, nothing counts from now on.

        Args:
            generation: That of the driver that does so.
        """

    def digest(self, number: int) -> str:
        """Return the digest of the metadata of an epoch that was committed."""

    def forget(self, number: int) -> None:
        """Drop the record of an epoch that nobody needs any more."""

    def forget_given_up(self) -> None:
        """Drop the records of epochs that do not count."""


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

    def take_over(self, generation: int) -> None:
        """Nothing: there is no other driver."""

    def digest(self, number: int) -> str:
        return digest_of_record(self._records[number])

    def forget(self, number: int) -> None:
        self._records.pop(number, None)

    def forget_given_up(self) -> None:
        """Nothing: nobody goes back."""


class _Place(NamedTuple):
    """What the name of a record says.

    Attributes:
        era: The generation of the driver that began it, and the number of the epoch it begins with; twice 0
            for that of the first driver.
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
    committed it. Each driver but the first begins an era, under names of its own: one file lists the records of
    earlier eras that count, which are all, or those before the epoch that it goes back to. What somebody
    who still works in an earlier era puts in afterwards does not count, and nobody there deletes what the new
    era has. Of several such files that of the newest driver holds.

    Args:
        storage: The job's storage.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._era = _FIRST
        self._has_era = False
        self._known: Mapping[int, _Place] = {}

    def _places(self) -> list[_Place]:
        """Return where all records are, those that were given up too."""
        return [
            _Place((int(match[2] or 0), int(match[3] or 0)), int(match[1]))
            for match in map(_NAME.fullmatch, self._storage.names(FOLDER))
            if match is not None
        ]

    def _counting(self) -> dict[int, _Place]:
        """Return where the records are that count, by their numbers.

        Raises:
            DamagedStateError: If the file that says so is not what was written.
        """
        while True:
            eras = eras_at(self._storage)
            places = self._places()
            if not eras:
                return _of_nested_eras(places)
            # A newer driver may begin another one just now.
            with contextlib.suppress(FileNotFoundError):
                era, earlier = self._read_era(max(eras))
                return {
                    place.number: place
                    for place in places
                    if place.era == era or place.name in earlier
                }

    def _read_era(self, generation: int) -> tuple[tuple[int, int], set[str]]:
        """Return the era that a driver began, and the names of the records of earlier ones that count."""
        name = _name_of_era(generation)
        digest, _, body = self._storage.read(name).partition(b"\n")
        if digest.decode("ascii", "replace") != digest_of(body):
            raise DamagedStateError(
                f"The file {self._storage.url(name)}, which says what epochs count, is damaged: its "
                "checksum is not that of its content.",
                hint="Delete it if no driver of the job runs: then all epochs count that are there.",
            )
        plain = json.loads(body)
        return (generation, plain["begins"]), set(plain["earlier"])

    def lost(self) -> int | None:
        """Return the last epoch that counted when the newest driver began, if its record and all later are gone."""
        while eras := eras_at(self._storage):
            # A newer driver may begin another one just now.
            with contextlib.suppress(FileNotFoundError):
                _, earlier = self._read_era(max(eras))
                found = [int(match[1]) for match in map(_NAME.fullmatch, earlier) if match]
                then = max(found, default=-1)
                return then if then > max(self._counting(), default=-1) else None
        return None

    def take_over(self, generation: int) -> None:
        self._storage.sync(FOLDER)
        if not self._has_era:
            counting = self._counting()
            era = (generation, max(counting, default=-1) + 1)
            self._begin(era, [place.name for place in counting.values()])

    def begin_era(self, record: EpochRecord) -> None:
        """Commit the epoch that a driver goes back to, and give up the later ones.

        Raises:
            EpochTakenError: If the driver has gone back before.
        """
        era = (record.generation, record.number)
        counting = self._counting()
        self._create(record, _Place(era, record.number))
        self._begin(era, [place.name for place in counting.values() if place.number < era[1]])

    def _begin(self, era: tuple[int, int], earlier: list[str]) -> None:
        """Begin an era, and delete the files of earlier ones, which hold no more."""
        body = json.dumps({"begins": era[1], "earlier": sorted(earlier)}).encode()
        name = _name_of_era(era[0])
        try:
            self._storage.create(name, digest_of(body).encode() + b"\n" + body)
        except FileExistsError:
            # This driver created it, and never heard that it had.
            era, _ = self._read_era(era[0])
        self._storage.delete(_name_of_era(at) for at in eras_at(self._storage) if at < era[0])
        self._era = era
        self._has_era = True

    def get(self, number: int) -> EpochRecord | None:
        """Return the record of an epoch, or None if it was not committed.

        Raises:
            DamagedStateError: If the record is not what was written.
        """
        place = self._known.get(number) or self._counting().get(number)
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
        place = self._known.get(number) or self._counting().get(number)
        return (place or _Place(self._era, number)).name

    def numbers(self) -> list[int]:
        self._known = self._counting()
        if not self._has_era:
            self._era = max((place.era for place in self._known.values()), default=_FIRST)
        return sorted(self._known)

    def commit(self, record: EpochRecord) -> str:
        return self._create(record, _Place(self._era, record.number))

    def _create(self, record: EpochRecord, place: _Place) -> str:
        encoded = encode(record)
        try:
            self._storage.create(place.name, encoded)
        except FileExistsError as error:
            other = None
            with contextlib.suppress(Exception):
                other = self.get(record.number)
            raise _taken(record, other, self._storage.url(place.name)) from error
        self._known = {**self._known, record.number: place}
        return digest_in(encoded)

    def digest(self, number: int) -> str:
        # As it stands there: encoded again, what an earlier version wrote would be other bytes.
        return digest_in(self._storage.read(self.name_of(number)))

    def forget(self, number: int) -> None:
        place = self._known.get(number)
        if place is not None:
            self._known = {known: at for known, at in self._known.items() if known != number}
            self._storage.delete([place.name])

    def forget_given_up(self) -> None:
        count = self._counting().values()
        self._storage.delete(
            place.name for place in self._places() if place.era < self._era and place not in count
        )


def eras_at(storage: Storage) -> list[int]:
    """Return the generations of the drivers of whose eras there is a file."""
    return [int(match[1]) for match in map(_ERA.fullmatch, storage.names(ERAS)) if match]


def _name_of_era(generation: int) -> str:
    return f"{ERAS}/{generation:08d}"


def _of_nested_eras(places: list[_Place]) -> dict[int, _Place]:
    """Return the records that count, by their numbers, where no file says which: each era gives up later ones."""
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
