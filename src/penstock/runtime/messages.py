"""What tasks tell the driver, and what the driver makes of it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from penstock.checkpoint.handles import StateHandle
from penstock.errors import InconsistentEpochError, PenstockError
from penstock.runtime.buffer import Buffer
from penstock.runtime.elements import MIN_TIMESTAMP
from penstock.runtime.epoch import SHARED, SubtaskId
from penstock.runtime.operator import StreamOperator
from penstock.runtime.program import Program, Vertex
from penstock.runtime.progress import SubtaskProgress, merge_progress


class Message(NamedTuple):
    """Something a task tells the driver.

    Attributes:
        kind: `report`, `error`, `print`, `collect` or `prepared`.
        vertex: The index of the vertex.
        sender: The number of the task among those of its vertex.
        content: What is told, by kind.
    """

    kind: str
    vertex: int
    sender: int
    content: Any


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
    """

    name: str
    records_in: int = 0
    records_out: int = 0
    input_watermark: int = MIN_TIMESTAMP
    output_watermark: int = MIN_TIMESTAMP
    user: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SubtaskReport:
    """What one subtask did in an epoch.

    Attributes:
        metrics: For each operator of the chain: records in and out, input and output watermark, and
            what the user's function counted.
        attempts: For each channel the attempt of the sender that was read.
        handles: The files of the state as it is now; None for a subtask without state.
        progress: How far it has come.
    """

    metrics: list[tuple[int, int, int, int, dict[str, Any]]]
    attempts: dict[int, str]
    handles: tuple[StateHandle, ...] | None
    progress: SubtaskProgress


@dataclass
class EpochOutcome:
    """What came of an epoch.

    Attributes:
        operators: What each operator did, by its id.
        handles: The new state handles, by subtask.
        progress: How far each subtask has come; the tasks of a source that Spark reads as one.
        printed: The lines to print.
        collected: The results of `execute_and_collect`, as pairs of an id and values.
        prepared: The files that sinks prepared, as pairs of the sink's id and a path.
        calls: How many subtasks ran.
    """

    operators: dict[str, OperatorReport] = field(default_factory=dict)
    handles: dict[SubtaskId, tuple[StateHandle, ...]] = field(default_factory=dict)
    progress: dict[SubtaskId, SubtaskProgress] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)
    collected: list[tuple[str, list[Any]]] = field(default_factory=list)
    prepared: list[tuple[str, str]] = field(default_factory=list)
    calls: int = 0

    @classmethod
    def of(cls, program: Program, buffers: Iterable[Buffer]) -> EpochOutcome:
        """Read what the tasks of an epoch told the driver.

        Raises:
            PenstockError: The first error of a task, if one failed.
            InconsistentEpochError: If two consumers read different attempts of one sender.
        """
        outcome = cls()
        attempts: dict[int, str] = {}
        shared: dict[int, list[SubtaskProgress]] = {}
        for buffer in sorted(buffers, key=lambda buffer: buffer.order):
            message: Message = Message._make(pickle.loads(buffer.payload))
            if message.kind == "error":
                raise _as_error(message.content)
            if message.kind == "report":
                outcome._add_report(program, message, attempts)
                if program.vertices[message.vertex].is_shared:
                    shared.setdefault(message.vertex, []).append(message.content.progress)
                else:
                    progress = message.content.progress
                    outcome.progress[message.vertex, message.sender] = progress
            else:
                getattr(outcome, _LISTS[message.kind]).extend(
                    message.content if message.kind == "print" else [message.content]
                )
        for index, parts in shared.items():
            merge = partial(_merge, program.vertices[index])
            outcome.progress[index, SHARED] = merge_progress(parts, merge)
        return outcome

    def _add_report(self, program: Program, message: Message, attempts: dict[int, str]) -> None:
        report: SubtaskReport = message.content
        vertex = program.vertices[message.vertex]
        self.calls += 1
        for channel, attempt in report.attempts.items():
            if attempts.setdefault(channel, attempt) != attempt:
                raise InconsistentEpochError(
                    f"Tasks of one epoch read different attempts of channel {channel} "
                    f"into {vertex.name!r}.",
                    hint="Keep spark.sql.shuffle.orderIndependentChecksum.enabled on.",
                )
        if report.handles is not None:
            self.handles[message.vertex, message.sender] = report.handles
        for spec, metrics in zip(vertex.operators, report.metrics, strict=True):
            self._add_metrics(spec.operator_id, spec.name, metrics)

    def _add_metrics(
        self, operator_id: str, name: str, metrics: tuple[int, int, int, int, dict[str, Any]]
    ) -> None:
        records_in, records_out, input_watermark, output_watermark, user = metrics
        known = self.operators.get(operator_id)
        if known is None:
            self.operators[operator_id] = OperatorReport(name, *metrics)
            return
        known.records_in += records_in
        known.records_out += records_out
        known.input_watermark = min(known.input_watermark, input_watermark)
        known.output_watermark = min(known.output_watermark, output_watermark)
        for key, value in user.items():
            known.user[key] = known.user[key] + value if key in known.user else value


def _merge(vertex: Vertex, operator_id: str, snapshots: list[bytes]) -> bytes:
    for spec in vertex.operators:
        if spec.operator_id == operator_id:
            prototype: StreamOperator = pickle.loads(spec.prototype)
            return prototype.merge_snapshots(snapshots)
    raise KeyError(operator_id)


_LISTS = {"print": "printed", "collect": "collected", "prepared": "prepared"}


def _as_error(content: Any) -> BaseException:
    return content if isinstance(content, BaseException) else PenstockError(str(content))
