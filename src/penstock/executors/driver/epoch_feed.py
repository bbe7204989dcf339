"""How a client hears of epochs and restarts: from the thread that runs the job to the one that tells."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.executors.driver.epoch_gate import EpochGate
from penstock.executors.driver.observation.epoch_log import EpochLog
from penstock.executors.driver.recovery.restarts import Restart
from penstock.executors.driver.reports.profile_log import ProfileLog
from penstock.executors.driver.reports.task_lines import TaskLines


@dataclass(frozen=True)
class EpochResult:
    """What came of an epoch that was committed.

    Attributes:
        record: Its metadata.
        printed: The lines that `print` gave.
        printed_to_err: Those that `print_to_err` gave.
        collected: The results that the client collects, as pairs of an id and values.
        operators: What each operator did in it, by its id, with what users' functions counted.
    """

    record: EpochRecord
    printed: list[str] = field(default_factory=list)
    printed_to_err: list[str] = field(default_factory=list)
    collected: list[tuple[str, list[Any]]] = field(default_factory=list)
    operators: dict[str, dict[str, Any]] = field(default_factory=dict)


News = EpochResult | Restart | TaskLines
"""What the client hears of."""


class EpochFeed:
    """Takes results of epochs, restarts and what functions log, and gives each once, in the same order.

    Args:
        log: Notes what epochs took and did. Default: a new one.
        also: Is told of each as well, before whoever takes them. Default: nobody.

    Attributes:
        gate: Lets the client in between two epochs.
        log: Notes what epochs took and did.
        profile: Takes where the time of epochs went; None if nobody wants to know.
    """

    def __init__(
        self, log: EpochLog | None = None, also: Callable[[News], None] = lambda _: None
    ) -> None:
        self._also = also
        self.gate = EpochGate()
        self.log = log or EpochLog()
        self.profile: ProfileLog | None = None
        self._results: queue.SimpleQueue[News | None] = queue.SimpleQueue()

    def put(self, result: News) -> None:
        """Tell of an epoch that was committed, of a restart, or of what was logged."""
        self._also(result)
        self._results.put(result)

    def wake(self) -> None:
        """Let whoever waits for the next one wait no longer."""
        self._results.put(None)

    def next(self, seconds: float | None = 0.0) -> News | None:
        """Return what nobody has taken yet and came first; None if there is none for some seconds.

        Args:
            seconds: How long is waited for it; None for as long as it takes, or until it is woken.
        """
        try:
            return self._results.get(timeout=seconds)
        except queue.Empty:
            return None
