"""A job as it is seen at one moment: what its page, its REST API, its line and its metrics show.

Times are milliseconds since 1970, durations milliseconds, sizes bytes, unless something else is said. Nothing
in a view changes once it is made, and everything in it is plain: `job_view_json` of it is JSON.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.common.job_status import JobStatus
from penstock.common.plain_text import one_line, without_logins
from penstock.errors import UserFunctionError


@dataclass(frozen=True)
class Figures:
    """What an operator did, in one of its subtasks or in all of them, since the job began.

    Attributes:
        records_in: Records received; of a source, those that it read.
        records_out: Records emitted, side outputs included.
        input_watermark: The lowest input watermark; None before the first.
        output_watermark: The lowest output watermark; None before the first.
        late_records: Records dropped as late.
        failed_records: Records that failed and were passed over, or went to a side output for failures.
        timers: How many timers are set.
        timers_fired: How many have fired.
        state_size: How many bytes of state it has; of a chain, the first of its operators with state has all.
        user: What its functions count, by name: of a counter and a gauge the value, of a meter
            `{"count", "rate"}`, of a distribution `{"p50", "p95", "p99", "max"}`.
        gauges: The names in `user` that gauges have, which nothing else tells from counters.
    """

    records_in: int = 0
    records_out: int = 0
    input_watermark: int | None = None
    output_watermark: int | None = None
    late_records: int = 0
    failed_records: int = 0
    timers: int = 0
    timers_fired: int = 0
    state_size: int = 0
    user: Mapping[str, Any] = field(default_factory=dict)
    gauges: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TaskTimes:
    """How a subtask spent the last seconds, as shares of them, which come to 1; and what passed through it.

    A subtask tells the driver how it spent an epoch when the epoch is over. So the seconds are those before the
    epoch that is running.

    Attributes:
        busy: It read, processed records and timers, or wrote its state. Waiting for what a function waits for,
            as for asynchronous calls at the end of an epoch, is part of that.
        back_pressured: It was held up by others: it waited until what it had sent was taken, or it was done
            with an epoch, and waited until all were.
        idle: It had nothing to do: there was no epoch, it was being committed and published, nothing passed
            through the subtask, or none of its input had come yet.
        records_in_per_second: Records received, of the last seconds.
        records_out_per_second: Records emitted, of the last seconds.
        bytes_in: Bytes received from other chains since the job began.
        bytes_out: Bytes sent to other chains since the job began.
        measured: Of how many seconds the shares are; 0 before the first epoch was committed, when nothing is
            known of them.
    """

    busy: float = 0.0
    back_pressured: float = 0.0
    idle: float = 1.0
    records_in_per_second: float = 0.0
    records_out_per_second: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    measured: float = 0.0


@dataclass(frozen=True)
class OperatorView:
    """An operator of a chain.

    Attributes:
        operator_id: Its stable id (32 hexadecimal digits).
        name: The name users see.
        uid: The uid that the user gave it; None if none.
        chained: The places in the chain of the operators that it hands its records to.
        figures: What it did, over all subtasks.
        records_per_second: Records received in the last seconds; of a source, those that it read.
        busy: Its share of its chain's busy time, 0 to 1; None where `execution.profile` does not have it measured.
    """

    operator_id: str
    name: str
    uid: str | None
    chained: tuple[int, ...]
    figures: Figures
    records_per_second: float = 0.0
    busy: float | None = None


@dataclass(frozen=True)
class SubtaskView:
    """A subtask of a chain.

    Attributes:
        index: Its number among those of its chain.
        times: How it spent the last seconds.
        operators: What each operator of the chain did in it.
        state_size: How many bytes the files have that its state is in. Once the parallelism was changed, several
            subtasks have the same files for a while: those of the chain are fewer bytes then than theirs together.
    """

    index: int
    times: TaskTimes
    operators: tuple[Figures, ...]
    state_size: int = 0


@dataclass(frozen=True)
class InputView:
    """An edge that feeds a chain.

    Attributes:
        vertex_id: The chain that sends.
        ship_strategy: How records are given to subtasks: `HASH`, `REBALANCE`, `BROADCAST`, `FORWARD` and so on.
        operator_id: The operator of that chain that sends.
    """

    vertex_id: str
    ship_strategy: str
    operator_id: str


@dataclass(frozen=True)
class VertexView:
    """A chain of operators.

    Attributes:
        vertex_id: Its stable id, that of its head (32 hexadecimal digits).
        name: The names of its operators, as "Source: numbers -> Map".
        parallelism: How many subtasks it has.
        max_parallelism: How many key groups.
        operators: Its operators, head first.
        inputs: The edges that feed it; none of a source.
        subtasks: Its subtasks.
        times: How its subtasks spent the last seconds, on average; rates and bytes are sums.
        watermark: How far event time has come in it: the lowest output watermark of its last operators; None
            before the first.
        state_size: How many bytes of state it has.
    """

    vertex_id: str
    name: str
    parallelism: int
    max_parallelism: int
    operators: tuple[OperatorView, ...]
    inputs: tuple[InputView, ...]
    subtasks: tuple[SubtaskView, ...]
    times: TaskTimes
    watermark: int | None = None
    state_size: int = 0

    @property
    def is_source(self) -> bool:
        """Whether a source is its head."""
        return not self.inputs


@dataclass(frozen=True)
class EpochView:
    """An epoch: what it took, and where its time went. A committed epoch is a checkpoint.

    Attributes:
        number: Its number.
        started: When it began.
        duration: How long it took, until it was committed.
        planning: Of it, the time in which it was planned what is read.
        running: The time in which its tasks ran.
        committing: The time in which its metadata was written.
        publishing: The time in which sinks published it, or None where that is not over, or not known.
        records_in: How many records its sources read.
        state_size: How many bytes the files of all state have.
        changed_size: How many bytes of them it wrote.
        location: Where its metadata is; None where no checkpoint location is set.
        is_savepoint: Whether a savepoint was written of it.
        failure: What it failed with, in one line; None of an epoch that was committed.
        state_sizes: The bytes of state of each chain, by vertex id.
    """

    number: int
    started: int
    duration: int
    planning: int = 0
    running: int = 0
    committing: int = 0
    publishing: int | None = None
    records_in: int = 0
    state_size: int = 0
    changed_size: int = 0
    location: str | None = None
    is_savepoint: bool = False
    failure: str | None = None
    state_sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SavepointView:
    """A savepoint that was written while the job was seen.

    Attributes:
        location: Where it is.
        epoch: The number of the epoch that it holds.
        started: When its writing began.
        duration: How long that took.
        size: How many bytes the files of its state have.
        stopped: Whether the job was stopped with it.
    """

    location: str
    epoch: int
    started: int
    duration: int
    size: int = 0
    stopped: bool = False


@dataclass(frozen=True)
class RestoreView:
    """An epoch that the job went on from, when it was started or after a failure.

    Attributes:
        epoch: Its number.
        happened: When.
        location: Where it is; None where no checkpoint location is set.
        is_savepoint: Whether that is a savepoint, or the checkpoint of another job, and no epoch of its own.
    """

    epoch: int
    happened: int
    location: str | None
    is_savepoint: bool = False


@dataclass(frozen=True)
class ExceptionView:
    """Something that an epoch failed with.

    Attributes:
        happened: When.
        name: The class of the exception: of one that a function of the user raised, that one's.
        message: What it says.
        traceback: The user's own frames, as Python shows them; the whole text of a named error else.
        operator: The operator; None where none is to blame.
        vertex_id: Its chain; None where none is known.
        record: The record, as `repr` shows it, cut; None where none is known.
        epoch: The epoch that failed.
        times: How often the same came in a row.
    """

    happened: int
    name: str
    message: str
    traceback: str
    operator: str | None = None
    vertex_id: str | None = None
    record: str | None = None
    epoch: int | None = None
    times: int = 1

    @property
    def summary(self) -> str:
        """What was raised, in one line."""
        said = one_line(without_logins(self.message.strip().partition("\n")[0]))
        # What a user's function raised is named in what is said.
        names_itself = self.name == UserFunctionError.__name__ or said.startswith(self.name)
        return said if names_itself else f"{self.name}: {said}"


@dataclass(frozen=True)
class SampleView:
    """A record that was dropped as late, or that failed and was passed over.

    Attributes:
        kind: `late` or `failed`.
        operator: The operator.
        record: The record, as `repr` shows it, cut.
        reason: Why, in one line.
        happened: When.
    """

    kind: str
    operator: str
    record: str
    reason: str
    happened: int


@dataclass(frozen=True)
class JobView:
    """A job as it is seen at one moment.

    Attributes:
        job_id: Its id (32 hexadecimal digits).
        name: Its name.
        status: What it is doing, or how it ended.
        phase: What it is doing now, in a few words: "starting Spark", "first epoch, 12 s", "running",
            "restarting", "writing a savepoint", "stopping", "stopped", "finished" and so on.
        at: When it was seen.
        started: When it was started.
        ended: When it ended; None while it runs.
        status_times: When it came to each status it had, the last time.
        is_bounded: Whether all its sources end.
        parallelism: The greatest parallelism of its chains.
        max_parallelism: The greatest number of key groups of them.
        configuration: What is set for it, without secrets.
        checkpoint_location: Where its checkpoints are; None where they are nowhere that outlasts it.
        checkpoint_interval: How often an epoch is committed; None where as soon as possible.
        vertices: Its chains, in topological order.
        epochs: The last hundred epochs, oldest first, those that failed among them; and before them the last ten
            older ones that failed, and the last one that was committed if it is none of the hundred.
        epochs_completed: How many epochs were committed since it was started here.
        epochs_failed: How many failed.
        restored_epoch: The epoch that it began from; None if from none.
        restored_from: Where that is.
        restores: How often it went on from an epoch: when it was started, and after failures.
        last_restored: The last epoch that it went on from; None if from none.
        restarts: How often it was restarted.
        savepoints: The last ten that were written of it, oldest first.
        exceptions: The last ten, newest first.
        samples: The last ten records that were dropped as late, and the last ten that failed, newest first.
        records_in: How many records its sources have read.
        records_per_second: How many of the last ten seconds or so.
        watermark: How far event time has come: the lowest watermark of its sources; None before the first.
        watermark_lag: How far that is behind the clock, below 0 where it is ahead; None before the first watermark and
            after the last.
        holding_back: The names of the sources (and, where it is known, splits) that hold the watermark back, while
            others are ahead or none has come; empty where none does.
        held_since: Since when those have stood still; since the start if they have never come anywhere. None where
            none holds the watermark back.
        watermark_origins: Whether they hold the watermark back, of the operators in which watermarks begin: the
            sources, and those behind them that make their own. By their ids.
        late_records: How many records were dropped as late.
        failed_records: How many failed and were passed over.
        filtered_records: How many were filtered out.
        state_size: How many bytes the files of all state have.
        checkpoint_size: How many bytes the last epoch wrote.
        checkpoint_duration: How long the last epoch took.
        spark_url: Spark's own page; None where there is none.
        is_stopped: Whether it was told to read on no further, and to finish what it was at.
        goes_on: Whether it ends with what is there, and the next start goes on from there.
        is_left_behind: Whether it was cancelled and something of it still runs, as a function that does not return.
    """

    job_id: str
    name: str
    status: JobStatus
    phase: str
    at: int
    started: int
    ended: int | None = None
    status_times: Mapping[JobStatus, int] = field(default_factory=dict)
    is_bounded: bool = False
    parallelism: int = 1
    max_parallelism: int = 128
    configuration: Mapping[str, str] = field(default_factory=dict)
    checkpoint_location: str | None = None
    checkpoint_interval: int | None = None
    vertices: tuple[VertexView, ...] = ()
    epochs: tuple[EpochView, ...] = ()
    epochs_completed: int = 0
    epochs_failed: int = 0
    restored_epoch: int | None = None
    restored_from: str | None = None
    restores: int = 0
    last_restored: RestoreView | None = None
    restarts: int = 0
    savepoints: tuple[SavepointView, ...] = ()
    exceptions: tuple[ExceptionView, ...] = ()
    samples: tuple[SampleView, ...] = ()
    records_in: int = 0
    records_per_second: float = 0.0
    watermark: int | None = None
    watermark_lag: int | None = None
    holding_back: tuple[str, ...] = ()
    held_since: int | None = None
    watermark_origins: Mapping[str, bool] = field(default_factory=dict)
    late_records: int = 0
    failed_records: int = 0
    filtered_records: int = 0
    state_size: int = 0
    checkpoint_size: int = 0
    checkpoint_duration: int = 0
    spark_url: str | None = None
    is_stopped: bool = False
    goes_on: bool = False
    is_left_behind: bool = False

    @property
    def committed(self) -> list[EpochView]:
        """Those of `epochs` that were committed, oldest first."""
        return [epoch for epoch in self.epochs if epoch.failure is None]

    @property
    def end(self) -> str | None:
        """How it ended, in a word; None while it runs."""
        return end_of(self.status, is_stopped=self.is_stopped)


def end_of(status: JobStatus, *, is_stopped: bool) -> str | None:
    """Return how a job ended, in a word; None if the status says that it runs.

    Args:
        status: The status.
        is_stopped: Whether it was told to read on no further.
    """
    if status is JobStatus.FINISHED and is_stopped:
        return "stopped"
    return _ENDS.get(status)


_ENDS: Final = {
    JobStatus.FINISHED: "finished",
    JobStatus.CANCELED: "cancelled",
    JobStatus.FAILED: "failed",
    JobStatus.SUSPENDED: "suspended",
}


_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Most of what is in a view: it is asked for first."""


def job_view_json(view: Any) -> Any:
    """Return a view, or a part of one, as data that JSON can hold: fields by name, statuses by theirs."""
    if type(view) in _PLAIN:
        return view
    if dataclasses.is_dataclass(view):
        return {name: job_view_json(value) for name, value in vars(view).items()}
    if isinstance(view, Mapping):
        return {_name(key): job_view_json(value) for key, value in view.items()}
    if isinstance(view, tuple | list | frozenset):
        return [job_view_json(one) for one in view]
    return view if isinstance(view, str | int | float | bool | None) else _name(view)


def _name(value: Any) -> str:
    return value.name if isinstance(value, JobStatus) else str(value)
