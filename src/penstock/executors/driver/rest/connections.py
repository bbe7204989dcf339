"""The connections that a server holds: so many, and for a new one the longest silent has to go."""

from __future__ import annotations

import io
import socket
import threading
import time
from contextlib import suppress
from typing import Any


class Connections:
    """The connections of a server, each with since when its client is waited for.

    Args:
        most: How many there are at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._all_answered = threading.Condition(self._lock)
        self._unanswered: set[socket.socket] = set()
        self._waiting: dict[socket.socket, float | None] = {}
        """Since when; None while the server is at work for it."""

    def take(self, connection: socket.socket) -> bool:
        """Take a connection, in place of the longest silent one if there are too many.

        Returns:
            Whether there was a place: there is none if the server is at work for all.
        """
        with self._lock:
            if len(self._waiting) >= self._most:
                silent = [(since, one) for one, since in self._waiting.items() if since is not None]
                if not silent:
                    return False
                _, longest = min(silent, key=lambda found: found[0])
                del self._waiting[longest]
                _hang_up(longest)
            self._waiting[connection] = time.monotonic()
        return True

    def is_served(self, connection: socket.socket, *, now: bool) -> None:
        """Note that the server begins its work for a connection, or has ended it."""
        with self._lock:
            if connection in self._waiting:
                self._waiting[connection] = None if now else time.monotonic()
                if now:
                    self._unanswered.add(connection)

    def is_answered(self, connection: socket.socket) -> None:
        """Note that the answer has been written."""
        with self._lock:
            self._unanswered.discard(connection)
            self._all_answered.notify_all()

    def leave(self, connection: socket.socket) -> None:
        """Give back the place of a connection, if it has one."""
        with self._lock:
            self._waiting.pop(connection, None)
            self._unanswered.discard(connection)
            self._all_answered.notify_all()

    def hang_up(self, patience_s: float = 0.0) -> None:
        """Close all connections.

        Args:
            patience_s: For how many seconds answers that are under way are waited for.
        """
        with self._lock:
            self._all_answered.wait_for(lambda: not self._unanswered, patience_s)
            for connection in self._waiting:
                _hang_up(connection)


class TimedInput(io.RawIOBase):
    """Reads a connection, whose client has so long for a whole request however it cuts it up.

    Args:
        connection: The connection.
        limit_s: How long a request may take to come, in seconds.
        idle_s: How long the connection may be silent between two requests, in seconds.
    """

    def __init__(self, connection: socket.socket, limit_s: float, idle_s: float) -> None:
        self._connection = connection
        self._limit_s = limit_s
        self._idle_s = idle_s
        self._end = time.monotonic() + limit_s
        self._is_idle = False

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def expect_next(self) -> None:
        """Note that a request has come as a whole, and that another may follow."""
        self._end = time.monotonic() + self._idle_s
        self._is_idle = True

    def readinto(self, buffer: Any) -> int:
        """Read what there is.

        Raises:
            TimeoutError: If the time is over.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("The request took too long to come.")
        usual = self._connection.gettimeout()
        self._connection.settimeout(left)
        try:
            count = self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(usual)
        if self._is_idle:
            self._is_idle = False
            self._end = time.monotonic() + self._limit_s
        return count


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
