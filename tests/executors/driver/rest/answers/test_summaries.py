"""Figures of several things are put together as Flink does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.executors.driver.rest.answers.summaries import (
    AGGREGATIONS,
    checkpoint_statistics,
    percentile,
    task_statistics,
)

FIGURES = st.lists(st.integers(0, 10**12), min_size=1, max_size=20)


def test_of_nothing_there_are_no_percentiles() -> None:
    found = checkpoint_statistics([])
    assert (found["min"], found["avg"], found["p50"], found["p999"]) == (0, 0, "NaN", "NaN")
    assert task_statistics([])["p95"] == 0


def test_the_skew_is_what_flink_reports_for_the_same_figures() -> None:
    # Of 117 and 163 records in two subtasks a cluster of Flink 2.3 said so.
    assert AGGREGATIONS["skew"]([117.0, 163.0]) == pytest.approx(16.428571428571427)
    assert AGGREGATIONS["skew"]([0.0, 0.0]) == 0


@given(FIGURES, st.floats(0, 1))
def test_a_percentile_lies_between_the_least_and_the_greatest(
    figures: list[int], share: float
) -> None:
    assert min(figures) <= percentile(figures, share) <= max(figures)


@given(FIGURES)
def test_percentiles_grow_with_their_share(figures: list[int]) -> None:
    found = checkpoint_statistics(figures)
    ordered = [found[name] for name in ("min", "p50", "p90", "p95", "p99", "p999", "max")]
    assert ordered == sorted(ordered)
    assert found["min"] <= found["avg"] <= found["max"]
