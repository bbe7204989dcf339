from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.executors.driver.reports.pace import Pace


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@given(
    st.lists(st.tuples(st.floats(0, 0.2), st.floats(0, 0.2)), min_size=1, max_size=20),
    st.floats(0.001, 1),
)
def test_what_is_made_takes_a_two_hundredth_of_the_time(
    costs: list[tuple[float, float]], step: float
) -> None:
    clock, spent = Clock(), Clock()
    pace = Pace(0.0, clock, spent)
    for making, adding in costs:
        assert pace.is_due
        began, before = clock.now, spent.now
        with pace.making():
            spent.now += making
        with pace.adding():
            spent.now += adding
        while not pace.is_due:
            clock.now += step
        assert spent.now - before <= (clock.now - began) / 200 + 1e-9


def test_what_costs_nothing_is_good_for_so_long_all_the_same() -> None:
    clock = Clock()
    pace = Pace(0.5, clock, Clock())
    with pace.making():
        pass
    clock.now += 0.25
    assert not pace.is_due
    clock.now += 0.25
    assert pace.is_due
