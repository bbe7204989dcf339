"""Key groups stay what they were when a job goes on from a checkpoint, unless the user says otherwise."""

from __future__ import annotations

from penstock.executors.checkpoints import Checkpoints
from penstock.runtime.program import Program
from penstock.runtime.restoring import with_key_groups_of


def with_known_key_groups(program: Program, checkpoints: Checkpoints) -> Program:
    """Return the program with the max parallelisms of what is committed, where the user set none.

    Raises:
        PenstockError: If the job cannot go on from what is committed.
    """
    last = checkpoints.last()
    return program if last is None else with_key_groups_of(last.job, program)
