"""`penstock checkpoint verify`."""

from __future__ import annotations

import argparse

from penstock.cli.layout import write
from penstock.common.plain_text import Size, counted
from penstock.inspection.verification import verify_checkpoint


def verify(options: argparse.Namespace) -> int:
    """Say of each epoch whether it is complete, and from which a job can start.

    Returns:
        0 if all are complete, else 1.

    Raises:
        CheckpointNotFoundError: If there is no such checkpoint.
    """
    found = verify_checkpoint(options.location, epoch=options.epoch)
    for number, problems in found.problems.items():
        write(f"epoch {number}  {'damaged' if problems else 'complete'}")
        for problem in problems:
            write(f"  {problem}")
    write(f"{counted(found.files, 'state file')} read, {Size(found.bytes)}.")
    if found.is_whole:
        return 0
    newest = found.newest_complete
    if found.lost is not None:
        write(f"A start on this location is refused. {found.lost.hint}")
    elif newest is None:
        write("None of these epochs is complete. Start from a savepoint, or on a new location.")
    elif newest == max(found.problems) and options.epoch is None:
        write(f"Epoch {newest}, the last one, is complete: a job goes on from it.")
    else:
        write(
            f"Epoch {newest} is the newest that is complete. To go on from it, set "
            f"execution.state-recovery.epoch to {newest} for one start."
        )
    return 1
