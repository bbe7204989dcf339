"""Publishes what sinks prepared, once their epoch is committed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.storage import open_storage
from penstock.errors import PenstockError, SinkError
from penstock.graph.job_graph import JobGraph
from penstock.runtime.operators.two_phase_commit import TwoPhaseCommitOperator
from penstock.runtime.sinks import CommitContext, Committer, committable_from_plain
from penstock.runtime.user_code import FAILURES, described_failure


class PublishedSink(NamedTuple):
    """A sink of a job, as the driver knows it.

    Attributes:
        name: The name of its operator.
        committer: Makes visible what its writers prepared.
    """

    name: str
    committer: Committer


def published_sinks(graph: JobGraph) -> dict[str, PublishedSink]:
    """Return the sinks of a job that commit on the driver, by their operators' ids."""
    return {
        graph.operator_ids[node.id]: PublishedSink(node.name, node.operator.sink.create_committer())
        for node in graph.stream_graph.nodes.values()
        if isinstance(node.operator, TwoPhaseCommitOperator)
    }


class Publisher:
    """Publishes what sinks prepared in an epoch, as often as it is asked to.

    What was prepared by a sink that the program no longer has is left as it is.

    Args:
        sinks: The sinks of the job, by their operators' ids.
        location: Where tasks staged files; None if the job has no such place.
    """

    def __init__(self, sinks: Mapping[str, PublishedSink], location: str | None = None) -> None:
        self._sinks = sinks
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

    def __call__(self, record: EpochRecord) -> None:
        """Publish what was prepared in an epoch.

        Raises:
            PenstockError: What a committer raised.
        """
        prepared: dict[str, list[Any]] = defaultdict(list)
        for sink_id, committable in record.prepared:
            prepared[sink_id].append(committable)
        for sink_id, sink in self._sinks.items():
            context = CommitContext(
                name=sink.name,
                sink_id=sink_id,
                epoch=record.number,
                lineage=record.origin or record.lineage,
                is_last=record.is_last,
                storage=self._storage,
            )
            found = prepared.get(sink_id, [])
            commit = partial(_commit, sink.committer, found, context)
            _guarded(sink, f"committing epoch {record.number}", commit)

    def close(self) -> None:
        """Close the committers, all of them also if one cannot be closed."""
        with ExitStack() as stack:
            for sink in self._sinks.values():
                stack.callback(_guarded, sink, "closing its committer", sink.committer.close)


def _commit(committer: Committer, found: list[Any], context: CommitContext) -> None:
    if found:
        committer.commit(list(map(committable_from_plain, found)), context)
    committer.clean_up(context)


def _guarded(sink: PublishedSink, what: str, step: Callable[[], None]) -> None:
    try:
        step()
    except SinkError:
        raise
    except FAILURES as error:
        raise described_failure(error, sink.name, what) from error
