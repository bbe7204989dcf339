"""What is known of an epoch that is complete: the metadata that commits it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from penstock.checkpoint.handles import GO_BACK_HINT, StateHandle
from penstock.errors import DamagedStateError

FORMAT: Final = 2
"""The version of the metadata's form."""

_FIRST_FORM: Final = 1
"""The form of the versions that sorted the fields of rows made of keyword arguments by their names."""

SubtaskId = tuple[int, int]
"""The index of a vertex, and that of one of its subtasks; see `penstock.runtime.epoch.SHARED`."""


class OperatorRecord(NamedTuple):
    """An operator of the job that wrote a checkpoint.

    Attributes:
        operator_id: Its stable id.
        name: The name users see.
        uid: The uid that the user gave it; None if none.
        is_stateful: Whether it has keyed state or broadcast state.
        keeps_records: Whether its snapshot may hold records, so that it must not get lost.
        delivers_to: Of a sink that prepares, its kind and where it delivers to; empty for others.
        kept_windows: Which windows it has, and how they are kept; empty for none, and in metadata of earlier versions.
    """

    operator_id: str
    name: str
    uid: str | None
    is_stateful: bool
    keeps_records: bool = False
    delivers_to: str = ""
    kept_windows: str = ""

    @property
    def described(self) -> str:
        """The operator as a message names it."""
        if self.uid is not None:
            return f"{self.name!r} (uid {self.uid!r})"
        return f"{self.name!r} (without a uid, id {self.operator_id})"


class VertexRecord(NamedTuple):
    """A chain of operators of the job that wrote a checkpoint.

    Attributes:
        number: Its place in the program, which subtask ids of this checkpoint refer to.
        operators: Its operators, head first.
        parallelism: The number of its subtasks.
        max_parallelism: The number of its key groups.
        is_shared: True for a source that Spark reads.
    """

    number: int
    operators: tuple[OperatorRecord, ...]
    parallelism: int
    max_parallelism: int
    is_shared: bool


class EdgeRecord(NamedTuple):
    """An exchange between two chains.

    Attributes:
        number: Its number, which the progress of subtasks refers to.
        source: The id of the operator that sends.
        target: The id of the operator that receives.
        input: The number of the receiver's input.
    """

    number: int
    source: str
    target: str
    input: int


class JobRecord(NamedTuple):
    """The job that wrote a checkpoint, as far as another start has to know it.

    Attributes:
        name: The job's name.
        digest: Names the program; equal programs have equal digests.
        state_backend: `hashmap` or `rocksdb`; the form of state is the same for both.
        vertices: Its chains.
        edges: The exchanges between them.
        sources: The operator ids of its sources, by their numbers.
    """

    name: str = ""
    digest: str = ""
    state_backend: str = "hashmap"
    vertices: tuple[VertexRecord, ...] = ()
    edges: tuple[EdgeRecord, ...] = ()
    sources: tuple[str, ...] = ()


class ReadSoFar(NamedTuple):
    """How far a source is read whose reading the driver plans.

    Attributes:
        kind: Whose the state is: `PlannedSource.kind`.
        state: The state of the last plan whose epoch was committed; None for none.
        is_over: Whether nothing follows.
    """

    kind: str
    state: Any = None
    is_over: bool = False


class RowNames(NamedTuple):
    """The names of rows that are keys, or are in keys.

    Attributes:
        store: What the state is kept in: the id of its operator, with what follows it for broadcast state.
        state: The state, of keys in its maps; empty for the keys that the stream is keyed by.
        names: The names of the fields, in their order.
    """

    store: str
    state: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class EpochRecord:
    """What is known of an epoch that is complete. All of it is plain data that JSON can hold.

    Attributes:
        number: The number of the epoch, from 0; of a streaming job on Spark, that of the micro-batch.
        lineage: Names the history that the epoch belongs to. A job that goes back to an earlier epoch, or
            begins from a savepoint, begins another.
        is_fork: Whether its lineage begins with it, though its content is older.
        origin: Of a fork, the lineage in which it was computed, and its outputs may have been published.
        generation: The number of the driver that committed it, from 1.
        previous: The digest of the metadata of the epoch before; empty if there is none.
        job: The job.
        handles: The state handles after it, by vertex and subtask.
        progress: How far each subtask has come, by vertex and subtask: `SubtaskProgress.plain`.
        finished: The sources that have ended, by their numbers.
        read: How many epochs of its own each bounded source has given, by its operator's id; None in what
            earlier versions wrote, where these were the epochs of the job.
        planned: How far each source is read whose reading the driver plans, by its operator's id: `ReadSoFar`.
        is_last: Whether the job has ended with it.
        is_drained: Whether event time was ended in it, though its sources had more to come: the next start
            begins event time anew.
        prepared: What sinks prepared, as pairs of the sink's operator id and a committable.
        operators: What each operator did in it, by its id.
        duration: How long it took, in milliseconds.
        committed_at: When it was committed, in milliseconds of Unix time.
        folded_at: When changelogs were last folded, in milliseconds of Unix time.
        engine: What the executor has to find again, such as where Spark keeps its offsets.
        pieces: Of a fork or a savepoint, the copies of files that sinks go on with, by what they call them.
        old_rows: The names of rows that were keys when a version sorted the names of rows made of keyword
            arguments; None if state is of such a version, and was not looked through yet.
        states: The names of the states that each operator has asked for so far, by its id. Metadata of earlier
            versions has none.
    """

    number: int
    lineage: str = ""
    is_fork: bool = False
    origin: str = ""
    generation: int = 1
    previous: str = ""
    job: JobRecord = field(default_factory=JobRecord)
    handles: Mapping[SubtaskId, tuple[StateHandle, ...]] = field(default_factory=dict)
    progress: Mapping[SubtaskId, Any] = field(default_factory=dict)
    finished: frozenset[int] = frozenset()
    read: Mapping[str, int] | None = None
    planned: Mapping[str, ReadSoFar] = field(default_factory=dict)
    is_last: bool = False
    is_drained: bool = False
    prepared: list[tuple[str, Any]] = field(default_factory=list)
    operators: dict[str, Any] = field(default_factory=dict)
    duration: int = 0
    committed_at: int = 0
    folded_at: int = 0
    engine: dict[str, Any] = field(default_factory=dict)
    pieces: Mapping[str, StateHandle] = field(default_factory=dict)
    old_rows: frozenset[RowNames] | None = frozenset()
    states: Mapping[str, list[str]] = field(default_factory=dict)

    def next_wake_up(self) -> int | None:
        """Return when an epoch is due even without records (milliseconds); None for never."""
        times = (progress["next_wake_up"] for progress in self.progress.values())
        return min((time for time in times if time is not None), default=None)

    def files(self) -> set[str]:
        """Return the names of all files in the job's storage that the epoch's state is made of."""
        return {handle.name for handle in self.every_handle()}

    def every_handle(self) -> Iterator[StateHandle]:
        """Yield the handles of all files in the job's storage that the epoch's state is made of."""
        for handles in self.handles.values():
            yield from handles
        for plain in self.progress.values():
            yield from map(StateHandle._make, plain.get("stored", {}).values())
        yield from self.pieces.values()


