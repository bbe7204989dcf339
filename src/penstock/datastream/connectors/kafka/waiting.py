"""Waits for a Kafka that does not answer, and says so in the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.planned.kafka.client import is_away, kafka_client

_LOG: Final = logging.getLogger("penstock")
_ROUND_SECONDS: Final = 5.0
"""How long a step may take at once, and after how long the log is told again."""
_RETRY_SECONDS: Final = 0.1

T = TypeVar("T")


class Waiting:
    """Tells the log every five seconds that something is waited for.

    Args:
        what: What is.
        place: Where.
    """

    def __init__(self, what: str, place: str) -> None:
        self._what = what
        self._place = place
        self._began = self._told = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been waited."""
        return time.monotonic() - self._began

    def tell(self, why: str) -> bool:
        """Tell the log, if five seconds have passed since it was told last; return whether they have."""
        now = time.monotonic()
        if now - self._told < _ROUND_SECONDS:
            return False
        self._told = now
        _LOG.warning(
            "%s: waiting for %s for %.0f s: %s", self._place, self._what, now - self._began, why
        )
        return True


def waited(
    step: Callable[[float], T],
    patience: float,
    what: str,
    place: str,
    cancellation: Cancellation | None = None,
) -> T:
    """Return what a step returns, which is done again while Kafka is away.

    Args:
        step: The step, which is given the seconds that it may take.
        patience: After how many seconds what it raises is final.
        what: What it is, for the log.
        place: Where Kafka is, for the log.
        cancellation: Ends it between two steps. Default: nothing does.

    Raises:
        JobCancelledError: If it is cancelled.
        KafkaException: What the step has raised at last.
    """
    waiting = Waiting(what, place)
    while True:
        try:
            return step(max(min(_ROUND_SECONDS, patience - waiting.seconds), _RETRY_SECONDS))
        except kafka_client().KafkaException as error:
            reason = error.args[0]
            if not is_away(reason) or waiting.seconds >= patience:
                raise
        waiting.tell(reason.str())
        if cancellation is not None:
            cancellation.check()
        time.sleep(_RETRY_SECONDS)
