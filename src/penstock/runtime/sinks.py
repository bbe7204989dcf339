"""What a sink that delivers once is made of: writers in the tasks, a committer on the driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.checkpoint.handles import read_copy
from penstock.checkpoint.open_files import OpenFile
from penstock.checkpoint.storage import Storage
from penstock.runtime.context import RuntimeContext
from penstock.runtime.epoch import Epoch
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.timestamp import MIN_TIMESTAMP


class WriterContext:
    """What a writer may ask about the task it runs in.

    Attributes:
        name: The name of the sink's operator.
        sink_id: The id of the sink's operator, which stays the same from run to run.
        epoch: The number of the epoch, from 0.
        lineage: Names the history that the epoch belongs to. A job that is started again goes on with
            its own; one that begins from a savepoint, or goes back to an earlier epoch, has a new one.
        generation: The number of the driver among those that ran the job, from 1.
        watermark: The sink's watermark, in milliseconds.
        runtime: Tells the subtask, the parallelism, the job's parameters, and takes metrics.
    """

    def __init__(
        self, name: str, sink_id: str, runtime: RuntimeContext, clock: Callable[[], int]
    ) -> None:
        self.name = name
        self.sink_id = sink_id
        self.runtime = runtime
        self.watermark = MIN_TIMESTAMP
        self._clock = clock

    def begin(self, epoch: Epoch) -> None:
        """Go over to another epoch."""
        self.epoch = epoch.number
        self.generation = epoch.generation
        self.lineage = epoch.lineage
        self._epoch = epoch

    def current_processing_time(self) -> int:
        """Return the processing time, in milliseconds."""
        return self._clock()

    def stage(self, data: bytes) -> str:
        """Keep bytes durably beside the job's checkpoints, for the committer.

        For what is too large to be a committable. What was staged in an epoch is deleted when a later
        one is committed.

        Args:
            data: The bytes.

        Returns:
            A name for `CommitContext.read`.
        """
        name = self._epoch.prepared_name(f"{self.sink_id}-{self.runtime.subtask}")
        self._epoch.storage.write(name, [data])
        return name

    def copy_of(self, name: str) -> Iterator[bytes] | None:
        """Return the content of a file that was copied for a job which goes on from a savepoint, or goes back.

        Args:
            name: What `Committer.open_files` called it.

        Returns:
            Pieces of its content; None if there is no copy. An error comes at the end if it is damaged.
        """
        handle = self._epoch.pieces.get(name)
        return None if handle is None else read_copy(self._epoch.storage, handle)


@dataclass(frozen=True)
class KeptEpoch:
    """What a sink prepared in an epoch that its job can be set back to.

    Attributes:
        lineage: The history in which it was computed.
        epoch: Its number.
        committables: What was prepared in it, by all subtasks.
    """

    lineage: str
    epoch: int
    committables: list[Any]


@dataclass(frozen=True)
class CommitContext:
    """What a committer may ask about the epoch it commits.

    Attributes:
        name: The name of the sink's operator.
        sink_id: The id of the sink's operator, which stays the same from run to run.
        epoch: The number of the epoch, from 0.
        lineage: Names the history in which the epoch was computed: together with `sink_id` and `epoch`
            it says what is committed. In one lineage no epoch is committed before all earlier ones are.
        is_last: Whether the job ends with the epoch.
        storage: Where writers staged; None if the job has no such place.
        kept: The epochs that the job can be set back to, oldest first, this one included.
    """

    name: str
    sink_id: str
    epoch: int
    lineage: str
    is_last: bool = False
    storage: Storage | None = field(default=None, repr=False)
    kept: Sequence[KeptEpoch] = field(default=(), repr=False)

    def read(self, name: str) -> bytes:
        """Return what `WriterContext.stage` kept under a name.

        Raises:
            FileNotFoundError: If a later epoch was committed meanwhile, which deletes it.
        """
        return self._storage.read(name)

    def url(self, name: str) -> str:
        """Return where that is, in a form that other programs read."""
        return self._storage.url(name)

    @property
    def _storage(self) -> Storage:
        if self.storage is None:
            raise FileNotFoundError("Nothing was staged: the job has no place for it.")
        return self.storage


@dataclass(frozen=True)
class Uncommitted:
    """What writers prepared, and no committer will ever be given.

    Attributes:
        lineage: The history in which they did.
        after: The last epoch that is committed, -1 for none: what was prepared in later ones is meant.
        generation: That of the driver. What writers of later generations prepare is not meant.
        is_over: Whether nobody goes on with the history: then all of it is meant.
        sink_id: The id of the sink's operator.
    """

    lineage: str
    after: int = -1
    generation: int = 1
    is_over: bool = False
    sink_id: str = ""


class SinkWriter(ABC):
    """Takes the records of one subtask, and prepares them; works where the sink's operator does.

    A writer lives from epoch to epoch as long as all goes well in its process. After an epoch that
    failed, or that another process ran, a new one is made and takes up the last snapshots: so what a
    writer that was given up had in its fields, or had written but not reported, must not matter.
    """

    def restore(self, snapshots: list[bytes]) -> None:  # noqa: B027 - only some leave anything open
        """Take up what writers left open; called before the first record.

        Args:
            snapshots: What `snapshot` returned at the end of the last epoch: one by one, or several
                if the job had more subtasks. Only a writer whose sink has `has_writer_state`, or
                `restores_writer_state`, gets any.
        """

    @abstractmethod
    def write(self, value: Any, timestamp: int | None) -> None:
        """Take a record. Nobody may see it yet.

        Args:
            value: The record.
            timestamp: Its timestamp in milliseconds; None if it has none.
        """

    def write_block(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> bool:
        """Take records that have come together, for writers that are faster so.

        Args:
            values: The records, in their order.
            timestamps: Their timestamps in milliseconds; None if they have none.

        Returns:
            Whether they are taken. If not, none of them is, and `write` is called for each; so it is by default.
        """
        return False

    def end_input(self) -> None:  # noqa: B027
        """Hear that no record comes any more: what is open has to be prepared now."""

    @abstractmethod
    def prepare_commit(self) -> list[Any]:
        """End the epoch: make durable what was written, and say how it is to be committed.

        Returns:
            The committables: any values that pickle, not large. If the epoch fails after all, they are
            never committed, and nobody is told.
        """

    def snapshot(self) -> bytes | None:
        """Return what stays open over the epoch's end, after `prepare_commit`; None for nothing."""
        return None

    def next_wake_up(self) -> int | None:
        """Return the processing time (milliseconds) at which an epoch is due even without records."""
        return None

    def interrupt(self) -> None:  # noqa: B027 - most wait for nobody
        """Wait for nobody any longer, but fail with a JobCancelledError; called from another thread."""

    def close(self) -> None:  # noqa: B027
        """Let go of everything; what was not prepared is given up."""


