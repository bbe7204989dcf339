from __future__ import annotations

import time

import pytest
from benchmarks.latency import (
    KEYS,
    RATE,
    WINDOW,
    _taken,
    check_counts,
    check_records,
    created,
    measure_latency,
    quantile,
    window_end,
    windowed_counts,
)

from penstock.common import Row
from penstock.testing import local_environment

EACH = RATE * WINDOW // 1_000 // KEYS


@pytest.mark.parametrize(("share", "figure"), [(0.5, 2), (0.51, 3), (0.99, 4), (1.0, 4)])
def test_a_quantile_is_one_of_the_figures(share: float, figure: float) -> None:
    assert quantile([4, 1, 3, 2], share) == figure


def test_only_results_that_were_due_in_the_time_that_counts_count() -> None:
    arrivals = [(1_000.0, 900), (3_500.0, 2_999), (3_500.0, 3_000), (5_100.0, 4_999)]
    after = [(5_200.0, 5_000), (9_000.0, 8_000)]

    found = _taken(iter([*arrivals, *after]), lambda created: created, seconds=2, warm_up=2)

    assert found.milliseconds == [500, 101]
    assert found.results == [900, 2_999, 3_000, 4_999, 5_000]


def test_measures_a_stream() -> None:
    now = time.time_ns() // 1_000_000 + 1_000
    rows = local_environment().from_collection([(number, now) for number in range(10)])

    found = measure_latency(rows, created, seconds=60, warm_up=0)

    assert len(found.milliseconds) == len(found.results) == 10


def test_a_stream_without_results_that_count_is_refused() -> None:
    with pytest.raises(RuntimeError, match="None of 1 results"):
        measure_latency(local_environment().from_collection([(1, 0)]), created, seconds=1)


def test_the_counts_of_the_program_are_those_that_the_check_wants() -> None:
    records = [Row(value=number, created=number * 1_000 // RATE) for number in range(4 * RATE)]
    stream = windowed_counts(local_environment().from_collection(records))

    with stream.execute_and_collect() as counts:
        found = list(counts)

    check_counts(found)
    assert {window_end(count) for count in found} == {1_000, 2_000, 3_000, 4_000}


@pytest.mark.parametrize("wrong", ["a record less", "a window less", "a key less"])
def test_wrong_counts_are_refused(wrong: str) -> None:
    counts = [(key, end, EACH) for end in (1_000, 2_000, 3_000, 4_000) for key in range(KEYS)]
    if wrong == "a window less":
        counts = [count for count in counts if window_end(count) != 2_000]
    else:
        key, end, count = counts.pop(2 * KEYS - 1)
        counts += [(key, end, count - 1)] if wrong == "a record less" else []

    with pytest.raises(SystemExit, match="Wrong results"):
        check_counts(counts)


@pytest.mark.parametrize("wrong", [[0, 1, 1], [0, 2], []])
def test_missing_and_repeated_records_are_refused(wrong: list[int]) -> None:
    rest = range(3, 3 + 2 * RATE)
    check_records([(value, 0) for value in [0, 1, 2, *rest]])

    with pytest.raises(SystemExit, match="Wrong results"):
        check_records([(value, 0) for value in [*wrong, *rest]])
