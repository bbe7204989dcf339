"""What the driver makes of what the tasks of an epoch told it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from penstock.checkpoint.epoch_record import JobRecord, RowNames, SubtaskId
from penstock.checkpoint.handles import StateHandle
from penstock.errors import KeyFieldOrderError, PenstockError
from penstock.executors.driver.epoch_check import check_reports, reports_of
from penstock.runtime.epoch import SHARED, Epoch
from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.exchange.watermarks.event_time import combined
from penstock.runtime.gauges import Reading
from penstock.runtime.job_pickle import load_code, loads
from penstock.runtime.metrics import Counter, Distribution, Rate
from penstock.runtime.operator import StreamOperator
from penstock.runtime.program import Program, Vertex
from penstock.runtime.progress import SubtaskProgress, farther, merge_progress
from penstock.runtime.state.row_names import in_another_order
from penstock.runtime.task.message import Message, OperatorCounts, SubtaskReport
from penstock.runtime.task.profiling.sampler import TaskProfile
from penstock.runtime.timestamp import MIN_TIMESTAMP

Gauges = tuple[tuple[int, int], ...]


@dataclass
class OperatorReport:
    """What an operator did in an epoch, over all its subtasks.

    Attributes:
        name: The name of the operator.
        records_in: Records received.
        records_out: Records emitted, side outputs included.
        input_watermark: The lowest input watermark of its subtasks, in milliseconds.
        output_watermark: The lowest output watermark of its subtasks, in milliseconds.
        user: The sums of what the user's functions counted.
        timers: How many timers it has.
        timers_fired: How many timers have fired.
    """

    name: str
    records_in: int = 0
    records_out: int = 0
    input_watermark: int = MIN_TIMESTAMP
    output_watermark: int = MIN_TIMESTAMP
    user: dict[str, Any] = field(default_factory=dict)
    timers: int = 0
    timers_fired: int = 0

    def to_plain(self) -> dict[str, Any]:
        """Return it as data that JSON can hold; of what users count, the numbers."""
        user = {name: value for name, value in self.user.items() if isinstance(value, int | float)}
        return {**vars(self), "user": user}


@dataclass
class EpochOutcome:
    """What came of an epoch.

    Attributes:
        operators: What each operator did, by its id.
        handles: The new state handles, by subtask.
        progress: How far each subtask has come; the tasks of a source that Spark reads as one.
        printed: The lines to print.
        printed_to_err: Those to print to standard error.
        collected: The results of `execute_and_collect`, as pairs of an id and values.
        prepared: What sinks prepared, as pairs of the sink's id and a committable.
        calls: How many subtasks ran.
        profiles: Where the time of each task of the engine went, if that was asked for.
        kept_rows: The names of rows among the keys of state, if that was asked for.
        seen_rows: The same of keys that came.
        states: The names of the states that each operator has asked for, by its id.
        reports: What each task told of itself.
        splits: How far each split of a source is, by the index of the source's chain, where splits are known.
        sources: How far chains are that begin with a source of which no task alone knows how far it is: the input
            and output watermark of each operator, by the chain's index.
    """

    operators: dict[str, OperatorReport] = field(default_factory=dict)
    handles: dict[SubtaskId, tuple[StateHandle, ...]] = field(default_factory=dict)
    progress: dict[SubtaskId, SubtaskProgress] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)
    printed_to_err: list[str] = field(default_factory=list)
    collected: list[tuple[str, list[Any]]] = field(default_factory=list)
    prepared: list[tuple[str, Any]] = field(default_factory=list)
    calls: int = 0
    profiles: list[TaskProfile] = field(default_factory=list)
    kept_rows: set[RowNames] = field(default_factory=set)
    seen_rows: set[RowNames] = field(default_factory=set)
    states: dict[str, set[str]] = field(default_factory=dict)
    reports: dict[SubtaskId, SubtaskReport] = field(default_factory=dict)
    splits: dict[int, dict[Hashable, ChannelWatermark]] = field(default_factory=dict)
    sources: dict[int, Gauges] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program, buffers: Iterable[Buffer]) -> EpochOutcome:
        """Read what the tasks of an epoch told the driver.

        Raises:
            PenstockError: The first error of a task, if one failed.
            LostBufferError: If something is missing, or came twice.
            InconsistentEpochError: If two consumers read different attempts of one sender.
        """
        ordered = sorted(buffers, key=lambda buffer: buffer.order)
        messages: list[Message] = [Message._make(loads(buffer.payload)) for buffer in ordered]
        for message in messages:
            if message.kind == "error":
                raise _as_error(message.content)
        reports = reports_of(ordered, messages)
        check_reports(program, reports)
        outcome = cls(calls=len(reports), reports=reports)
        for message in messages:
            if message.kind == "report":
                outcome._add_report(program, message)
            elif message.kind == "print":
                outcome.printed.extend(message.content)
            elif message.kind == "print_to_err":
                outcome.printed_to_err.extend(message.content)
            elif message.kind == "collect":
                outcome.collected.append(message.content)
            elif message.kind == "profile":
                outcome.profiles.append(message.content)
            else:
                outcome.prepared.append(message.content)
        outcome._add_progress(program, reports)
        outcome._add_sources(program)
        return outcome

    def _add_report(self, program: Program, message: Message) -> None:
        report: SubtaskReport = message.content
        if report.handles is not None:
            self.handles[message.vertex, message.sender] = report.handles
        self.kept_rows |= report.kept_rows
        self.seen_rows |= report.seen_rows
        for operator_id, names in report.states.items():
            self.states.setdefault(operator_id, set()).update(names)
        vertex = program.vertices[message.vertex]
        for spec, metrics in zip(vertex.operators, report.metrics, strict=True):
            self._add_metrics(spec.operator_id, spec.name, metrics)
        for spec, timers in zip(vertex.operators, report.timers, strict=False):
            found = self.operators[spec.operator_id]
            found.timers += timers
        for spec, fired in zip(vertex.operators, report.fired, strict=False):
            self.operators[spec.operator_id].timers_fired += fired

    def _add_progress(self, program: Program, reports: dict[SubtaskId, SubtaskReport]) -> None:
        shared: dict[int, list[SubtaskProgress]] = {}
        for (vertex, sender), report in reports.items():
            if program.vertices[vertex].is_shared:
                shared.setdefault(vertex, []).append(report.progress)
            else:
                self.progress[vertex, sender] = report.progress
        for vertex, parts in shared.items():
            merge = partial(_merge, program.vertices[vertex])
            self.progress[vertex, SHARED] = merge_progress(parts, merge)

    def _add_sources(self, program: Program) -> None:
        """Take note of how far sources are of which each task knows only what it read itself."""
        for (index, _), told in self.reports.items():
            for name, watermark in told.splits:
                splits = self.splits.setdefault(index, {})
                splits[name] = farther(splits.get(name), watermark)
        for index, sender in self.progress:
            if sender == SHARED:
                self.sources[index] = self.progress[index, sender].gauges
        for index, found in self.splits.items():
            vertex, reached = program.vertices[index], combined(found.values())
            self.sources[index] = gauges = self._reached(vertex, reached.timestamp)
            if vertex.is_shared:
                known = self.progress[index, SHARED]
                self.progress[index, SHARED] = _as_far(known, vertex, gauges, reached.is_idle)
        for index, gauges in self.sources.items():
            for spec, shown in zip(program.vertices[index].operators, gauges, strict=True):
                report = self.operators[spec.operator_id]
                report.input_watermark, report.output_watermark = shown

    def _reached(self, vertex: Vertex, reached: int) -> Gauges:
        """Return the watermarks of the operators of a source's chain whose splits are so far."""
        lowest = [self.operators[spec.operator_id] for spec in vertex.operators]
        return tuple(
            (
                max(shown.input_watermark, reached) if place else shown.input_watermark,
                max(shown.output_watermark, reached),
            )
            for place, shown in enumerate(lowest)
        )

    def _add_metrics(self, operator_id: str, name: str, metrics: OperatorCounts) -> None:
        records_in, records_out, input_watermark, output_watermark, user = metrics
        known = self.operators.get(operator_id)
        if known is None:
            self.operators[operator_id] = OperatorReport(name, *metrics)
            return
        known.records_in += records_in
        known.records_out += records_out
        known.input_watermark = min(known.input_watermark, input_watermark)
        known.output_watermark = min(known.output_watermark, output_watermark)
        known.user = add_user_metrics(known.user, user)