class Committer(ABC):
    """Makes visible what writers prepared; works on the driver."""

    def open(self) -> None:  # noqa: B027
        """Get ready; called once, before the job starts. What it raises ends the job."""

    @abstractmethod
    def commit(self, committables: list[Any], context: CommitContext) -> None:
        """Make visible what the writers of all subtasks prepared in an epoch.

        Called after the epoch is committed, so that it will not be computed again. Called again for the
        last epoch when the job starts, unless its last run ended in order: the driver may have died before, in
        or after the first call. A second call must change nothing, and one after half a call must do the other half.

        Args:
            committables: The committables, those of one subtask in their order; not empty.
            context: Tells which epoch of which job it is.
        """

    def clean_up(self, context: CommitContext) -> None:  # noqa: B027
        """Drop what nobody needs; called in each epoch after `commit`, also if nothing was prepared.

        All that was prepared up to this epoch has been committed or never will be. Tasks of attempts
        that failed may still be writing.
        """

    def drop(self, uncommitted: Uncommitted) -> None:  # noqa: B027
        """Drop what was prepared and never committed, as by drivers that were killed.

        Called when a job with a checkpoint location starts, before its first epoch, and of one without when it
        has ended, after `close`. Tasks that were given up may still be writing.

        Args:
            uncommitted: Tells what is meant.
        """

    def open_files(self, committables: list[Any]) -> Mapping[str, OpenFile]:
        """Return the files outside the checkpoints that writers go on with after an epoch, by any names.

        They are copied into savepoints, and by a job that goes back: `WriterContext.copy_of` finds the copies.

        Args:
            committables: What was prepared in the epoch; may be empty.
        """
        return {}

    def cancel(self) -> None:  # noqa: B027
        """Hear that the job is cancelled: what waits for somebody is to end at once, with a JobCancelledError.

        Another thread may be in any other method. What was not published is when the job starts again.
        """

    def close(self) -> None:  # noqa: B027
        """Let go of everything; called when the job ends, however it does."""


class TwoPhaseCommit(Protocol):
    """What the runtime knows of a sink that delivers once.

    Attributes:
        has_writer_state: Whether its writers have snapshots.
        restores_writer_state: Whether its writers take up snapshots, though they may have none themselves.
        wants_wake_ups: Whether its writers may want epochs without records.
        place: Where it delivers to.
    """

    has_writer_state: bool
    restores_writer_state: bool
    wants_wake_ups: bool

    @property
    def place(self) -> str:
        """See the class."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        """Return a new writer for a subtask."""

    def create_committer(self) -> Committer:
        """Return the committer."""


def committable_to_plain(committable: Any) -> str:
    """Return a committable as text that JSON can hold."""
    return b64encode(dumps(committable)).decode()


def committable_from_plain(text: str) -> Any:
    """Return the committable that `committable_to_plain` made a text of."""
    return loads(b64decode(text))
