from __future__ import annotations

import json

import pytest
from benchmarks.kit.measure import Row, alternate, rerun_by, short, table
from hypothesis import given
from hypothesis import strategies as st


def row(ratios: list[float], target: float | None = None, *, lower: bool = False) -> Row:
    """Penstock against a side whose figure is always 100."""
    return Row(
        job="counting",
        unit="records/s",
        penstock=[100 * ratio for ratio in ratios],
        against="by hand",
        other=[100.0] * len(ratios),
        target=target,
        lower_is_better=lower,
    )


def test_the_ratio_is_the_median_of_the_rounds_ratios() -> None:
    found = Row(job="", unit="", penstock=[10, 30, 20], against="other", other=[10, 10, 40])
    assert found.ratios == [1, 3, 0.5]
    assert found.figure == 1


@pytest.mark.parametrize(
    ("ratios", "target", "lower", "verdict"),
    [
        ([0.9, 0.95, 1.0], 0.9, False, "reached"),
        ([0.9, 0.9, 0.9], 0.9, False, "reached"),
        ([0.8, 0.81, 0.82], 0.9, False, "missed by 10%"),
        ([0.899, 0.899, 0.899], 0.9, False, "missed by a hair"),
        ([1.1, 1.1, 1.1], 1.15, True, "reached"),
        ([1.3, 1.3, 1.3], 1.0, True, "missed by 30%"),
        ([1.3, 1.3, 1.3], None, False, ""),
    ],
)
def test_verdict(ratios: list[float], target: float | None, lower: bool, verdict: str) -> None:
    assert row(ratios, target, lower=lower).verdict == verdict


@pytest.mark.parametrize(
    ("ratios", "target", "is_too_wide"),
    [
        ([1.0, 1.5, 2.0], None, False),
        ([1.0, 1.5, 2.01], None, True),
        ([1.0, 1.5, 2.01], 0.5, True),
        ([1.0, 1.2, 1.5], 1.1, False),
        ([1.0, 1.2, 1.51], 1.1, True),
        ([1.0, 1.2, 1.9], 0.9, False),
    ],
)
def test_the_spread_is_too_wide(
    ratios: list[float], target: float | None, is_too_wide: bool
) -> None:
    found = row(ratios, target)
    assert found.is_too_wide is is_too_wide
    assert (found.verdict == "spread too wide to trust") is is_too_wide


def test_a_figure_that_stands_alone_is_held_against_the_target_itself() -> None:
    alone = Row(job="", unit="s", penstock=[0.01, 0.1, 0.3], target=3, lower_is_better=True)
    assert alone.verdict == "reached"
    assert alone.ratios == []
    assert Row(job="", unit="s", penstock=[2, 3.5, 4], target=3).is_too_wide


FIGURES = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=7)


@given(FIGURES, st.none() | st.floats(0.01, 1e6), st.booleans(), st.booleans())
def test_rows_come_back_from_json(
    figures: list[float], target: float | None, lower: bool, stands_alone: bool
) -> None:
    found = Row(
        job="counting",
        unit="s",
        penstock=figures,
        against="" if stands_alone else "another",
        other=[] if stands_alone else figures[::-1],
        target=target,
        lower_is_better=lower,
        command="python benchmarks/x.py",
    )
    assert Row.from_json(json.loads(json.dumps(found.as_json()))) == found


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=7), st.floats(0.1, 10))
def test_turning_the_figures_round_turns_no_verdict_round(
    ratios: list[float], target: float
) -> None:
    there = row(ratios, target)
    back = row([1 / ratio for ratio in ratios], 1 / target, lower=True)
    if len(ratios) % 2 and abs(there.figure - target) > 1e-6:
        assert (there.verdict == "reached") == (back.verdict == "reached")


def test_a_name_holds_what_tells_rows_apart_and_no_space() -> None:
    assert row([1]).name == "counting-records-s-by-hand"


def test_the_command_is_that_of_all_rows() -> None:
    rows = rerun_by("python x.py --part 2", [row([1]), row([2])])
    assert {each.command for each in rows} == {"python x.py --part 2"}


def test_sides_run_in_turn_and_every_other_round_in_reverse() -> None:
    order: list[str] = []

    def side(name: str) -> float:
        order.append(name)
        return float(len(order))

    figures = alternate({"a": lambda: side("a"), "b": lambda: side("b")}, 3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert figures == {"a": [1, 4, 5], "b": [2, 3, 6]}


def test_the_table_says_what_the_target_was_and_whether_it_is_reached() -> None:
    text = table([row([0.5, 0.6, 0.7], 0.9)])
    assert text.splitlines()[1] == "counting (records/s)"
    assert text.endswith("0.60        0.50 to 0.70  at least 0.9: missed by 33%")


@pytest.mark.parametrize(
    ("figure", "text"), [(0.126, "0.13"), (99.0, "99.00"), (12345.6, "12,346")]
)
def test_figures_for_readers(figure: float, text: str) -> None:
    assert short(figure) == text
