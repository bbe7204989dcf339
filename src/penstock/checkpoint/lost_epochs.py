"""Whether the metadata of the last epoch of a job is gone, as what came of the epoch shows."""

from __future__ import annotations

from penstock.checkpoint.delivered import PUBLISHED, content_of
from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import Storage
from penstock.errors import LostEpochError


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
