"""Adds up what the epochs of a job did, for its client."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.common.epoch_listener import EpochCompleted
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.executors.driver.epoch_feed import EpochResult
from penstock.executors.driver.epoch_outcome import add_user_metrics
from penstock.runtime.metrics import LATE_RECORDS, shown_metric
from penstock.runtime.program import Program


class Tally:
    """Adds up what the epochs of a job did.

    Args:
        job_id: The job's id.
        program: The compiled program.

    Attributes:
        progress: What it comes to so far.
    """

    def __init__(self, job_id: str, program: Program) -> None:
        self.progress = JobProgress(JobStatus.RUNNING)
        self._job_id = job_id
        self._files: set[str] = set()
        self._sources = {
            vertex.operators[0].operator_id
            for vertex in program.vertices
            if vertex.source is not None
        }

    def add(self, result: EpochResult) -> EpochCompleted:
        """Add an epoch, and return what listeners hear of it."""
        progress, record = self.progress, result.record
        records_in = sum(
            report["records_out"]
            for operator_id, report in result.operators.items()
            if operator_id in self._sources
        )
        progress.epochs += 1
        progress.records_in += records_in
        progress.last_epoch = record.number
        progress.checkpoint_duration = record.duration
        self._add_sizes(record)
        sizes = _sizes_by_operator(record)
        for operator_id, report in result.operators.items():
            known = progress.operators.get(operator_id)
            total = report if known is None else _sum(known, report)
            size = sizes.get(operator_id, 0)
            progress.operators[operator_id] = {**total, "state_size": size}
        return EpochCompleted(
            self._job_id,
            record.number,
            record.duration,
            records_in,
            progress.checkpoint_size,
            progress.state_size,
            self.shown().operators,
        )

    def _add_sizes(self, record: EpochRecord) -> None:
        lengths = {
            handle.name: handle.length for found in record.handles.values() for handle in found
        }
        new = lengths.keys() - self._files
        self.progress.checkpoint_size = sum(lengths[name] for name in new)
        self.progress.state_size = sum(lengths.values())
        self._files = set(lengths)

    def shown(self) -> JobProgress:
        """Return the progress as it is now, for people and programs to read."""
        found = self.progress
        operators = {key: _plain(report) for key, report in found.operators.items()}
        return dataclasses.replace(found, operators=operators)


def _sizes_by_operator(record: EpochRecord) -> Counter[str]:
    """Return how many bytes of state each operator has; of a chain, its first one with state."""
    owners = {
        vertex.number: operator.operator_id
        for vertex in record.job.vertices
        for operator in reversed(vertex.operators)
        if operator.is_stateful
    }
    sizes: Counter[str] = Counter()
    for (vertex, _), handles in record.handles.items():
        if vertex in owners:
            sizes[owners[vertex]] += sum(handle.length for handle in handles)
    return sizes


def _sum(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {
        **new,
        "records_in": known["records_in"] + new["records_in"],
        "records_out": known["records_out"] + new["records_out"],
        "timers_fired": known["timers_fired"] + new["timers_fired"],
        "user": add_user_metrics(known["user"], new["user"]),
    }


def _plain(report: dict[str, Any]) -> dict[str, Any]:
    """Return what an operator did, with gauges as they are, and meters and distributions as a few numbers."""
    user = {name: shown_metric(value) for name, value in report["user"].items()}
    return {**report, "user": user, "late_records": user.get(LATE_RECORDS, 0)}
