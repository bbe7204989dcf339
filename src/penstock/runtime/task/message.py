"""What a task tells the driver."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from penstock.checkpoint.epoch_record import RowNames
from penstock.checkpoint.handles import StateHandle
from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.samples import Sample
from penstock.runtime.task.watch import Spent

_NOTHING_SPENT: Final = Spent()

OperatorCounts = tuple[int, int, int, int, dict[str, Any]]
"""Records in and out, input and output watermark (milliseconds), and what the function counted."""


class Message(NamedTuple):
    """Something a task tells the driver.

    Attributes:
        kind: `report`, `error`, `print`, `print_to_err`, `collect` or `prepared`; of a carrier, `profile`
            or `log`.
        vertex: The index of the vertex; `DRIVER` where a carrier tells something.
        sender: The number of the task among those of its vertex, or of the carrier.
        content: What is told, by kind.
    """

    kind: str
    vertex: int
    sender: int
    content: Any

    @property
    def values(self) -> list[Any]:
        """What is told, one by one."""
        if self.kind == "collect":
            return self.content[1]  # type: ignore[no-any-return]
        return self.content if self.kind in {"print", "print_to_err"} else [self.content]

    def cut(self, pieces: int) -> Iterator[Message]:
        """Yield it as several messages that tell the same; itself if it tells one thing.

        Args:
            pieces: How many.
        """
        values = self.values
        if len(values) < 2:
            yield self
            return
        most = -(-len(values) // pieces)
        for start in range(0, len(values), most):
            part = values[start : start + most]
            yield self._replace(content=(self.content[0], part) if self.kind == "collect" else part)


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
        fired: How many timers of each operator have fired.
        splits: How far each split has come whose watermarks leave the chain as they are, as far as this task knows.
        spent: How it spent the epoch: see `Spent`.
        samples: Records that went nowhere, each with the place of its operator in the chain.
        kept_rows: The names of rows among the keys of its state, if the driver has to hear of them.
        seen_rows: The same of keys that came.
        states: The names of the states that each operator has asked for, by its id.
    """

    metrics: list[OperatorCounts]
    attempts: dict[int, str]
    handles: tuple[StateHandle, ...] | None
    attempt: str
    progress: SubtaskProgress
    timers: tuple[int, ...] = ()
    fired: tuple[int, ...] = ()
    splits: tuple[tuple[Hashable, ChannelWatermark], ...] = ()
    spent: tuple[float, float, float, float, int, int] = _NOTHING_SPENT
    samples: tuple[tuple[int, Sample], ...] = ()
    kept_rows: frozenset[RowNames] = frozenset()
    seen_rows: frozenset[RowNames] = frozenset()
    states: dict[str, frozenset[str]] = field(default_factory=dict)
