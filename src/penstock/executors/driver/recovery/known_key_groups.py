"""Key groups stay what they were when a job goes on from a checkpoint, unless the user says otherwise."""

from __future__ import annotations

from penstock.executors.driver.checkpoints import Checkpoints
from penstock.executors.driver.recovery.restoring import with_key_groups_of
from penstock.runtime.program import Program


def with_known_key_groups(program: Program, checkpoints: Checkpoints) -> Program:
    """Return the program with the max parallelisms of what is committed, where the user set none.

    Raises:
        PenstockError: If the job cannot go on from what is committed.
    """
    last = checkpoints.last()
    return program if last is None else with_key_groups_of(last.job, program)
