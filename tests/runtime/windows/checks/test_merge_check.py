from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.programs import Harness

from penstock.errors import MergeMismatchError
from penstock.runtime.windows.assigners.sliding import SlidingEventTimeWindows
from penstock.runtime.windows.checks.merge_check import MergeCheck
from penstock.runtime.windows.checks.sampled_check import SAMPLES
from penstock.runtime.windows.operator.window_call import WindowCall
from penstock.runtime.windows.operator.window_contents import AggregatedRecords
from penstock.runtime.windows.operator.window_sets import window_operator
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger


class Total:
    """Sums in a dict that it changes in place."""

    def create_accumulator(self) -> dict[str, Any]:
        return {"total": 0, "count": 0}

    def add(self, value: Any, accumulator: dict[str, Any]) -> dict[str, Any]:
        accumulator["total"] += value
        accumulator["count"] += 1
        return accumulator

    def get_result(self, accumulator: dict[str, Any]) -> Any:
        return accumulator["total"]

    def merge(self, acc_a: dict[str, Any], acc_b: dict[str, Any]) -> Any:
        acc_a["total"] += acc_b["total"]
        acc_a["count"] += acc_b["count"]
        return acc_a


class Longest(Total):
    """Its accumulators differ by how they were made, its results do not."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        return [*accumulator, value]

    def get_result(self, accumulator: Any) -> Any:
        return max(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return [max(acc_a + acc_b)]


class Stub(Total):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a


class Other(Total):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


class Empty(Total):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return None


class Raising(Total):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise NotImplementedError


class Twice(Total):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return super().merge(super().merge(acc_a, acc_b), acc_b)


class Forgetful(Total):
    """Merges what came of single records only."""

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return super().merge(acc_a, acc_b) if acc_b["count"] == 1 else acc_a


@pytest.mark.parametrize("function", [Total(), Longest()])
@pytest.mark.parametrize("values", [[1, 2, 4], [0.1, 0.2, 0.3], [0.1, 0.2, -0.3]])
def test_what_agrees_passes(function: Any, values: list[Any]) -> None:
    MergeCheck(function, "Mine").look_at_records("kkk", values)
    panes = [function.add(value, function.create_accumulator()) for value in values]
    before = repr(panes)
    MergeCheck(function, "Mine").look_at_panes("k", panes)

    assert repr(panes) == before


@pytest.mark.parametrize(
    "function",
    [Stub(), Other(), Empty(), Raising(), Twice(), Forgetful()],
    ids=lambda it: type(it).__name__,
)
def test_what_does_not_is_found(function: Any) -> None:
    with pytest.raises(MergeMismatchError):
        MergeCheck(function, "Mine").look_at_records("kkk", [1, 2, 4])


@pytest.mark.parametrize("function", [Twice(), Forgetful()])
def test_panes_that_come_to_something_else_by_another_grouping_are_found(function: Any) -> None:
    panes = [function.add(value, function.create_accumulator()) for value in (1, 2, 4)]
    with pytest.raises(MergeMismatchError):
        MergeCheck(function, "Mine").look_at_panes("k", panes)


def test_what_cannot_be_compared_says_nothing() -> None:
    class Strange(Stub):
        def get_result(self, accumulator: Any) -> Any:
            return object()

    MergeCheck(Strange(), "Mine").look_at_records("kkk", [1, 2, 4])
    MergeCheck(Stub(), "Mine").look_at_records("kkk", ["no", "number", "at all"])


def test_the_message_says_what_was_compared() -> None:
    with pytest.raises(MergeMismatchError) as failure:
        MergeCheck(Stub(), "Mine").look_at_records("kkk", [1, 2, 4])

    assert (
        "Operator 'Mine', the key 'k': merge() of Stub does not agree with add(). One after the other, "
        "1, 2 and 4 come to 7; what comes of merging parts of them is 1."
    ) in str(failure.value)
    assert "share_panes" in str(failure.value)


def test_a_check_ends() -> None:
    looks = MergeCheck(Total(), "Mine")
    runs = 0
    while looks.wants_records:
        looks.look_at_records("kkk", [1, 2, 3])
        runs += 1
    assert runs == SAMPLES


@pytest.mark.parametrize(("is_mergeable", "is_looked_at"), [(None, True), (True, False)])
def test_windows_look_at_what_the_user_stands_for(is_mergeable: Any, is_looked_at: bool) -> None:
    operator = window_operator(
        SlidingEventTimeWindows.of(4, 1),
        EventTimeTrigger(),
        AggregatedRecords(Stub(), is_mergeable=is_mergeable),
        WindowCall(),
    )
    harness = Harness(operator, name="Mine")
    if is_looked_at:
        with pytest.raises(MergeMismatchError, match="the key 'k'"):
            harness.process([1, 2, 4], [0, 0, 0], ["k"] * 3)
    else:
        harness.process([1, 2, 4], [0, 0, 0], ["k"] * 3)
