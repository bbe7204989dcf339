from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.executors.driver.observation.recent import SPAN, Recent


class Counted:
    """Counts, at moments of its own."""

    def __init__(self) -> None:
        self.count = 0
        self.recent = Recent(lambda: self.count)
        self.changes: list[tuple[float, int]] = []

    def add(self, at: float, more: int) -> None:
        self.count += more
        self.changes.append((at, more))
        self.recent.changed(at)

    def rate(self, end: float) -> float:
        span = self.recent.span(end)
        return (self.count - (span.base or 0)) / span.seconds if span.seconds else 0.0


def test_nothing_has_no_rate() -> None:
    assert Counted().rate(5.0) == 0.0


def test_the_rate_is_that_since_the_begin_while_that_is_not_long_ago() -> None:
    counted = Counted()
    counted.recent.begin(100.0)
    counted.add(102.0, 100)
    assert counted.rate(102.0) == 50.0


def test_the_rate_is_that_of_the_last_seconds_and_not_the_mean() -> None:
    counted = Counted()
    counted.recent.begin(0.0)
    for second in range(1, 101):
        counted.add(float(second), 1000)
    for second in range(101, 131):
        counted.add(float(second), 10)
    assert counted.rate(130.0) == 10.0


def test_a_stream_that_stands_still_has_no_rate_after_a_while() -> None:
    counted = Counted()
    counted.recent.begin(0.0)
    for tenth in range(1, 100):
        counted.add(tenth / 10, 10)
    assert counted.rate(10.0) == pytest.approx(99.0)
    assert 0 < counted.rate(19.0) < 10
    assert counted.rate(20.0) == 0.0
    assert counted.rate(10_000.0) == 0.0


def test_epochs_that_take_long_count_as_a_whole() -> None:
    counted = Counted()
    counted.recent.begin(0.0)
    for minute in range(1, 6):
        counted.add(60.0 * minute, 6000)
        assert counted.rate(60.0 * minute) == 100.0


def test_after_a_pause_the_rate_is_that_of_the_last_seconds_and_not_of_the_pause() -> None:
    counted = Counted()
    counted.recent.begin(0.0)
    counted.add(1.0, 100)
    for second in range(61, 66):
        counted.recent.begin(float(second))
        counted.add(second + 1.0, 1000)
        assert counted.rate(second + 1.0) == 100 * (second - 60)


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(0.001, 60), st.integers(0, 1000)),
        min_size=1,
        max_size=60,
    ),
    st.floats(0, 40),
)
def test_a_span_begins_ten_seconds_ago_or_with_the_epoch_that_ran_then(
    epochs: list[tuple[float, float, int]], pause: float
) -> None:
    counted, now, ran = Counted(), 50.0, []
    for rest, seconds, more in epochs:
        now += rest
        counted.recent.begin(now)
        ran.append((now, now + seconds))
        now += seconds
        counted.add(now, more)
    end = now + pause
    span = counted.recent.span(end)
    wanted = next((begun for begun, done in ran if begun < end - SPAN < done), end - SPAN)
    # It is about once a second that counts are remembered.
    assert min(wanted, end - SPAN) - 2 <= span.since or span.since == ran[0][0]
    assert span.since <= max(wanted, ran[0][0])
    assert counted.count - (span.base or 0) == sum(
        more for at, more in counted.changes if at > span.since
    )


@given(
    st.lists(
        st.tuples(st.floats(0.001, 30), st.integers(0, 1000)),
        min_size=1,
        max_size=60,
    ),
    st.floats(0, 40),
)
def test_a_span_reaches_back_ten_seconds_and_holds_all_that_was_counted_in_it(
    steps: list[tuple[float, int]], pause: float
) -> None:
    counted, now = Counted(), 50.0
    counted.recent.begin(now)
    for seconds, more in steps:
        now += seconds
        counted.add(now, more)
    end = now + pause
    span = counted.recent.span(end)
    since = span.since
    assert end - since == pytest.approx(span.seconds)
    assert since <= end - SPAN or since == 50.0
    assert counted.count - (span.base or 0) == sum(
        more for at, more in counted.changes if at > since
    )


def test_few_moments_are_remembered() -> None:
    counted = Counted()
    counted.recent.begin(0.0)
    for tenth in range(1, 10_000):
        counted.add(tenth / 10, 1)
    assert len(counted.recent._points) < 30
