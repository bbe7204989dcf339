"""Lets others in between two epochs, in the order in which they asked: to write a savepoint, or to stop the job."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.open_files import OpenFiles, nothing_open
from penstock.checkpoint.storage import Storage
from penstock.errors import JobCancelledError


class GateTurn:
    """The turn of someone who wants in between two epochs.

    Args:
        gate: The gate.
        after_first: Whether it comes only when an epoch was committed, or no epoch follows.
    """

    def __init__(self, gate: EpochGate, *, after_first: bool) -> None:
        self._gate = gate
        self.after_first = after_first

    def close(self) -> None:
        """Give the turn up, or back."""
        self._gate.leave(self)


class EpochGate:
    """Lets epochs through one by one, and others in between two of them.

    Attributes:
        last: The last epoch that was committed and published; None if none was yet.
        storage: Where its files are; None if the job keeps none.
        open_files: Finds the files outside that it goes on with.
        is_closed: True if no epoch follows.
        wants_end: True if the last epoch is to be one that ends all event time.
        has_ended: True if that epoch has passed.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_running = False
        self._guests: list[GateTurn] = []
        self._has_guest = False
        self.last: EpochRecord | None = None
        self.storage: Storage | None = None
        self.open_files: OpenFiles = nothing_open
        self.is_closed = False
        self.wants_end = False
        self.has_ended = False
        self._is_given_up = False

    def give_up(self) -> None:
        """Let nothing be committed any more, whatever still runs: nobody waits for it."""
        self.close()
        with self._changed:
            self._is_given_up = True

    def check_wanted(self) -> None:
        """Make sure that what an epoch came to is still to be committed.

        Raises:
            JobCancelledError: If it is given up.
        """
        if self._is_given_up:
            raise JobCancelledError("The job was cancelled, and this epoch is given up.")

    @contextmanager
    def epoch(self, *, ends: bool = False) -> Iterator[None]:
        """Run an epoch inside.

        Args:
            ends: Whether it is the one that ends all event time, which comes after all others.

        Raises:
            JobCancelledError: If no epoch follows.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._next() is None)
            if self.is_closed and not ends:
                raise JobCancelledError("The job was stopped before this epoch.")
            self._is_running = True
        try:
            yield
            self.has_ended = ends
        finally:
            with self._changed:
                self._is_running = False
                self._changed.notify_all()

    def passed(
        self,
        record: EpochRecord,
        storage: Storage | None,
        open_files: OpenFiles = nothing_open,
    ) -> None:
        """Note the last epoch that was committed and published."""
        with self._changed:
            self.last = record
            self.storage = storage
            self.open_files = open_files
            self._changed.notify_all()

    def turn(self, *, after_first: bool = False) -> GateTurn:
        """Ask for a turn between two epochs: it comes before that of whoever asks later.

        Args:
            after_first: Whether it comes only when there is an epoch that was committed, or no epoch follows.
                Until then those who ask later come before.
        """
        turn = GateTurn(self, after_first=after_first)
        with self._changed:
            self._guests.append(turn)
        return turn

    def leave(self, turn: GateTurn) -> None:
        """Let go of a turn, if it is still there."""
        with self._changed:
            if turn in self._guests:
                self._guests.remove(turn)
                self._changed.notify_all()

    def _next(self) -> GateTurn | None:
        """Return the turn that comes next, if one may come."""
        has_epochs = self.last is not None or self.is_closed
        return next((turn for turn in self._guests if has_epochs or not turn.after_first), None)

    @contextmanager
    def between(self, turn: GateTurn | None = None) -> Iterator[None]:
        """Wait for a turn and the end of the epoch that is running, and hold up the next one.

        Args:
            turn: The turn that was asked for. Default: one that is asked for now.
        """
        with closing(turn or self.turn()) as own:
            with self._changed:
                self._changed.wait_for(
                    lambda: not self._is_running and not self._has_guest and self._next() is own
                )
                self._has_guest = True
            try:
                yield
            finally:
                with self._changed:
                    self._has_guest = False

    def close(self, *, wants_end: bool = False) -> None:
        """Let no further epoch through, but for the one that ends all event time if that is wanted."""
        with self._changed:
            self.is_closed = True
            self.wants_end = self.wants_end or wants_end
            self._changed.notify_all()
