from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from tests.runtime.programs import Harness

from penstock.common import Row
from penstock.errors import NonAssociativeReduceError
from penstock.runtime.windows.assigners.sliding import SlidingEventTimeWindows
from penstock.runtime.windows.checks import sampled_check
from penstock.runtime.windows.checks.associativity import AssociativityCheck
from penstock.runtime.windows.checks.sampled_check import SAMPLES
from penstock.runtime.windows.operator.pane_windows import SharedPanes
from penstock.runtime.windows.operator.window_call import WindowCall
from penstock.runtime.windows.operator.window_contents import ReducedRecords
from penstock.runtime.windows.operator.window_sets import window_operator
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger


@dataclass
class Total:
    name: str
    amount: float


class NoEquality:
    def __init__(self, amount: int) -> None:
        self.amount = amount


def add(a: Any, b: Any) -> Any:
    return a + b


def count(a: Any, b: Any) -> Any:
    return a[0], a[1] + 1


def add_to_first(a: list[Any], b: list[Any]) -> list[Any]:
    a[0] += b[0]
    return a


def refuse_results(a: Any, b: Any) -> Any:
    if isinstance(b, list):
        raise ValueError("no record")  # noqa: TRY004
    return [a, b]


def check(function: Callable[[Any, Any], Any], *values: Any) -> None:
    AssociativityCheck(function, "Mine").look_at_panes("k", list(values))


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (add, [1, 2, 3]),
        (add, ["a", "b", "c"]),
        (add, [0.1, 0.2, 0.3]),
        (add, [0.1, 0.2, -0.3]),
        (add, [1e300 * 1e10, 1.0, 2.0]),
        (add, [float("inf"), float("-inf"), 2.0]),
        (add, [0.1j, 0.2, 0.3]),
        (add, [Decimal("1e28"), Decimal("0.4"), Decimal("0.4")]),
        (add, [Fraction(1, 3), Fraction(1, 7), 2]),
        (max, [4, 2, 9]),
        (lambda a, b: b, [1, 2, 3]),
        (lambda a, b: (a[0], a[1] + b[1]), [("x", 0.1), ("y", 0.2), ("z", 0.3)]),
        (lambda a, b: [a[0] + b[0], {"n": a[1]["n"] + b[1]["n"]}], [[0.1, {"n": 0.1}]] * 3),
        (lambda a, b: Row(a[0], a[1] + b[1]), [Row("x", 0.1), Row("x", 0.2), Row("x", 0.3)]),
        (
            lambda a, b: Total(a.name, a.amount + b.amount),
            [Total("x", 0.1), Total("x", 0.2), Total("x", 0.3)],
        ),
        (add_to_first, [[1], [2], [3]]),
        # Nothing can be said of these.
        (lambda a, b: NoEquality(a.amount + 1), [NoEquality(1), NoEquality(1), NoEquality(1)]),
        (lambda a, b: random.random(), [1, 2, 3]),
        (lambda a, b: (a[0], 1), [(lambda: None, 1)] * 3),
        (lambda a, b: a - b, [1, 2]),
    ],
)
def test_what_is_associative_up_to_rounding_passes(function: Any, values: list[Any]) -> None:
    check(function, *values)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda a, b: a - b, [1, 2, 3]),
        (lambda a, b: (a + b) / 2, [1.0, 2.0, 3.0]),
        (lambda a, b: (a + b) / 2, [1, 2, 3]),
        (count, [("x", 1)] * 3),
        (lambda a, b: Row(a[0], a[1] + 1), [Row("x", 1)] * 3),
        (lambda a, b: {**a, "n": a["n"] + 1}, [{"n": 1}] * 3),
        (lambda a, b: Total(a.name, a.amount + 1), [Total("x", 1.0)] * 3),
        (lambda a, b: (a[0], (a[1] + b[1]) / 2), [(1.7e12, 1.0), (1.7e12, 2.0), (1.7e12, 9.0)]),
        (lambda a, b: [a, b], [1, 2, 3]),
        (lambda a, b: a if a is None else a - b, [1, 2, 4]),
    ],
)
def test_what_depends_on_the_grouping_is_found(function: Any, values: list[Any]) -> None:
    with pytest.raises(NonAssociativeReduceError):
        check(function, *values)


def test_the_message_says_what_was_compared() -> None:
    with pytest.raises(NonAssociativeReduceError) as failure:
        check(count, ("x", 1), ("y", 1), ("z", 1))

    assert (
        "Operator 'Mine', the key 'k': the reduce function is not associative. With a = ('x', 1), "
        "b = ('y', 1) and c = ('z', 1), f(f(a, b), c) is ('x', 3), and f(a, f(b, c)) is ('x', 2)."
    ) in str(failure.value)
    assert "reduce(..., share_panes=False)" in str(failure.value)


def test_a_function_that_cannot_take_a_result_is_found() -> None:
    with pytest.raises(NonAssociativeReduceError, match="raises ValueError") as failure:
        check(refuse_results, 1, 2, 3)

    assert isinstance(failure.value.__cause__, ValueError)


def test_values_are_not_changed() -> None:
    values = [[1], [2], [3]]
    check(add_to_first, *values)

    assert values == [[1], [2], [3]]


def test_a_check_ends() -> None:
    calls = []

    def counted(a: int, b: int) -> int:
        calls.append(1)
        return a + b

    looks = AssociativityCheck(counted, "Mine")
    runs = 0
    while looks.wants_records:
        looks.look_at_records("kkk", [1, 2, 3])
        runs += 1
    while looks.wants_panes:
        looks.look_at_panes("k", [1, 2, 3])

    assert runs == SAMPLES
    assert len(calls) == 6 * 2 * SAMPLES


def test_a_check_ends_where_no_key_has_three_values() -> None:
    looks = AssociativityCheck(count, "Mine")
    looks.look_at_records(range(10_000), [("x", 1)] * 10_000)
    assert looks.wants_records

    looks.look_at_records(range(10_000), [("x", 1)] * 10_000)
    assert not looks.wants_records


def sliding(function: Any) -> Harness:
    operator = window_operator(
        SlidingEventTimeWindows.of(4, 1), EventTimeTrigger(), ReducedRecords(function), WindowCall()
    )
    assert operator.windows is SharedPanes
    return Harness(operator, name="Mine")


def test_values_of_one_run_are_looked_at() -> None:
    with pytest.raises(NonAssociativeReduceError, match="the key 'k'"):
        sliding(count).process([("x", 1)] * 4, [0, 0, 0, 0], ["l", "k", "k", "k"])


def test_values_of_several_runs_are_looked_at() -> None:
    harness = sliding(count)
    harness.process([("x", 1)] * 3, [0, 0, 0], ["k", "l", "k"])
    with pytest.raises(NonAssociativeReduceError, match="the key 'k'"):
        harness.process([("x", 1)], [9], ["k"])


def test_what_panes_come_to_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_check, "_RECORDS", 0)
    harness = sliding(count)
    harness.process([("x", 1)] * 3, [0, 1, 2], ["k"] * 3)
    with pytest.raises(NonAssociativeReduceError, match="the key 'k'"):
        harness.operator.process_watermark(10)


def test_functions_that_are_known_are_not_looked_at() -> None:
    contents = ReducedRecords(count, is_associative=True)
    operator = window_operator(
        SlidingEventTimeWindows.of(4, 1), EventTimeTrigger(), contents, WindowCall()
    )
    harness = Harness(operator)
    harness.process([("x", 1)] * 3, [0, 0, 0], ["k"] * 3)
    harness.operator.process_watermark(0)

    assert harness.output.values() == [("x", 3)]
