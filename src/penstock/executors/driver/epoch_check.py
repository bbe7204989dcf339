"""Whether an epoch is whole: nothing lost on the way, and one attempt of each task."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.checkpoint.epoch_record import SubtaskId
from penstock.errors import InconsistentEpochError, LostBufferError
from penstock.runtime.exchange.buffer import Buffer, channel_number
from penstock.runtime.program import NetworkEdge, Program
from penstock.runtime.task.message import Message, SubtaskReport

_HINT = "The exchange lost or repeated data. The epoch is not committed; run it again."

Reports = dict[SubtaskId, SubtaskReport]


def reports_of(buffers: Sequence[Buffer], messages: Sequence[Message]) -> Reports:
    """Return the report of each task, the last of its messages.

    Args:
        buffers: What brought the messages, in the order of `Buffer.order`.
        messages: The messages.

    Raises:
        LostBufferError: If a message of a task is missing, or came twice.
    """
    reports: Reports = {}
    expected: dict[SubtaskId, int] = {}
    for buffer, message in zip(buffers, messages, strict=True):
        if message.kind == "profile":
            continue
        task = message.vertex, message.sender
        if buffer.sequence != expected.get(task, 0) or task in reports:
            raise LostBufferError(
                f"The driver got message {buffer.sequence} of task {message.sender} of vertex "
                f"{message.vertex}, but expected message {expected.get(task, 0)}.",
                hint=_HINT,
            )
        expected[task] = buffer.sequence + 1
        if message.kind == "report":
            reports[task] = message.content
    for vertex, sender in expected.keys() - reports.keys():
        raise LostBufferError(
            f"The driver missed the report of task {sender} of vertex {vertex}.", hint=_HINT
        )
    return reports


def check_reports(program: Program, reports: Reports) -> None:
    """Make sure that all tasks reported, and that each receiver read one attempt of each sender.

    Raises:
        LostBufferError: If a report is missing, or a receiver missed a sender.
        InconsistentEpochError: If a receiver read another attempt of a sender than the driver.
    """
    senders: dict[int, dict[int, str]] = {}
    for (vertex, sender), report in reports.items():
        senders.setdefault(vertex, {})[sender] = report.attempt
    for target in program.vertices:
        edges = [edge for edge in target.inputs if edge.source in senders]
        if not edges:
            continue
        for subtask in range(target.parallelism):
            if (target.index, subtask) not in reports:
                raise LostBufferError(
                    f"The driver missed the report of {target.name!r}, subtask {subtask}.",
                    hint=_HINT,
                )
            _check_attempts(target.name, edges, senders, reports[target.index, subtask])


def _check_attempts(
    name: str, edges: list[NetworkEdge], senders: dict[int, dict[int, str]], report: SubtaskReport
) -> None:
    expected = {
        channel_number(edge.index, sender): attempt
        for edge in edges
        for sender, attempt in senders[edge.source].items()
    }
    if report.attempts == expected:
        return
    if report.attempts.keys() != expected.keys():
        raise LostBufferError(
            f"A task of {name!r} read the channels {sorted(report.attempts)}, not those of its "
            f"senders, {sorted(expected)}.",
            hint=_HINT,
        )
    raise InconsistentEpochError(
        f"Tasks of one epoch read different attempts of a sender into {name!r}.",
        hint="From Spark 4.2 on, keep spark.sql.shuffle.orderIndependentChecksum.enabled on. Before, Spark has no such "
        "check: look in its logs why executors die.",
    )
