"""Ends what waits for Kafka as soon as the job is cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, Final, TypeVar

from penstock.errors import JobCancelledError
from penstock.interruptible import wait_until
from penstock.runtime.planned.kafka.client import is_away, kafka_client

_LOOK_SECONDS: Final = 0.1
_LONGEST_SECONDS: Final = 0.8
"""How long a question may take that is asked anew when it took too long."""

T = TypeVar("T")


class Cancellation:
    """Is looked at by all that waits for Kafka: its client knows no other way to end a call.

    A copy in another process is one of its own.

    Attributes:
        is_cancelled: Whether the job is.
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def __reduce__(self) -> tuple[Any, ...]:
        return Cancellation, ()

    @property
    def is_cancelled(self) -> bool:
        """Whether the job is cancelled."""
        return self._event.is_set()

    def cancel(self) -> None:
        """End what waits, and what is going to; called by any thread."""
        self._event.set()

    def check(self) -> None:
        """Make sure that the job is not cancelled.

        Raises:
            JobCancelledError: If it is.
        """
        if self._event.is_set():
            raise JobCancelledError("The job was cancelled while it waited for Kafka.")

    def rest(self, seconds: float) -> None:
        """Wait for some seconds.

        Raises:
            JobCancelledError: If the job is cancelled.
        """
        self._event.wait(seconds)
        self.check()

    def answer(self, future: Future[T]) -> T:
        """Return what a client answers.

        Raises:
            JobCancelledError: If the job is cancelled before it does.
        """
        wait_until(lambda seconds: self.is_cancelled or bool(wait([future], seconds).done))
        if not future.done():
            self.check()
        return future.result()

    def asked(self, ask: Callable[[float], T], seconds: float, *, goes_on: bool = False) -> T:
        """Return what a call returns that blocks, and is therefore made again and again, for a short time each.

        Args:
            ask: The call, which is given the seconds that it may take.
            seconds: How long it may take in all.
            goes_on: Whether a call that took too long is gone on with by the next one. If not, each has more time than
                the one before: a broker may be slow.

        Raises:
            JobCancelledError: If the job is cancelled meanwhile.
            KafkaException: What the last call has raised.
        """
        client = kafka_client()
        end, most = time.monotonic() + seconds, _LOOK_SECONDS
        while True:
            self.check()
            begun = time.monotonic()
            share = max(min(most, end - begun), 0.0)
            try:
                return ask(share)
            except client.KafkaException as error:
                now, reason = time.monotonic(), error.args[0]
                if not is_away(reason) or now - begun < share / 2 or now >= end:
                    raise
                # Without a connection nothing was asked yet.
                if not goes_on and reason.name() == "_TIMED_OUT":
                    most = min(2 * most, _LONGEST_SECONDS)
