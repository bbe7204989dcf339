"""Spark's own record of a job: the offsets of its sources, in the job's checkpoint location.

Spark writes, below one folder, `offsets/<batch>` when it has planned a micro-batch, `commits/<batch>` when
that is done, `sources/<position>/...` for what a source remembers, and `state/...` for the state of its own
operators, such as dropDuplicates. Sources go by their position in the query, so that a query with other
sources, or another order of them, cannot go on. What is here moves them to their new positions, and leaves
out what came after the epoch to go on from.

What a source of files has noted as seen, and no micro-batch has read yet, is left out as well: Spark would read it
together with what comes next.

Each record is written to a folder of its own, in which nobody has written before: Spark keeps hidden files
with checksums beside its files, and takes one that is there for a file that is.
"""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import Sequence
from typing import Final

from penstock.checkpoint.storage import Storage
from penstock.errors import CheckpointMismatchError

TICKS: Final = "ticks"
"""Stands among the names of sources for what only makes epochs begin."""

_NOTHING: Final = "-"
"""What Spark writes for a source that has no offset yet."""
_COMPACT: Final = ".compact"
"""Ends the name of a record of a source that holds those before it too."""
_VERSION: Final = re.compile(r"(\d+)(_[^.]*)?\.(delta|snapshot|zip|changelog)")
"""The names of files that hold, or change, the state of one version."""


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
        new_folder: The folder to write, which is new: another query's.
        batch: The last micro-batch that counts; -1 if there was none.
        old_sources: The names of the sources, by their positions in what Spark wrote.
        new_sources: The names of the sources, by the positions they have now.

    Raises:
        CheckpointMismatchError: If Spark's record is not there, or if the sources have changed, and it has
            another number of them or keeps state for them.
    """
    if batch < 0:
        return
    state = storage.names(f"{old_folder}/state")
    if state and _without_ticks(old_sources) != _without_ticks(new_sources):
        raise CheckpointMismatchError(
            "The sources of the program have changed, and Spark keeps state for a DataFrame among them, "
            "as for dropDuplicates, aggregations and joins of streams: it cannot go on with others.",
            hint="Let the program read the same DataFrames in the same order, or do with penstock's "
            "operators what needs the state. To begin anew, give it another checkpoint location.",
        )
    for file in state:
        if _is_until(file, batch):
            _copy(storage, file, f"{new_folder}{file.removeprefix(old_folder)}")
    # Spark stops a query that runs when another one with its id begins, as the job of a savepoint would.
    storage.write(f"{new_folder}/metadata", [json.dumps({"id": str(uuid.uuid4())}).encode()])
    # Spark looks at the last micro-batch and at the one before.
    offsets = {
        number: _offsets(storage, f"{old_folder}/offsets/{number}")
        for number in range(batch, max(batch - 2, -1), -1)
    }
    places = _old_places(old_sources, new_sources, len(offsets[batch]) - 2)
    for new, old in enumerate(places):
        if old is not None:
            old_place, new_place = f"{old_folder}/sources/{old}", f"{new_folder}/sources/{new}"
            seen = _last_seen(storage, old_place, offsets[batch][2 + old])
            _carry_seen(storage, old_place, new_place, seen)
    for number, (version, about, *found) in offsets.items():
        moved = [_NOTHING if old is None else found[old] for old in places]
        lines = "\n".join([version, about, *moved])
        storage.write(f"{new_folder}/offsets/{number}", [lines.encode()])
    commit = f"{old_folder}/commits/{batch}"
    try:
        _copy(storage, commit, f"{new_folder}/commits/{batch}")
    except FileNotFoundError:
        # Its epoch was committed, and the driver ended before Spark heard of it.
        storage.write(f"{new_folder}/commits/{batch}", [_commit_of(storage, old_folder)])


def _old_places(old: Sequence[str], new: Sequence[str], count: int) -> list[int | None]:
    """Return where each of Spark's sources was, of which there were `count`; None for those that are new."""
    if old == new:
        # A DataFrame of the program may read several of Spark's sources: they are where they were.
        return list(range(count))
    if count != len(old):
        raise CheckpointMismatchError(
            f"The sources of the program have changed, and Spark's record has {count} of them, not "
            f"{len(old)}: a DataFrame of the program reads several.",
            hint="Give each source of Spark's a from_data_frame of its own, and join them with union or "
            "connect.",
        )
    positions = {name: place for place, name in enumerate(old)}
    return [positions.get(name) for name in new]


