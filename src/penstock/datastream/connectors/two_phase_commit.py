"""The base of sinks that deliver each record once."""

from __future__ import annotations

from abc import abstractmethod

from penstock.datastream.connectors.base import Sink
from penstock.runtime.operators.two_phase_commit import TwoPhaseCommitOperator
from penstock.runtime.sinks import (
    CommitContext,
    Committer,
    SinkWriter,
    Uncommitted,
    WriterContext,
)

__all__ = [
    "CommitContext",
    "Committer",
    "SinkWriter",
    "TwoPhaseCommitSink",
    "Uncommitted",
    "WriterContext",
]


class TwoPhaseCommitSink(Sink):
    """The base of sinks that deliver each record once: writers prepare, a committer makes visible.

    In each epoch the writer of each subtask takes records and, at the epoch's end, prepares them: they
    are durable then, but nobody sees them. The job's metadata lists what was prepared, and is the commit
    point. Then the committer, on the driver, makes it visible. It is called again for the last epoch
    whenever the job is started again, so committing has to be idempotent; where it is, records are
    delivered exactly once, whatever dies at whatever moment. `TestExactlyOnce` in
    `tests/executors/driver/test_publishing.py` proves it.

    PyFlink has no such class; Flink's is Sink V2.

    Attributes:
        has_writer_state: Whether writers leave something open over the end of an epoch, and return it
            from `snapshot`. Then the sink's subtasks are not those of a stream that Spark reads: its
            records are exchanged before it. Default: False.
        restores_writer_state: Whether `restore` of writers takes up what writers have left open, though these
            writers leave nothing open themselves: a job that is started again may have been given other
            settings. Default: False.
        wants_wake_ups: Whether `next_wake_up` of writers may return a time. Default: False.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from penstock.testing import local_environment
        >>> class LinesWriter(SinkWriter):
        ...     def __init__(self):
        ...         self.lines = []
        ...
        ...     def write(self, value, timestamp):
        ...         self.lines.append(value)
        ...
        ...     def prepare_commit(self):
        ...         lines, self.lines = self.lines, []
        ...         return lines
        >>> class OneFileForEachEpoch(Committer):
        ...     def __init__(self, folder):
        ...         self.folder = folder
        ...
        ...     def commit(self, committables, context):
        ...         file = Path(self.folder, f"{context.lineage}-{context.epoch}")
        ...         file.write_text(" ".join(committables))  # a second time it writes the same
        >>> class LinesSink(TwoPhaseCommitSink):
        ...     def __init__(self, folder):
        ...         self.folder = folder
        ...
        ...     def create_writer(self, context):
        ...         return LinesWriter()
        ...
        ...     def create_committer(self):
        ...         return OneFileForEachEpoch(self.folder)
        >>> folder = mkdtemp()
        >>> env = local_environment()
        >>> end = env.from_collection(["a", "b"]).sink_to(LinesSink(folder))
        >>> result = env.execute()
        >>> [file.read_text() for file in Path(folder).iterdir()]
        ['a b']
    """

    has_writer_state: bool = False
    restores_writer_state: bool = False
    wants_wake_ups: bool = False

    @property
    def place(self) -> str:
        """Where it delivers to, such as a folder or a table. Default: nowhere in particular.

        What was prepared for another place is not given to this sink.
        """
        return ""

    @abstractmethod
    def create_writer(self, context: WriterContext) -> SinkWriter:
        """Return a new writer; called in the task, before an epoch's first record.

        Args:
            context: Tells which subtask of which sink it is for.
        """

    @abstractmethod
    def create_committer(self) -> Committer:
        """Return the committer; called on the driver, when the job is started."""

    def create_operator(self) -> TwoPhaseCommitOperator:
        """See `Sink.create_operator`."""
        return TwoPhaseCommitOperator(self)
