"""`penstock checkpoint list`."""

from __future__ import annotations

import argparse
import re
from typing import Final

from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import Storage, open_storage
from penstock.cli.layout import moment, write, write_table
from penstock.common.plain_text import Size
from penstock.errors import DamagedStateError
from penstock.inspection.epochs import epochs_at, file_sizes

_METADATA: Final = re.compile(r"(.+)/epochs/[\d-]+")
_COLUMNS: Final = ("epoch", "committed (UTC)", "ms", "state", "files", "driver", "")


def list_epochs(options: argparse.Namespace) -> int:
    """List the epochs at a location, or those of the checkpoints and savepoints below it.

    Returns:
        1 if metadata is damaged, else 0.

    Raises:
        CheckpointNotFoundError: If there are none.
    """
    storage = open_storage(options.location)
    if StoredEpochs(storage).numbers():
        return _list(storage)
    matches = map(_METADATA.fullmatch, storage.names())
    below = sorted({match[1] for match in matches if match})
    if not below:
        epochs_at(storage, None)
    code = 0
    for name in below:
        write(f"{'' if name == below[0] else chr(10)}{name}")
        code |= _list(open_storage(f"{storage.location}/{name}"))
    return code


def _list(storage: Storage) -> int:
    rows: list[tuple[object, ...]] = []
    is_damaged = False
    for number in epochs_at(storage, None):
        try:
            record = StoredEpochs(storage).get(number)
        except DamagedStateError:
            is_damaged = True
            rows.append((number, None, None, None, None, None, "damaged"))
            continue
        if record is not None:
            files = file_sizes(record)
            length = Size(sum(files.values()))
            when = moment(record.committed_at)
            note = "job ended" if record.is_last else ""
            rows.append(
                (number, when, record.duration, length, len(files), record.generation, note)
            )
    write_table(_COLUMNS, rows)
    return int(is_damaged)
