"""What a job takes up that was drained: its event time had been ended, though its sources had not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.runtime.job_pickle import load_code
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.program import OperatorSpec, Program
from penstock.runtime.progress import SubtaskProgress


def begun_anew(record: EpochRecord, program: Program) -> EpochRecord:
    """Return the epoch that a job was drained in as one from which event time begins anew, as in Flink.

    All windows have fired. State, processing time and how far the sources are stay; watermarks, and what
    their generators knew, do not.

    Args:
        record: The epoch.
        program: The program that goes on from it.
    """
    generators = {
        spec.operator_id
        for vertex in program.vertices
        for spec in vertex.operators
        if _makes_watermarks(spec)
    }
    progress = {owner: _without_time(plain, generators) for owner, plain in record.progress.items()}
    return replace(record, progress=progress)


def _makes_watermarks(spec: OperatorSpec) -> bool:
    return isinstance(load_code(spec.prototype), TimestampsAndWatermarksOperator)


def _without_time(plain: Any, generators: Collection[str]) -> Any:
    known = SubtaskProgress.from_plain(plain)
    kept = SubtaskProgress(
        clock=known.clock,
        operators=tuple(pair for pair in known.operators if pair[0] not in generators),
        # Timers of processing time were not called any more: nobody has noted when the next one is due.
        next_wake_up=known.clock,
    )
    return kept.to_plain()
