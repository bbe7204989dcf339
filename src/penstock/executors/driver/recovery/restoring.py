"""What a job takes up of a checkpoint, whatever has changed in its program since."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock.checkpoint.epoch_record import (
    EpochRecord,
    JobRecord,
    OperatorRecord,
    ReadSoFar,
    SubtaskId,
)
from penstock.checkpoint.handles import StateHandle
from penstock.checkpoint.storage import Storage
from penstock.errors import (
    CheckpointMismatchError,
    MaxParallelismChangedError,
    UnclaimedStateError,
    WindowsChangedError,
)
from penstock.executors.driver.job_description import describe
from penstock.executors.driver.recovery.restored_progress import (
    RestoredProgress,
    subtasks_with_progress,
)
from penstock.executors.driver.recovery.restored_state import has_files, restored_state
from penstock.runtime.job_pickle import load_code
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.planned.kafka.source import KafkaRecords
from penstock.runtime.program import OperatorSpec, Program, Vertex
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.windows.kept_windows import OF_EVENT_TIME

_READ_BY_SPARK: Final = "a stream"
"""The kind of a source of which Spark keeps how far it is."""
_OTHER_READER: Final = {
    (_READ_BY_SPARK, KafkaRecords.kind): (
        "If it is a KafkaSource that Spark's connector has read, set kafka.reader to spark, and it goes on. auto, the "
        "default, chooses at each start, and has Python read wherever confluent-kafka is installed and can log in. "
    ),
    (KafkaRecords.kind, _READ_BY_SPARK): (
        "If it is a KafkaSource that Python has read, set kafka.reader to python, and it goes on. auto, the default, "
        'chooses at each start, and has Python read wherever `pip install "penstock[kafka]"` was run and the client '
        "can log in. "
    ),
}
"""What to do where somebody else has read a topic of Kafka, by the kinds that its source had and has."""
_ANOTHER_SOURCE: Final = (
    "To read it from its beginning, give the source another uid() and set "
    "execution.state-recovery.ignore-unclaimed-state to true, as the one that was there is gone."
)


@dataclass(frozen=True)
class Restored:
    """What the first epoch after a start takes up.

    Attributes:
        state: For each subtask with state, the files it is made of, oldest first.
        progress: How far each subtask has come.
        finished: The sources that have ended, by their numbers.
        read: How many epochs of its own each bounded source has given, by its number.
        planned: How far each source is read whose reading the driver plans, by its number.
    """

    state: Mapping[SubtaskId, tuple[StateHandle, ...]] = field(default_factory=dict)
    progress: Mapping[SubtaskId, SubtaskProgress] = field(default_factory=dict)
    finished: frozenset[int] = frozenset()
    read: Mapping[int, int] = field(default_factory=dict)
    planned: Mapping[int, ReadSoFar] = field(default_factory=dict)


def restored(
    record: EpochRecord,
    program: Program,
    bounded: Mapping[int, int] | None = None,
    planned: Mapping[int, str] | None = None,
    *,
    ignore_unclaimed_state: bool = False,
    storage: Storage | None = None,
) -> Restored:
    """Return what a program takes up of an epoch.

    Operators are known again by their ids. Their parallelism, which of them are chained, and the
    sources may be others than they were.

    In a program of another form, and after a drain, sources that had ended do so once more, without
    records: whoever waited for another one beside them, which is gone, hears so of the end.

    Args:
        record: The epoch.
        program: The program that goes on from it.
        bounded: How many epochs of its own each bounded source of it has, by its number.
        planned: The kind of each source of it whose reading the driver plans, by its number.
        ignore_unclaimed_state: Whether state of operators that are gone is dropped.
        storage: Where the state is.

    Raises:
        UnclaimedStateError: If an operator with state is gone, and its state is not to be dropped.
        WindowsChangedError: If an operator has other windows, or keeps them otherwise.
        CheckpointMismatchError: If a source is of another kind than it was.
        MaxParallelismChangedError: If the program divides keys into another number of key groups.
        StateNotRescalableError: If an operator's parallelism was changed that has to keep it.
    """
    job = describe(program)
    if bounded is not None:
        _check_kinds(record, job, bounded, planned or {})
    if not ignore_unclaimed_state:
        _check_claimed(record, job)
    _check_windows(record, job)
    if record.is_drained:
        record = begun_anew(record, program)
    is_same = job.vertices == record.job.vertices and job.edges == record.job.edges
    if is_same:
        progress = {
            owner: SubtaskProgress.from_plain(plain) for owner, plain in record.progress.items()
        }
        state = dict(record.handles)
    else:
        state = restored_state(record, program)
        known = RestoredProgress(record, program, storage)
        progress = {
            (vertex.index, subtask): known.of(vertex, subtask)
            for vertex in program.vertices
            for subtask in subtasks_with_progress(vertex)
        }
    ended = {record.job.sources[number] for number in record.finished}
    finished = {number for number, source in enumerate(job.sources) if source in ended}
    read = {
        number: epochs if number in finished else min(_read(record, job.sources[number]), epochs)
        for number, epochs in (bounded or {}).items()
    }
    if not is_same or record.is_drained:
        finished = set()
    so_far = {
        number: record.planned[job.sources[number]]
        for number in planned or {}
        if job.sources[number] in record.planned
    }
    return Restored(state, progress, frozenset(finished), read, so_far)


def _check_kinds(
    record: EpochRecord, job: JobRecord, bounded: Mapping[int, int], planned: Mapping[int, str]
) -> None:
    """Make sure that sources are of the kinds that they were: how far each is, is kept in its own way."""
    if record.read is None:
        return
    names = {
        operator.operator_id: operator for vertex in job.vertices for operator in vertex.operators
    }
    for number, source in enumerate(job.sources):
        if source not in record.job.sources:
            continue
        now = "bounded" if number in bounded else planned.get(number, _READ_BY_SPARK)
        was = "bounded" if source in record.read else _READ_BY_SPARK
        if source in record.planned:
            was = record.planned[source].kind
        if was == now:
            continue
        raise CheckpointMismatchError(
            f"The source {names[source].described} is {now}, and was {was} when epoch {record.number} was "
            "committed: how far it was read does not say where it goes on now.",
            hint=_OTHER_READER.get((was, now), "") + _ANOTHER_SOURCE,
        )


def _read(record: EpochRecord, source: str) -> int:
    """Return how many epochs of its own a bounded source has given."""
    if record.read is not None:
        return record.read.get(source, 0)
    # In an epoch that drained a job nothing was read.
    return record.number + (not record.is_drained) if source in record.job.sources else 0


def with_key_groups_of(job: JobRecord, program: Program) -> Program:
    """Return a program with the max parallelisms of the job it goes on from, where the user set none.

    Args:
        job: The job as its checkpoint describes it.
        program: The program.

    Raises:
        MaxParallelismChangedError: If an operator with keyed state is to have more subtasks than that.
    """
    known = {
        operator.operator_id: vertex.max_parallelism
        for vertex in job.vertices
        for operator in vertex.operators
        if operator.is_stateful
    }
    vertices = tuple(_with_key_groups(vertex, known) for vertex in program.vertices)
    return program if vertices == program.vertices else replace(program, vertices=vertices)


def _with_key_groups(vertex: Vertex, known: Mapping[str, int]) -> Vertex:
    if vertex.fixes_key_groups or not vertex.is_keyed:
        return vertex
    found = [known[spec.operator_id] for spec in vertex.operators if spec.operator_id in known]
    if not found or found[0] == vertex.max_parallelism:
        return vertex
    if vertex.parallelism > found[0]:
        raise MaxParallelismChangedError(
            f"{vertex.name!r} is to have {vertex.parallelism} subtasks, and its state is in {found[0]} key "
            "groups: it was written with that max parallelism.",
            hint=f"Let it have a parallelism of {found[0]} or less.",
        )
    return replace(vertex, max_parallelism=found[0])


def _check_claimed(record: EpochRecord, job: JobRecord) -> None:
    """Make sure that all sources, and all operators that have left something, are still there."""
    operators = [operator for vertex in job.vertices for operator in vertex.operators]
    present = {operator.operator_id for operator in operators}
    keepers = {
        operator.operator_id: operator.delivers_to
        for vertex in job.vertices
        for operator in vertex.operators
        if operator.keeps_records and not vertex.is_shared
    }
    snapshots = {
        key
        for plain in record.progress.values()
        for key in (*plain["operators"], *plain.get("stored", ()))
    }
    with_files = {vertex for (vertex, _), handles in record.handles.items() if handles}
    gone = [
        operator
        for vertex in record.job.vertices
        for operator in vertex.operators
        if (
            operator.keeps_records
            and operator.operator_id in snapshots
            and not _takes_up(keepers.get(operator.operator_id), operator, record)
        )
        or (
            operator.operator_id not in present
            and (
                operator.operator_id in record.job.sources
                or (operator.is_stateful and vertex.number in with_files)
            )
        )
    ]
    if not gone:
        return
    if sinks := [operator for operator in gone if operator.delivers_to]:
        raise _undelivered(record, sinks, present)
    names = ", ".join(operator.described for operator in gone)
    raise UnclaimedStateError(
        f"The checkpoint of epoch {record.number} holds state of operators, or says how far sources are, and "
        f"the program has none that takes it up: {names}.",
        hint="An operator without a uid is known by its place in the program, a source also by what is "
        "chained to it: give sources and operators with state a uid() before the program is changed. To "
        "drop what is left of them, set execution.state-recovery.ignore-unclaimed-state to true.",
    )


def _check_windows(record: EpochRecord, job: JobRecord) -> None:
    """Make sure that operators find the windows that are open, and take them for what they are."""
    now = {
        operator.operator_id: operator.kept_windows
        for vertex in job.vertices
        for operator in vertex.operators
    }
    for vertex in record.job.vertices:
        if not has_files(record, vertex):
            continue
        for operator in vertex.operators:
            then, found = operator.kept_windows, now.get(operator.operator_id)
            # A drain has fired all windows of event time. Earlier versions did not say what there was.
            is_over = not then or (record.is_drained and then.startswith(OF_EVENT_TIME))
            if found is None or found == then or is_over:
                continue
            raise WindowsChangedError(
                f"In the checkpoint of epoch {record.number} the operator {operator.described} has {then}. In the "
                f"program it has {found or 'no windows'}: what is kept for the one is not found by the other, or "
                "is something else to it.",
                hint="Give the operator the windows of before. To let other windows begin anew, give it another "
                "uid() and set execution.state-recovery.ignore-unclaimed-state to true: windows that are open are "
                "dropped. Those of event time need not be: stop_with_savepoint(True, ...) of the program as it "
                "was fires them all, and others may go on from there.",
            )


def _takes_up(delivers_to: str | None, operator: OperatorRecord, record: EpochRecord) -> bool:
    """Whether an operator takes up the records that another one has left under its id.

    Args:
        delivers_to: Where it delivers to; None if there is none.
        operator: The other one.
        record: The epoch. What lies elsewhere is found if the epoch has copies of it.
    """
    if delivers_to is None:
        return False
    return operator.delivers_to in {"", delivers_to} or bool(record.pieces)


def _undelivered(
    record: EpochRecord, sinks: Sequence[OperatorRecord], present: Collection[str]
) -> UnclaimedStateError:
    names = ", ".join(f"{sink.described}: {sink.delivers_to}" for sink in sinks)
    hint = (
        "Start the program with the sink as it was, under its uid; stop_with_savepoint(True, ...) then "
        "delivers all that is open, and the sink may be changed or removed. To drop these records, set "
        "execution.state-recovery.ignore-unclaimed-state to true."
    )
    if any(sink.operator_id in present for sink in sinks):
        hint = (
            "The program has a sink under this id that does not find them, or cannot take them up: one of another "
            "kind, one that delivers elsewhere (from a savepoint it can), or a FileSink that leaves no file open "
            "and stands in one chain with a source that Spark reads. " + hint
        )
    return UnclaimedStateError(
        f"The checkpoint of epoch {record.number} holds records that sinks have not delivered yet, such as those "
        f"in open files of a FileSink, and the program has none that takes them up: {names}.",
        hint=hint,
    )


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
