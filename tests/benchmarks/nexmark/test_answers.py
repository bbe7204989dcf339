from __future__ import annotations

from benchmarks.nexmark.answers import settled, wanted
from benchmarks.nexmark.events import Nexmark


def test_of_a_stream_of_changes_the_last_counts() -> None:
    assert settled("q4", [(2, 5, 1), (1, 9, 1), (2, 3, 2)]) == [(1, 9, 1), (2, 3, 2)]


def test_counts_in_parts_are_added_up() -> None:
    assert settled("q12", [(2, 5), (1, 9), (2, 3)]) == [(1, 9), (2, 8)]


def test_other_results_are_sorted_and_all_count() -> None:
    assert settled("q2", [(2, 5), (1, 9), (2, 5)]) == [(1, 9), (2, 5), (2, 5)]


def test_the_oracle_sees_the_events_of_the_run() -> None:
    nexmark = Nexmark(2_000, seed=7)
    assert wanted("q0", nexmark) == sorted(nexmark.bids(0, 2_000))
