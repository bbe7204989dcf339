"""Publishes what sinks prepared, once their epoch is committed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

from penstock.checkpoint.epoch_record import EpochRecord, JobRecord, OperatorRecord
from penstock.checkpoint.open_files import OpenFile
from penstock.checkpoint.storage import open_storage
from penstock.errors import JobCancelledError, PenstockError, SinkError, UnclaimedOutputError
from penstock.graph.job_graph import JobGraph
from penstock.runtime.operators.two_phase_commit import TwoPhaseCommitOperator
from penstock.runtime.sinks import (
    CommitContext,
    Committer,
    KeptEpoch,
    Uncommitted,
    committable_from_plain,
)
from penstock.runtime.user_code import FAILURES, described_failure


class PublishedSink(NamedTuple):
    """A sink of a job, as the driver knows it.

    Attributes:
        name: The name of its operator.
        committer: Makes visible what its writers prepared.
        delivers_to: Its kind and where it delivers to: see `OperatorRecord`.
    """

    name: str
    committer: Committer
    delivers_to: str = ""


def published_sinks(graph: JobGraph) -> dict[str, PublishedSink]:
    """Return the sinks of a job that commit on the driver, by their operators' ids."""
    return {
        graph.operator_ids[node.id]: PublishedSink(
            node.name, node.operator.sink.create_committer(), node.operator.delivers_to
        )
        for node in graph.stream_graph.nodes.values()
        if isinstance(node.operator, TwoPhaseCommitOperator)
    }


class Publisher:
    """Publishes what sinks prepared in an epoch, as often as it is asked to.

    What was prepared by a sink that the program no longer has is left as it is: see `claimed`.

    Args:
        sinks: The sinks of the job, by their operators' ids.
        location: Where tasks staged files; None if the job has no such place.
        kept: Returns the epochs that the job can be set back to, oldest first, the last one included.
    """

    def __init__(
        self,
        sinks: Mapping[str, PublishedSink],
        location: str | None = None,
        kept: Callable[[], Iterable[EpochRecord]] = lambda: (),
    ) -> None:
        self._sinks = sinks
        self._kept = kept
        self._storage = None if location is None else open_storage(location)

    def open(self) -> None:
        """Open the committers.

        Raises:
            PenstockError: What one of them raised.
        """
        for sink in self._sinks.values():
            try:
                _guarded(sink, "opening its committer", sink.committer.open)
            except PenstockError:
                self.close()
                raise

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Have the committers open inside; see `open`."""
        self.open()
        try:
            yield
        finally:
            self.close()

    def __call__(self, record: EpochRecord) -> None:
        """Publish what was prepared in an epoch.

        Raises:
            PenstockError: What a committer raised.
        """
        # One by one, so that what a sink prepared is unpickled for it alone.
        for sink_id, sink in self._sinks.items():
            context = CommitContext(
                name=sink.name,
                sink_id=sink_id,
                epoch=record.number,
                lineage=record.origin or record.lineage,
                is_last=record.is_last,
                storage=self._storage,
                kept=[
                    KeptEpoch(kept.lineage, kept.number, _committables(kept, sink_id, sink))
                    for kept in self._kept()
                ],
            )
            found = _committables(record, sink_id, sink)
            commit = partial(_commit, sink.committer, found, context)
            what = f"committing epoch {record.number}"
            _guarded(sink, what, commit)
            if not record.is_fork:
                # Of a fork the files that are there are those of another history.
                _guarded(sink, what, partial(sink.committer.clean_up, context))

    def cancel(self) -> None:
        """Let committers that wait for somebody end at once, as the job is cancelled; called by another thread."""
        for sink in self._sinks.values():
            sink.committer.cancel()

    def close(self) -> None:
        """Close the committers, all of them also if one cannot be closed."""
        with ExitStack() as stack:
            for sink in self._sinks.values():
                stack.callback(_guarded, sink, "closing its committer", sink.committer.close)


def claimed(record: EpochRecord, job: JobRecord, *, ignores_unclaimed: bool) -> EpochRecord:
    """Return an epoch that may not be published yet, without what no sink of the program has prepared.

    Args:
        record: The epoch.
        job: The program.
        ignores_unclaimed: Whether what a sink prepared that is gone is dropped.

    Raises:
        UnclaimedOutputError: If a sink that prepared something is gone, or is another one, and that is not to
            be dropped.
    """
    then, now = _operators(record.job), _operators(job)
    gone = {
        sink_id: then[sink_id]
        for sink_id, _ in record.prepared
        if sink_id not in now or not _is_same(then[sink_id].delivers_to, now[sink_id].delivers_to)
    }
    if gone and not ignores_unclaimed:
        names = ", ".join(operator.described for operator in gone.values())
        raise UnclaimedOutputError(
            f"Epoch {record.number} is committed, and perhaps not delivered: it holds output of sinks that the "
            f"program does not have, or that deliver elsewhere: {names}.",
            hint="Start the program once as it was: it delivers the epoch. A sink without a uid is known by its "
            "place in the program: give sinks a uid() before the program is changed. To drop the output, set "
            "execution.state-recovery.ignore-unclaimed-state to true.",
        )
    prepared = [pair for pair in record.prepared if pair[0] not in gone]
    return dataclasses.replace(record, prepared=prepared)


def _operators(job: JobRecord) -> dict[str, OperatorRecord]:
    return {
        operator.operator_id: operator for vertex in job.vertices for operator in vertex.operators
    }


def _is_same(then: str, now: str) -> bool:
    """Whether a sink takes what another prepared; metadata of earlier versions does not say where to."""
    return then in {"", now}


def _commit(committer: Committer, found: list[Any], context: CommitContext) -> None:
    if found:
        committer.commit(found, context)


def _committables(record: EpochRecord, sink_id: str, sink: PublishedSink) -> list[Any]:
    """Return what a sink prepared in an epoch; nothing of what another one did under its id."""
    then = _operators(record.job).get(sink_id)
    if then is not None and not _is_same(then.delivers_to, sink.delivers_to):
        return []
    return [
        committable_from_plain(plain)
        for prepared_by, plain in record.prepared
        if prepared_by == sink_id
    ]


def open_files_of(
    sinks: Mapping[str, PublishedSink], record: EpochRecord
) -> Mapping[str, OpenFile]:
    """Return the files outside the job's storage that its sinks go on with after an epoch."""
    found: dict[str, OpenFile] = {}
    for sink_id, sink in sinks.items():
        found |= sink.committer.open_files(_committables(record, sink_id, sink))
    return found


def drop_uncommitted(sinks: Mapping[str, PublishedSink], uncommitted: Uncommitted) -> None:
    """Drop what sinks have prepared and never committed.

    Raises:
        PenstockError: What a committer raised.
    """
    for sink_id, sink in sinks.items():
        meant = dataclasses.replace(uncommitted, sink_id=sink_id)
        _guarded(sink, "dropping what was never committed", partial(sink.committer.drop, meant))


def _guarded(sink: PublishedSink, what: str, step: Callable[[], None]) -> None:
    try:
        step()
    except (JobCancelledError, SinkError):
        raise
    except FAILURES as error:
        raise described_failure(error, sink.name, what) from error
