"""How far event time has come in a job, and which sources hold it back."""

from __future__ import annotations

from penstock.executors.driver.observation.epoch_log import EpochLog
from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.exchange.watermarks.event_time import combined
from penstock.runtime.program import Program, Vertex
from penstock.runtime.progress import SubtaskProgress, farther
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP


class Watermarks:
    """Tells how far event time has come.

    Args:
        program: The compiled program.
        log: What was noted of its epochs.
    """

    def __init__(self, program: Program, log: EpochLog) -> None:
        self._sources = [vertex for vertex in program.vertices if vertex.source is not None]
        self._log = log

    def seen(self) -> tuple[int | None, tuple[str, ...]]:
        """Return the lowest watermark of sources that are not idle, and the names of those that hold it back.

        A source holds it back if it is at the lowest watermark, or has none, while another is ahead. The log's
        lock is held.
        """
        reached = {vertex.index: self._of(vertex) for vertex in self._sources}
        active = {index: at.timestamp for index, at in reached.items() if not at.is_idle}
        # A source that has ended is not ahead.
        going_on = {index: at for index, at in active.items() if at < MAX_TIMESTAMP}
        active = going_on or active
        if not active:
            ahead = max((at.timestamp for at in reached.values()), default=MIN_TIMESTAMP)
            return (None if ahead == MIN_TIMESTAMP else ahead), ()
        lowest = min(active.values())
        names = {vertex.index: vertex.operators[0].name for vertex in self._sources}
        behind = tuple(names[index] for index, at in active.items() if at == lowest)
        is_held_back = max(active.values()) > lowest
        return (None if lowest == MIN_TIMESTAMP else lowest), behind if is_held_back else ()

    def _of(self, vertex: Vertex) -> ChannelWatermark:
        """Return how far a source is: the lowest watermark that its subtasks, or its splits, send on."""
        splits: dict[object, ChannelWatermark] = {}
        for (index, _), totals in self._log.totals.items():
            if index == vertex.index and totals.report is not None:
                for name, at in totals.report.splits:
                    splits[name] = farther(splits.get(name), at)
        if splits:
            return combined(splits.values())
        found = [
            _sent(progress)
            for (index, _), progress in self._log.progress.items()
            if index == vertex.index
        ]
        return combined(found) if found else ChannelWatermark()


def _sent(progress: SubtaskProgress) -> ChannelWatermark:
    """Return how far a subtask has told others that it is; the end of the chain, if there are no others."""
    if progress.outputs:
        return combined(at for _, at in progress.outputs)
    return ChannelWatermark(min((at for _, at in progress.gauges[-1:]), default=MIN_TIMESTAMP))