def _as_far(
    progress: SubtaskProgress, vertex: Vertex, gauges: Gauges, is_idle: bool
) -> SubtaskProgress:
    """Return the progress of a source's tasks, with the watermarks that its operators have as a whole."""
    sent = {
        edge.index: ChannelWatermark(emitted, is_idle)
        for spec, (_, emitted) in zip(vertex.operators, gauges, strict=True)
        for edge in spec.network
    }
    outputs = tuple((edge, sent[edge]) for edge, _ in progress.outputs)
    return progress._replace(outputs=outputs, gauges=gauges)


def _merge(vertex: Vertex, operator_id: str, snapshots: list[bytes]) -> bytes:
    for spec in vertex.operators:
        if spec.operator_id == operator_id:
            prototype: StreamOperator = load_code(spec.prototype)
            return prototype.merge_snapshots(snapshots)
    raise KeyError(operator_id)


def _as_error(content: Any) -> BaseException:
    return content if isinstance(content, BaseException) else PenstockError(str(content))


def add_user_metrics(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return what functions counted together; of a gauge, or metrics of two kinds with one name, what is later."""
    found = dict(known)
    for name, value in new.items():
        adds_up = name in found and _kind(found[name]) is _kind(value) is not Reading
        found[name] = found[name] + value if adds_up else value
    return found


def _kind(metric: Any) -> type:
    return type(metric) if isinstance(metric, Distribution | Rate | Reading) else Counter


def old_rows_after(epoch: Epoch, outcome: EpochOutcome, job: JobRecord) -> frozenset[RowNames]:
    """Return the names of rows among the keys of a version that sorted them, for the epochs to come.

    Args:
        epoch: The epoch that was run, and not yet committed.
        outcome: What came of it.
        job: The job.

    Raises:
        KeyFieldOrderError: If rows came as keys that have the same names in another order, or had none.
    """
    old = frozenset(outcome.kept_rows) if epoch.old_rows is None else epoch.old_rows
    found = in_another_order(old, outcome.seen_rows)
    if found is None:
        return old
    now, before = found
    operator = next(
        operator.described
        for vertex in job.vertices
        for operator in vertex.operators
        if now.store.partition(" ")[0] == operator.operator_id
    )
    where = f"the maps of its state {now.state!r}" if now.state else "its state"
    others, hint = _in_order(before) if all(before.names) else _WITHOUT_NAMES
    raise KeyFieldOrderError(
        f"The operator {operator} got a key that is, or has in it, a row with the fields {_listed(now)}, and "
        f"{where} has keys {others}: these are other keys, whose state "
        f"would not be found. Epoch {epoch.number} is not committed.",
        hint=f"The version of penstock that wrote the checkpoint {hint}, and the state is found "
        "as before. To do without the state, give the operator another uid() and set "
        "execution.state-recovery.ignore-unclaimed-state to true.",
    )


_WITHOUT_NAMES: Final = (
    "of as many fields without names",
    "gave no names to rows of a type that is declared without. Make the key without names, as in Row(*record)",
)


def _in_order(rows: RowNames) -> tuple[str, str]:
    """Return which keys there were before the names of rows kept their order, and what to do about it."""
    example = ", ".join(f"{name}=..." for name in rows.names)
    hint = "sorted the names of a row made of keyword arguments. Name them in that order where the key is made"
    return f"with the same fields in the order {_listed(rows)}", f"{hint}, as in Row({example})"


def _listed(rows: RowNames) -> str:
    return f"({', '.join(rows.names)})"