def encode(record: EpochRecord) -> bytes:
    """Return a record as a line with its SHA-256 digest, and JSON."""
    plain = {
        "format": FORMAT,
        **vars(record),
        "job": _job_to_plain(record.job),
        "handles": [[*owner, list(map(list, found))] for owner, found in record.handles.items()],
        "progress": [[*owner, found] for owner, found in record.progress.items()],
        "finished": sorted(record.finished),
        "old_rows": None if record.old_rows is None else sorted(map(list, record.old_rows)),
    }
    body = json.dumps(plain, separators=(",", ":"), sort_keys=True).encode()
    return digest_of(body).encode() + b"\n" + body


def digest_of(body: bytes) -> str:
    """Return the digest that stands before a record's JSON, and in the record after it."""
    return hashlib.sha256(body).hexdigest()


def digest_of_record(record: EpochRecord) -> str:
    """Return the digest of a record, as the next one names it."""
    return digest_in(encode(record))


def digest_in(encoded: bytes) -> str:
    """Return the digest that a record was written with."""
    return encoded.partition(b"\n")[0].decode()


def decode(data: bytes, where: str) -> EpochRecord:
    """Return the record that `encode` made bytes of.

    Args:
        data: The bytes.
        where: Where they were read, for messages.

    Raises:
        DamagedStateError: If they are not what was written, or of a form that is not known.
    """
    digest, _, body = data.partition(b"\n")
    if digest.decode("ascii", "replace") != digest_of(body):
        raise DamagedStateError(
            f"The metadata {where} is damaged: its checksum is not that of its content.",
            hint=GO_BACK_HINT,
        )
    plain = json.loads(body)
    if (found := plain.pop("format")) not in {_FIRST_FORM, FORMAT}:
        raise DamagedStateError(
            f"The metadata {where} has the form {found}; this version of penstock reads {FORMAT}.",
            hint="Use the version of penstock that wrote it.",
        )
    if found == _FIRST_FORM:
        plain = _from_first_form(plain)
    return EpochRecord(
        **{
            **plain,
            "job": _job_from_plain(plain["job"]),
            "handles": {
                (vertex, subtask): tuple(StateHandle._make(one) for one in found)
                for vertex, subtask, found in plain["handles"]
            },
            "progress": {(vertex, subtask): found for vertex, subtask, found in plain["progress"]},
            "finished": frozenset(plain["finished"]),
            "planned": {
                source: ReadSoFar(*read) for source, read in plain.get("planned", {}).items()
            },
            "prepared": [(sink, committable) for sink, committable in plain["prepared"]],
            "pieces": {
                known: StateHandle._make(handle)
                for known, handle in plain.get("pieces", {}).items()
            },
            "old_rows": _row_names(plain["old_rows"]),
        }
    )


def _from_first_form(plain: dict[str, Any]) -> dict[str, Any]:
    """Return what metadata of the first form says in the present one.

    It did not say that a job had been drained: all of its sources counted as ended, though the job had not.
    """
    every = list(range(len(plain["job"]["sources"])))
    is_drained = plain["finished"] == every and not plain["is_last"]
    finished = [] if is_drained else plain["finished"]
    return {**plain, "finished": finished, "is_drained": is_drained, "old_rows": None}


def _row_names(plain: list[Any] | None) -> frozenset[RowNames] | None:
    if plain is None:
        return None
    return frozenset(RowNames(store, state, tuple(names)) for store, state, names in plain)


def _job_to_plain(job: JobRecord) -> dict[str, Any]:
    return {
        **job._asdict(),
        "vertices": [vertex._asdict() for vertex in job.vertices],
    }


def _job_from_plain(plain: dict[str, Any]) -> JobRecord:
    return JobRecord(
        **{
            **plain,
            "vertices": tuple(
                VertexRecord(
                    **{
                        **vertex,
                        "operators": tuple(OperatorRecord(*one) for one in vertex["operators"]),
                    }
                )
                for vertex in plain["vertices"]
            ),
            "edges": tuple(EdgeRecord(*edge) for edge in plain["edges"]),
            "sources": tuple(plain["sources"]),
        }
    )
