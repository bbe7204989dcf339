from __future__ import annotations

import time

import pytest
from benchmarks.watching import NOBODY, WATCHERS, Epochs, Shape, _spent_answering, running

from penstock.datastream import EpochCompleted

SMALL = Shape(records=1_000)


def test_a_job_is_measured_from_an_epoch_to_another() -> None:
    with running(SMALL) as job:
        taken = job.measure(0.2)
        moments = job.epochs.moments
    assert taken.rate > 0
    assert taken.share == 0.0
    assert {records for _, records, _ in moments} == {1_000}


@pytest.mark.parametrize("name", [name for name in WATCHERS if name != NOBODY])
def test_what_answers_is_counted(name: str) -> None:
    with running(SMALL) as job:
        before = _spent_answering()
        with WATCHERS[name](job):
            limit = time.monotonic() + 30
            while _spent_answering() <= before and time.monotonic() < limit:
                job.epochs.await_more(1)
            assert _spent_answering() > before


def test_a_job_that_does_not_get_on_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.watching.PATIENCE", 0.01)
    epochs = Epochs()
    epochs.on_epoch_completed(EpochCompleted("a" * 32, 0, 5, 10, 0, 0))
    with pytest.raises(TimeoutError, match="did not get on"):
        epochs.await_more(1)
