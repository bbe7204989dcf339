from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.timers.rocksdb_caching_priority_queue_set import entry_of, name_of, timer_of
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

PLAIN = st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.binary()
KEYS = st.recursive(PLAIN, lambda inner: st.tuples(inner, inner), max_leaves=4)
TIMERS = st.builds(InternalTimer, st.integers(MIN_TIMESTAMP, MAX_TIMESTAMP), KEYS, KEYS)


@given(TIMERS)
def test_a_timer_comes_back_as_it_was(timer: InternalTimer) -> None:
    found = timer_of(*entry_of(timer))
    assert found == timer
    assert repr(found) == repr(timer)


@given(TIMERS, TIMERS)
def test_bytes_are_in_the_order_of_timestamps(one: InternalTimer, other: InternalTimer) -> None:
    if one.timestamp < other.timestamp:
        assert name_of(one) < name_of(other)


SMALL = st.sampled_from(["", "a", "aa", 0, 1, True, 1.0, (), ("",), ("a",), None])


@given(SMALL, SMALL, SMALL, SMALL)
def test_bytes_are_equal_exactly_where_timers_are(
    key: Any, namespace: Any, other_key: Any, other_namespace: Any
) -> None:
    one = InternalTimer(0, key, namespace)
    other = InternalTimer(0, other_key, other_namespace)
    assert (name_of(one) == name_of(other)) == (one == other)
