"""Spark's own record of a job: the offsets of its sources, in the job's checkpoint location.

Spark writes, below one folder, `offsets/<batch>` when it has planned a micro-batch, `commits/<batch>` when
that is done, and `sources/<position>/...` for what a source remembers. All go by the position of a source
in the query, so that a query with other sources, or another order of them, cannot go on. What is here
moves them to their new positions, and leaves out what came after the epoch to go on from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from penstock.checkpoint.storage import Storage
from penstock.errors import CheckpointMismatchError

_NOTHING: Final = "-"
"""What Spark writes for a source that has no offset yet."""


def carry_over(
    storage: Storage,
    *,
    old_folder: str,
    new_folder: str,
    batch: int,
    old_sources: Sequence[str],
    new_sources: Sequence[str],
) -> None:
    """Write Spark's record of a job anew: cut after an epoch, and for other sources.

    Args:
        storage: The job's storage.
        old_folder: The folder that Spark wrote, in the storage.
        new_folder: The folder to write; what is there is replaced.
        batch: The last micro-batch that counts; -1 if there was none.
        old_sources: The names of the sources, by their positions in what Spark wrote.
        new_sources: The names of the sources, by the positions they have now.

    Raises:
        CheckpointMismatchError: If Spark's record is not there, or has another number of sources.
    """
    positions = {name: place for place, name in enumerate(old_sources)}
    storage.delete(storage.names(new_folder))
    if batch < 0:
        return
    _copy(storage, f"{old_folder}/metadata", f"{new_folder}/metadata")
    for new, name in enumerate(new_sources):
        if name not in positions:
            continue
        place = f"{old_folder}/sources/{positions[name]}/"
        for file in storage.names(place.rstrip("/")):
            rest = file.removeprefix(place)
            _copy(storage, file, f"{new_folder}/sources/{new}/{rest}")
    # Spark looks at the last micro-batch and at the one before.
    for number in range(batch, max(batch - 2, -1), -1):
        version, about, *found = _offsets(
            storage, f"{old_folder}/offsets/{number}", len(old_sources)
        )
        moved = [found[positions[name]] if name in positions else _NOTHING for name in new_sources]
        lines = "\n".join([version, about, *moved])
        storage.write(f"{new_folder}/offsets/{number}", [lines.encode()])
    commit = f"{old_folder}/commits/{batch}"
    try:
        _copy(storage, commit, f"{new_folder}/commits/{batch}")
    except FileNotFoundError:
        # Its epoch was committed, and the driver ended before Spark heard of it.
        storage.write(f"{new_folder}/commits/{batch}", [_commit_of(storage, old_folder)])


def _copy(storage: Storage, old: str, new: str) -> None:
    storage.write(new, storage.chunks(old))


def _offsets(storage: Storage, name: str, sources: int) -> list[str]:
    try:
        lines = storage.read(name).decode().split("\n")
    except FileNotFoundError as error:
        raise CheckpointMismatchError(
            f"Spark's offsets of the epoch to go on from are not there: {storage.url(name)}.",
            hint="Go on from a later epoch, or restore the whole checkpoint location.",
        ) from error
    if len(lines) != sources + 2:
        raise CheckpointMismatchError(
            f"The sources of the program have changed, and {storage.url(name)} has {len(lines) - 2} of "
            f"them, not {sources}: a DataFrame of the program reads several.",
            hint="Give each source of Spark's a from_data_frame of its own, and join them with union or "
            "connect.",
        )
    return lines


def _commit_of(storage: Storage, folder: str) -> bytes:
    """Return what Spark writes for a micro-batch that is done, in the form of its other ones."""
    for name in reversed(storage.names(f"{folder}/commits")):
        return storage.read(name)
    return b"v1\n" + json.dumps({"nextBatchWatermarkMs": 0}).encode()
