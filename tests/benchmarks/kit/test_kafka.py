from __future__ import annotations

import pytest
from benchmarks.kit.kafka import check_counts


def test_counts_that_go_up_by_one_are_right_in_any_order() -> None:
    check_counts([(1, 2), (7, 1), (1, 1), (1, 3)])


@pytest.mark.parametrize(
    "wrong",
    [[], [(1, 1), (1, 3)], [(1, 2)], [(1, 1), (1, 2), (1, 1)]],
    ids=["none", "one is missing", "the first is missing", "one is there twice"],
)
def test_counts_that_are_missing_or_doubled_are_wrong(wrong: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="missing or doubled"):
        check_counts(wrong)
