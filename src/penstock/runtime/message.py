"""What a task tells the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.checkpoint.handles import StateHandle
from penstock.runtime.progress import SubtaskProgress

OperatorCounts = tuple[int, int, int, int, dict[str, Any]]
"""Records in and out, input and output watermark (milliseconds), and what the function counted."""


class Message(NamedTuple):
    """Something a task tells the driver.

    Attributes:
        kind: `report`, `error`, `print`, `collect` or `prepared`; of a carrier, `profile`.
        vertex: The index of the vertex; `DRIVER` where a carrier tells something.
        sender: The number of the task among those of its vertex, or of the carrier.
        content: What is told, by kind.
    """

    kind: str
    vertex: int
    sender: int
    content: Any


@dataclass(frozen=True)
class SubtaskReport:
    """What one subtask did in an epoch.

    Attributes:
        metrics: For each operator of the chain: records in and out, input and output watermark, and
            what the user's function counted.
        attempts: For each channel the attempt of the sender that was read.
        handles: The files of the state as it is now; None for a subtask without state.
        attempt: Tells the attempts of this task apart.
        progress: How far it has come.
        timers: The number of timers of each operator.
    """

    metrics: list[OperatorCounts]
    attempts: dict[int, str]
    handles: tuple[StateHandle, ...] | None
    attempt: str
    progress: SubtaskProgress
    timers: tuple[int, ...] = ()
