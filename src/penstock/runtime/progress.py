"""How far a subtask has come: what it takes along from epoch to epoch, beside its keyed state."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from penstock.checkpoint.handles import StateHandle
from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.timestamp import MIN_TIMESTAMP


class SubtaskProgress(NamedTuple):
    """How far a subtask has come.

    Attributes:
        watermark: Its input watermark.
        outputs: The watermark of each edge that leaves it, by the edge's number.
        clock: The processing time it last saw, in milliseconds; its clock never goes back.
        operators: The snapshots of its operators, by their ids; of large ones, the files they are in.
        gauges: The input and output watermark of each of its operators, in milliseconds.
        next_wake_up: The processing time (milliseconds) at which it wants an epoch, with or without
            records, for a timer or to find a split idle; None for never.
        inputs: The watermark of each of its inputs, if it has several.
    """

    watermark: ChannelWatermark = ChannelWatermark()
    outputs: tuple[tuple[int, ChannelWatermark], ...] = ()
    clock: int = MIN_TIMESTAMP
    operators: tuple[tuple[str, bytes | StateHandle], ...] = ()
    gauges: tuple[tuple[int, int], ...] = ()
    next_wake_up: int | None = None
    inputs: tuple[ChannelWatermark, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """Return it as data that JSON can hold."""
        return {
            "watermark": list(self.watermark),
            "outputs": [[edge, list(at)] for edge, at in self.outputs],
            "clock": self.clock,
            "operators": {
                key: b64encode(snapshot).decode()
                for key, snapshot in self.operators
                if not isinstance(snapshot, StateHandle)
            },
            "stored": {
                key: list(snapshot)
                for key, snapshot in self.operators
                if isinstance(snapshot, StateHandle)
            },
            "gauges": list(map(list, self.gauges)),
            "next_wake_up": self.next_wake_up,
            "inputs": list(map(list, self.inputs)),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> SubtaskProgress:
        """Return what `to_plain` made plain."""
        return cls(
            ChannelWatermark(*plain["watermark"]),
            tuple((edge, ChannelWatermark(*at)) for edge, at in plain["outputs"]),
            plain["clock"],
            (
                *((key, b64decode(text)) for key, text in plain["operators"].items()),
                *((key, StateHandle._make(at)) for key, at in plain.get("stored", {}).items()),
            ),
            tuple((given, emitted) for given, emitted in plain["gauges"]),
            plain["next_wake_up"],
            tuple(ChannelWatermark(*at) for at in plain["inputs"]),
        )


Merge = Callable[[str, list[bytes]], bytes]
"""Merges the snapshots of one operator, given its id."""


def merge_progress(parts: Iterable[SubtaskProgress], merge: Merge) -> SubtaskProgress:
    """Join the progress of tasks that read parts of one split: it is as far as the farthest.

    Args:
        parts: The progress of each task.
        merge: Merges the snapshots of one operator.
    """
    found = list(parts)
    outputs: dict[int, ChannelWatermark] = {}
    operators: dict[str, list[bytes]] = {}
    for part in found:
        for edge, watermark in part.outputs:
            outputs[edge] = farther(outputs.get(edge), watermark)
        for operator_id, snapshot in part.operators:
            # Tasks of a source that Spark reads have no files of their own.
            assert isinstance(snapshot, bytes)
            operators.setdefault(operator_id, []).append(snapshot)
    farthest: ChannelWatermark | None = None
    for part in found:
        farthest = farther(farthest, part.watermark)
    return SubtaskProgress(
        farthest or ChannelWatermark(),
        tuple(outputs.items()),
        max((part.clock for part in found), default=MIN_TIMESTAMP),
        tuple(
            (operator_id, snapshots[0] if len(snapshots) == 1 else merge(operator_id, snapshots))
            for operator_id, snapshots in operators.items()
        ),
        tuple(
            (max(both[0] for both in gauges), max(both[1] for both in gauges))
            for gauges in zip(*(part.gauges for part in found), strict=True)
        ),
        min((part.next_wake_up for part in found if part.next_wake_up is not None), default=None),
    )


def farther(one: ChannelWatermark | None, other: ChannelWatermark) -> ChannelWatermark:
    """Return how far something is of which two know, one of them perhaps nothing."""
    if one is None:
        return other
    return ChannelWatermark(max(one.timestamp, other.timestamp), one.is_idle and other.is_idle)
