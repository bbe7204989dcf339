"""Sessions of a server stay open while a job needs them; without Spark."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.executors.spark.hosted import sessions
from penstock.executors.spark.hosted.sessions import keep_sessions_open


class FakeSession:
    """A session, which says when it was asked for three times, or that it is closed."""

    def __init__(self, session_id: str, *, is_closed: bool = False) -> None:
        self.session_id = session_id
        self.conf = self
        self.asked = 0
        self.is_open_still = threading.Event()
        self._is_closed = is_closed

    def get(self, _: str, __: None) -> None:
        self.asked += 1
        if self._is_closed:
            raise RuntimeError("[INVALID_HANDLE.SESSION_CLOSED]")
        if self.asked == 3:
            self.is_open_still.set()


def test_sessions_of_the_client_the_driver_and_its_queries_are_asked_for_until_they_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "_SECONDS_BETWEEN_CALLS", 0.001)
    own: Any = FakeSession("own")
    others = {name: FakeSession(name) for name in ("client", "query")}
    closed = FakeSession("old query", is_closed=True)
    monkeypatch.setattr(sessions, "_KNOWN", {**others, "old query": closed})
    keep_sessions_open(own, "client")
    for session in (own, *others.values()):
        assert session.is_open_still.wait(10)
    assert closed.asked == 1
