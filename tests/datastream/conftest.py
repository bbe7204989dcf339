from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.datastream.clock import CLOCK, Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    CLOCK.now = 1_000_000
    monkeypatch.setattr(
        "penstock.runtime.timers.processing_time_service.time",
        SimpleNamespace(time_ns=CLOCK.time_ns),
    )
    return CLOCK
