"""Whether what sinks prepared in the last epoch of a job is known to be delivered."""

from __future__ import annotations

from typing import Final

from penstock.checkpoint.epoch_record import EpochRecord, digest_of_record
from penstock.checkpoint.storage import Storage

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
