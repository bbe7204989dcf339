from __future__ import annotations

from types import SimpleNamespace

import pytest


@pytest.fixture
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine would cut blocks, and so buffers, in another way on every run."""
    clock = SimpleNamespace(perf_counter=lambda: 0.0)
    monkeypatch.setattr("penstock.runtime.task.subtask.time", clock)