def _without_ticks(sources: Sequence[str]) -> list[str]:
    return [name for name in sources if name != TICKS]


def _is_until(file: str, batch: int) -> bool:
    """Whether a file of state belongs to what was there after a micro-batch, or before."""
    found = _VERSION.fullmatch(file.rpartition("/")[2])
    # A micro-batch makes of the version with its number the next one.
    return found is None or int(found[1]) <= batch + 1


def _carry_seen(storage: Storage, old_folder: str, new_folder: str, seen: int | None) -> None:
    """Write anew what a source remembers; of files, those that were seen up to a record."""
    for file in storage.names(old_folder):
        new = f"{new_folder}{file.removeprefix(old_folder)}"
        if seen is None or _number(file) <= seen:
            _copy(storage, file, new)
        elif file.endswith(_COMPACT):
            storage.write(new, [_without_unseen(storage.read(file), seen)])


def sees_ahead(storage: Storage, folder: str) -> bool:
    """Whether a source has files noted as seen that no micro-batch has been planned with.

    Spark notes them first. If it ends in between, the next micro-batch has these files and more, whatever the
    most is that it was told to read at once; and in no order.

    Args:
        storage: The job's storage.
        folder: The folder that Spark wrote.
    """
    planned = max(map(_number, storage.names(f"{folder}/offsets")), default=-1)
    offsets = _offsets(storage, f"{folder}/offsets/{planned}")[2:] if planned >= 0 else []
    last: dict[str, int] = {}
    for file in storage.names(f"{folder}/sources"):
        place = file.rpartition("/")[0]
        last[place] = max(_number(file), last.get(place, -1))
    for place, number in last.items():
        at = _number(place)
        seen = _last_seen(storage, place, offsets[at] if 0 <= at < len(offsets) else _NOTHING)
        if seen is not None and number > seen:
            return True
    return False


def _number(file: str) -> int:
    """Return the number of a record of Spark's; -1 of what is none."""
    name = file.rpartition("/")[2].removesuffix(_COMPACT)
    return int(name) if name.isdecimal() else -1


def _last_seen(storage: Storage, place: str, offset: str) -> int | None:
    """Return the number of a source's last record of files that an offset includes; None if it reads no files."""
    if offset == _NOTHING:
        return -1 if _is_of_files(storage, place) else None
    with contextlib.suppress(ValueError):
        found = json.loads(offset)
        if isinstance(found, dict) and "logOffset" in found:
            return int(found["logOffset"])
    return None


def _is_of_files(storage: Storage, place: str) -> bool:
    """Whether a source remembers files, and not where it began."""
    for file in storage.names(place):
        _, _, entries = storage.read(file).partition(b"\n")
        with contextlib.suppress(ValueError):
            entry = json.loads(entries.partition(b"\n")[0])
            return isinstance(entry, dict) and {"path", "batchId"} <= entry.keys()
    return False


def _without_unseen(content: bytes, seen: int) -> bytes:
    """Return a record that holds those before it too, without the files of later ones."""
    version, *entries = content.split(b"\n")
    kept = [entry for entry in entries if entry and json.loads(entry)["batchId"] <= seen]
    return b"\n".join([version, *kept])


def _copy(storage: Storage, old: str, new: str) -> None:
    storage.write(new, storage.chunks(old))


def offsets_after(storage: Storage, folder: str, batch: int) -> list[str | None]:
    """Return how far each of Spark's sources is read after a micro-batch, as Spark writes it, by their positions.

    One that Spark has not begun to read has None.

    Args:
        storage: Where Spark writes.
        folder: The folder that Spark writes.
        batch: The micro-batch.

    Raises:
        CheckpointMismatchError: If Spark's record is not there.
    """
    found = _offsets(storage, f"{folder}/offsets/{batch}")[2:]
    return [None if offset == _NOTHING else offset for offset in found]


def _offsets(storage: Storage, name: str) -> list[str]:
    try:
        return storage.read(name).decode().split("\n")
    except FileNotFoundError as error:
        raise CheckpointMismatchError(
            f"Spark's offsets of the epoch to go on from are not there: {storage.url(name)}.",
            hint="Go on from a later epoch, or restore the whole checkpoint location.",
        ) from error


def _commit_of(storage: Storage, folder: str) -> bytes:
    """Return what Spark writes for a micro-batch that is done, in the form of its other ones."""
    for name in reversed(storage.names(f"{folder}/commits")):
        return storage.read(name)
    return b"v1\n" + json.dumps({"nextBatchWatermarkMs": 0}).encode()
