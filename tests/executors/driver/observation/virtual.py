"""A job whose epochs a test runs, with subtasks that spend virtual time as it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.runtime.programs import ProgramBuilder, subtask_report

from penstock.checkpoint.epoch_record import EpochRecord, SubtaskId
from penstock.checkpoint.handles import StateHandle
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.executors.driver.observation.chain_views import ChainViews
from penstock.executors.driver.observation.epoch_log import Clocks, EpochLog
from penstock.executors.driver.reports.job_view import VertexView
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import Program
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.task.watch import Spent

SINCE_1970 = 1_700_000_000.0


def two_chains(subtasks: int = 2) -> Program:
    """Return a source, and a map in some subtasks."""
    builder = ProgramBuilder()
    source = builder.source([[1]])
    builder.vertex(
        MapOperator(str), inputs=[(source, RebalancePartitioner())], parallelism=subtasks
    )
    return builder.build()


class VirtualJob:
    """A job whose epochs a test runs, in virtual time."""

    def __init__(self, program: Program | None = None) -> None:
        self.now = 0.0
        self.program = program or two_chains()
        clocks = Clocks(lambda: self.now, lambda: SINCE_1970 + self.now)
        self.log = EpochLog(frozenset({0}), clocks)
        self.chains = ChainViews(self.program, {0: "REBALANCE"})
        self.number = 0

    def views(self) -> tuple[VertexView, ...]:
        return self.chains.views(self.log.noted())

    def spent(self, begun: float, busy: float, ended: float, **others: Any) -> Spent:
        """Return how a subtask spent an epoch that begins now, in seconds since that."""
        at = SINCE_1970 + self.now
        return Spent(at + begun, at + ended, busy, **others)

    def epoch(
        self,
        seconds: float,
        publishing: float = 0.0,
        *,
        records: int = 0,
        spent: Mapping[SubtaskId, Spent] | None = None,
        handles: Mapping[SubtaskId, tuple[StateHandle, ...]] | None = None,
        progress: Mapping[SubtaskId, SubtaskProgress] | None = None,
    ) -> None:
        """Run an epoch that takes so long, in which so many records come to each subtask."""
        owners = spent or {(0, 0): self.spent(0, seconds, seconds)}
        with self.log.epoch(self.number):
            self.now += seconds
            reports = {
                owner: subtask_report(
                    [(0, records, 0, 0, {}) if owner[0] == 0 else (records, 0, 0, 0, {})],
                    {},
                    spent=took,
                )
                for owner, took in owners.items()
            }
            self.log.ran()
            record = EpochRecord(self.number, handles=handles or {})
            self.log.committed(record, EpochOutcome(reports=reports), progress or {})
            self.now += publishing
        self.number += 1
