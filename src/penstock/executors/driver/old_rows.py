"""Keys that are rows, of a checkpoint whose version sorted their names: state must not be sought under others."""

from __future__ import annotations

from penstock.checkpoint.epoch_record import JobRecord, RowNames
from penstock.errors import KeyFieldOrderError
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.runtime.epoch import Epoch
from penstock.runtime.state.row_names import in_another_order


def old_rows_after(epoch: Epoch, outcome: EpochOutcome, job: JobRecord) -> frozenset[RowNames]:
    """Return the names of rows among the keys of a version that sorted them, for the epochs to come.

    Args:
        epoch: The epoch that was run, and not yet committed.
        outcome: What came of it.
        job: The job.

    Raises:
        KeyFieldOrderError: If rows came as keys that have the same names in another order.
    """
    old = frozenset(outcome.kept_rows) if epoch.old_rows is None else epoch.old_rows
    found = in_another_order(old, outcome.seen_rows)
    if found is None:
        return old
    now, before = found
    operator = next(
        operator.described
        for vertex in job.vertices
        for operator in vertex.operators
        if now.store.partition(" ")[0] == operator.operator_id
    )
    where = f"the maps of its state {now.state!r}" if now.state else "its state"
    example = ", ".join(f"{name}=..." for name in before.names)
    raise KeyFieldOrderError(
        f"The operator {operator} got a key that is, or has in it, a row with the fields {_listed(now)}, and "
        f"{where} has keys with the same fields in the order {_listed(before)}: these are other keys, whose state "
        f"would not be found. Epoch {epoch.number} is not committed.",
        hint="The version of penstock that wrote the checkpoint sorted the names of a row made of keyword "
        f"arguments. Name them in that order where the key is made, as in Row({example}), and the state is found "
        "as before. To do without the state, give the operator another uid() and set "
        "execution.state-recovery.ignore-unclaimed-state to true.",
    )


def _listed(rows: RowNames) -> str:
    return f"({', '.join(rows.names)})"
