from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.exchange.watermarks.test_shared_source import Job, Reads, reads

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.executors.driver.observation.chain_views import ChainViews
from penstock.executors.driver.observation.epoch_log import EpochLog
from penstock.executors.driver.reports.job_view import VertexView


class SeenJob:
    """A job that Spark reads for, and whose chains are looked at after each epoch."""

    def __init__(self, *, has_splits: bool) -> None:
        self._job = Job(2, has_splits=has_splits)
        self._log = EpochLog(frozenset({0}))
        self._chains = ChainViews(self._job.program, {0: "REBALANCE"})

    def epoch(self, found: Reads) -> tuple[VertexView, ...]:
        with self._log.epoch(0):
            outcome = self._job.epoch(found)
            self._log.committed(EpochRecord(0), outcome, outcome.progress)
        return self._chains.views(self._log.noted())


def source_and_next(views: tuple[VertexView, ...]) -> tuple[int | None, int | None]:
    """Return how far a source is seen to be, wherever one looks, and how far what is behind it has heard."""
    source, others = views
    found = {source.watermark, source.operators[0].figures.output_watermark}
    found |= {subtask.operators[0].output_watermark for subtask in source.subtasks}
    (seen,) = found
    return seen, others.operators[0].figures.input_watermark


def test_a_source_is_as_far_as_its_farthest_task() -> None:
    job = SeenJob(has_splits=False)
    assert source_and_next(job.epoch([(0, "a", [11]), (1, "a", [51])])) == (50, 50)
    # The second task comes not again, nor does the first find something.
    assert source_and_next(job.epoch([(0, "a", [])])) == (50, 50)
    assert source_and_next(job.epoch([(0, "a", [71])])) == (70, 70)


def test_a_source_with_splits_is_as_far_as_the_slowest_whoever_reads_it() -> None:
    job = SeenJob(has_splits=True)
    assert source_and_next(job.epoch([(0, "a", [11]), (1, "b", [51])])) == (10, 10)
    assert source_and_next(job.epoch([(1, "a", [31])])) == (30, 30)


@settings(max_examples=30, deadline=None)
@given(st.lists(reads, min_size=1, max_size=4), st.booleans())
def test_whatever_tasks_read_a_source_is_as_far_as_those_behind_it_know(
    epochs: list[Reads], has_splits: bool
) -> None:
    job = SeenJob(has_splits=has_splits)
    for found in epochs:
        source, behind = source_and_next(job.epoch(found))
        assert source == behind
