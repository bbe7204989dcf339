"""What is said of checkpoints: an epoch that was committed is one, an epoch that failed is one that failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from penstock.common.configuration.options import STATE_BACKEND
from penstock.executors.driver.reports.job_view import EpochView, JobView, VertexView
from penstock.executors.driver.rest.answers.summaries import checkpoint_statistics
from penstock.executors.driver.rest.exchange import RequestRefusedError

_NEVER: Final = 2**63 - 1
_NOTHING_ALIGNED: Final = {"alignment_buffered": 0, "processed_data": 0, "persisted_data": 0}


def checkpoints(view: JobView) -> dict[str, Any]:
    """Return the last hundred epochs, newest first, and what they took."""
    newest = list(reversed(view.epochs))
    completed = view.committed[::-1]
    failed = [epoch for epoch in newest if epoch.failure is not None]
    return {
        "counts": {
            "restored": view.restores,
            "total": view.epochs_completed + view.epochs_failed,
            "in_progress": 0,
            "completed": view.epochs_completed,
            "failed": view.epochs_failed,
        },
        "summary": _summary(completed),
        "latest": {
            "completed": _first(completed, view),
            "savepoint": _last_savepoint(view),
            "failed": _first(failed, view),
            "restored": _restored(view),
        },
        "history": [_checkpoint(epoch, view) for epoch in newest],
    }


def _summary(completed: Sequence[EpochView]) -> dict[str, Any]:
    def of(figure: Callable[[EpochView], int]) -> dict[str, Any]:
        return checkpoint_statistics([figure(epoch) for epoch in completed])

    nothing = of(lambda _: 0)
    return {
        "checkpointed_size": of(lambda epoch: epoch.changed_size),
        "state_size": of(lambda epoch: epoch.state_size),
        "end_to_end_duration": of(lambda epoch: epoch.duration),
        **dict.fromkeys(_NOTHING_ALIGNED, nothing),
    }


def _first(epochs: Sequence[EpochView], view: JobView) -> dict[str, Any] | None:
    return _checkpoint(epochs[0], view) if epochs else None


def _last_savepoint(view: JobView) -> dict[str, Any] | None:
    """Return the last savepoint as the checkpoint that it is in Flink; its epoch may be none of the last hundred."""
    if not view.savepoints:
        return None
    last = view.savepoints[-1]
    known = next((epoch for epoch in reversed(view.epochs) if epoch.number == last.epoch), None)
    written = EpochView(
        last.epoch,
        last.started,
        last.duration,
        state_size=last.size,
        changed_size=last.size,
        is_savepoint=True,
        state_sizes={} if known is None else known.state_sizes,
    )
    return {**_checkpoint(written, view), "external_path": last.location}


def _restored(view: JobView) -> dict[str, Any] | None:
    last = view.last_restored
    if last is None:
        return None
    return {
        "id": last.epoch,
        "restore_timestamp": last.happened,
        "is_savepoint": last.is_savepoint,
        "external_path": last.location,
    }


def _checkpoint(
    epoch: EpochView, view: JobView, tasks: dict[str, Any] | None = None
) -> dict[str, Any]:
    subtasks = sum(vertex.parallelism for vertex in view.vertices)
    is_whole = epoch.failure is None
    found = {
        "className": "completed" if is_whole else "failed",
        "id": epoch.number,
        "status": "COMPLETED" if is_whole else "FAILED",
        "is_savepoint": epoch.is_savepoint,
        "savepointFormat": "CANONICAL" if epoch.is_savepoint else None,
        "trigger_timestamp": epoch.started,
        "latest_ack_timestamp": epoch.started + epoch.duration if is_whole else -1,
        "checkpointed_size": epoch.changed_size,
        "state_size": epoch.state_size,
        "end_to_end_duration": epoch.duration,
        **_NOTHING_ALIGNED,
        "num_subtasks": subtasks,
        "num_acknowledged_subtasks": subtasks if is_whole else 0,
        "checkpoint_type": "SAVEPOINT" if epoch.is_savepoint else "CHECKPOINT",
        "tasks": tasks or {},
    }
    if is_whole:
        path = epoch.location or "<checkpoint-not-externally-addressable>"
        return {**found, "external_path": path, "discarded": False}
    ended = epoch.started + epoch.duration
    return {**found, "failure_timestamp": ended, "failure_message": epoch.failure}


def checkpoint(view: JobView, number: int) -> dict[str, Any]:
    """Return one epoch, with its chains.

    Raises:
        RequestRefusedError: If it is none of the last hundred.
    """
    epoch = _epoch(view, number)
    tasks = {vertex.vertex_id: _task(epoch, vertex) for vertex in view.vertices}
    return _checkpoint(epoch, view, tasks)


def _epoch(view: JobView, number: int) -> EpochView:
    for epoch in reversed(view.epochs):
        if epoch.number == number:
            return epoch
    raise RequestRefusedError(
        404, f"Nothing is known of a checkpoint {number}: of epochs, the last hundred are."
    )


def _task(epoch: EpochView, vertex: VertexView) -> dict[str, Any]:
    is_whole = epoch.failure is None
    size = epoch.state_sizes.get(vertex.vertex_id, 0)
    return {
        "id": epoch.number,
        "status": "COMPLETED" if is_whole else "FAILED",
        "latest_ack_timestamp": epoch.started + epoch.duration if is_whole else -1,
        "checkpointed_size": size,
        "state_size": size,
        "end_to_end_duration": epoch.duration,
        **_NOTHING_ALIGNED,
        "num_subtasks": vertex.parallelism,
        "num_acknowledged_subtasks": vertex.parallelism if is_whole else 0,
    }


def checkpoint_of_vertex(view: JobView, number: int, vertex: VertexView) -> dict[str, Any]:
    """Return what an epoch was for one chain. It is not kept what it was for each subtask.

    Raises:
        RequestRefusedError: If it is none of the last hundred.
    """
    epoch = _epoch(view, number)
    size = checkpoint_statistics([epoch.state_sizes.get(vertex.vertex_id, 0)])
    duration, nothing = checkpoint_statistics([epoch.duration]), checkpoint_statistics([0])
    return {
        **_task(epoch, vertex),
        "summary": {
            "checkpointed_size": size,
            "state_size": size,
            "end_to_end_duration": duration,
            "checkpoint_duration": {"sync": duration, "async": nothing},
            "alignment": dict.fromkeys(("buffered", "processed", "persisted", "duration"), nothing),
            "start_delay": nothing,
        },
        "subtasks": [],
    }


def checkpoint_configuration(view: JobView) -> dict[str, Any]:
    """Return how epochs are committed, in Flink's words."""
    is_durable = view.checkpoint_location is not None
    storage = "FileSystemCheckpointStorage" if is_durable else "JobManagerCheckpointStorage"
    backends = {"rocksdb": "EmbeddedRocksDBStateBackend", "hashmap": "HashMapStateBackend"}
    backend = view.configuration.get(STATE_BACKEND.key, "hashmap")
    return {
        "mode": "exactly_once",
        "interval": view.checkpoint_interval or 0,
        "timeout": _NEVER,
        "min_pause": 0,
        "max_concurrent": 1,
        "externalization": {"enabled": is_durable, "delete_on_cancellation": not is_durable},
        "state_backend": backends.get(backend, backend),
        "checkpoint_storage": storage,
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": 0,
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": 0,
        "changelog_storage": "",
    }
