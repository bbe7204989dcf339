"""Whether what sinks prepared in the last epoch of a job is known to be delivered, and whether its metadata is gone."""

from __future__ import annotations

from typing import Final

from penstock.checkpoint.epoch_record import EpochRecord, digest_of_record
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import Storage
from penstock.errors import LostEpochError

PUBLISHED: Final = "published"
"""The file that names the last epoch that was delivered, written when a run ends in order."""


def is_delivered(storage: Storage, record: EpochRecord, digest: str | None = None) -> bool:
    """Whether what an epoch prepared is known to be delivered: else it may be, or not.

    Args:
        storage: The location of the job that committed the epoch.
        record: The epoch, its last.
        digest: That of the epoch's metadata, if it is known.
    """
    noted = (content_of(storage, PUBLISHED) or b"").split()[:1]
    if noted == [(digest or digest_of_record(record)).encode()]:
        return True
    # Spark notes that a micro-batch is done once its epoch is delivered.
    engine = record.engine
    if "folder" not in engine or not engine.get("is_planned", True):
        return False
    batch = record.number - engine.get("shift", 0)
    return content_of(storage, f"{engine['folder']}/commits/{batch}") is not None


def content_of(storage: Storage, name: str) -> bytes | None:
    """Return what a file holds; None if there is no such file."""
    try:
        return storage.read(name)
    except FileNotFoundError:
        return None


def check_eras(epochs: StoredEpochs, location: str) -> None:
    """Make sure that all epochs are there that counted when the newest driver began.

    Raises:
        LostEpochError: If the last of them is gone.
    """
    if (lost := epochs.lost()) is not None:
        last = max(epochs.numbers(), default=-1)
        raise LostEpochError.after(last, lost, location, "a driver that began later has noted")


def last_delivered(storage: Storage) -> tuple[int, str]:
    """Return the number and the lineage of the epoch that a run ended in order with; -1 for none."""
    # Earlier versions noted no more than the digest.
    words = [*(content_of(storage, PUBLISHED) or b"").decode().split(), "", "", ""]
    return int(words[1] or -1), words[2]


def check_delivered(delivered: tuple[int, str], last: EpochRecord | None, location: str) -> None:
    """Make sure that nothing was delivered of an epoch that is not there.

    Args:
        delivered: What `last_delivered` returned.
        last: The last epoch that is there.
        location: The job's checkpoint location.

    Raises:
        LostEpochError: If something was.
    """
    number, lineage = delivered
    known = -1 if last is None else last.number
    if number > known and (last is None or lineage == last.lineage):
        raise LostEpochError.after(known, number, location, f"the file {PUBLISHED!r} there says")
