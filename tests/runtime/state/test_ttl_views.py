from __future__ import annotations

from typing import Any, TypeVar

from tests.runtime.state.kit import Clock, MakeBackend

from penstock.common import Duration, Time, Types
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.state.ttl import StateTtlConfig


def builder() -> StateTtlConfig.Builder:
    return StateTtlConfig.new_builder(Duration.of_millis(10)).disable_cleanup_in_background()


D = TypeVar("D", bound=StateDescriptor)


def expiring(descriptor: D, config: StateTtlConfig.Builder | None = None) -> D:
    descriptor.enable_time_to_live((config or builder()).build())
    return descriptor


def value(config: StateTtlConfig.Builder | None = None) -> ValueStateDescriptor:
    return expiring(ValueStateDescriptor("value", Types.LONG()), config)


def listed(config: StateTtlConfig.Builder | None = None) -> ListStateDescriptor:
    return expiring(ListStateDescriptor("list", Types.LONG()), config)


def mapped(config: StateTtlConfig.Builder | None = None) -> MapStateDescriptor:
    return expiring(MapStateDescriptor("map", Types.LONG(), Types.LONG()), config)


def test_a_value_expires_when_its_time_is_up(backend: KeyedStateBackend, clock: Clock) -> None:
    state = backend.get_state(value())
    state.update(1)
    clock.now = 9
    assert state.value() == 1
    clock.now = 10
    assert state.value() is None
    assert list(backend.entries()) == []


def test_writing_makes_it_live_longer(backend: KeyedStateBackend, clock: Clock) -> None:
    state = backend.get_state(value())
    state.update(1)
    clock.now = 9
    assert state.value() == 1
    state.update(2)
    clock.now = 18
    assert state.value() == 2
    clock.now = 19
    assert state.value() is None


def test_reading_makes_it_live_longer_if_wanted(backend: KeyedStateBackend, clock: Clock) -> None:
    config = builder().update_ttl_on_read_and_write()
    states: list[Any] = [backend.get_state(kind(config)) for kind in (value, listed, mapped)]
    states[0].update(1)
    states[1].add(1)
    states[2].put(1, 1)
    for now in (9, 18, 27):
        clock.now = now
        assert states[0].value() == 1
        assert list(states[1].get()) == [1]
        assert states[2].get(1) == 1
    clock.now = 37
    assert states[0].value() is None
    assert list(states[1].get()) == []
    assert states[2].get(1) is None


def test_an_expired_value_is_seen_once_if_wanted(backend: KeyedStateBackend, clock: Clock) -> None:
    config = builder().return_expired_if_not_cleaned_up()
    states: list[Any] = [backend.get_state(kind(config)) for kind in (value, listed, mapped)]
    states[0].update(1)
    states[1].add(1)
    states[2].put(1, 1)
    clock.now = 10
    assert states[0].value() == 1
    assert list(states[1].get()) == [1]
    assert list(states[2].items()) == [(1, 1)]
    assert states[0].value() is None
    assert list(states[1].get()) == []
    assert states[2].is_empty()


def test_elements_and_entries_expire_one_by_one(backend: KeyedStateBackend, clock: Clock) -> None:
    elements, entries = backend.get_state(listed()), backend.get_state(mapped())
    for now in (0, 5):
        clock.now = now
        elements.add(now)
        entries.put(now, now)
    clock.now = 10
    assert list(elements.get()) == [5]
    assert list(entries.keys()) == [5]
    assert not entries.contains(0)
    assert not entries.is_empty()
    clock.now = 15
    assert list(elements.get()) == []
    assert entries.is_empty()


def test_a_reduced_value_begins_anew_when_it_has_expired(
    backend: KeyedStateBackend, clock: Clock
) -> None:
    state = backend.get_state(
        expiring(ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG()))
    )
    state.add(1)
    clock.now = 9
    state.add(2)
    assert state.get() == 3
    clock.now = 19
    assert state.get() is None
    state.add(5)
    assert state.get() == 5


def test_removal_of_what_expired_is_a_change(
    backend: KeyedStateBackend, new_backend: MakeBackend, clock: Clock
) -> None:
    other = new_backend("hashmap", clock)
    state = backend.get_state(value())
    state.update(1)
    for frame in backend.changes():
        other.apply(frame)
    backend.forget_changes()
    clock.now = 10
    assert state.value() is None
    for frame in backend.changes():
        other.apply(frame)
    assert list(other.entries()) == []


def test_the_time_of_writing_is_carried_over(
    backend: KeyedStateBackend, new_backend: MakeBackend, clock: Clock
) -> None:
    backend.get_state(value()).update(1)
    other = new_backend("rocksdb", clock)
    for frame in backend.everything():
        other.apply(frame)
    other.set_current_key("a")
    clock.now = 9
    assert other.get_state(value()).value() == 1
    clock.now = 10
    assert other.get_state(value()).value() is None
    other.close()


def fill(backend: KeyedStateBackend, descriptors: list[Any]) -> None:
    for number in range(20):
        backend.set_current_key(number)
        for descriptor in descriptors:
            state = backend.get_state(descriptor)
            if descriptor.name == "map":
                state.put(number, number)
            elif descriptor.name == "list":
                state.add(number)
            else:
                state.update(number)


def count(backend: KeyedStateBackend) -> int:
    return sum(1 for _ in backend.entries())


def test_nobody_removes_what_nobody_reads_if_not_wanted(
    backend: KeyedStateBackend, clock: Clock
) -> None:
    fill(backend, [value(), listed(), mapped()])
    clock.now = 100
    assert count(backend) == 60
    list(backend.changes())
    list(backend.everything())
    backend.set_current_key("new")
    assert count(backend) == 60


def test_snapshots_leave_out_what_has_expired(
    backend: KeyedStateBackend, new_backend: MakeBackend, clock: Clock
) -> None:
    config = builder().cleanup_full_snapshot()
    fill(backend, [value(config), listed(config), mapped(config)])
    clock.now = 5
    backend.set_current_key("late")
    backend.get_state(value(config)).update(1)
    clock.now = 10
    other = new_backend("hashmap")
    for frame in backend.everything():
        other.apply(frame)
    assert list(other.entries()) == [("value", None, "late", 1)]


def test_memory_is_cleaned_whenever_the_state_is_used(
    new_backend: MakeBackend, clock: Clock
) -> None:
    config = StateTtlConfig.new_builder(Time.milliseconds(10)).cleanup_incrementally(
        2, run_cleanup_for_every_record=False
    )
    backend = new_backend("hashmap", clock)
    fill(backend, [value(config)])
    clock.now = 100
    backend.set_current_key("x")
    state = backend.get_state(value(config))
    state.value()
    assert count(backend) == 18
    backend.set_current_key("y")
    assert count(backend) == 18
    for _ in range(9):
        state.value()
    assert count(backend) == 0


def test_memory_is_cleaned_at_every_record_if_wanted(
    new_backend: MakeBackend, clock: Clock
) -> None:
    config = builder().cleanup_incrementally(5, run_cleanup_for_every_record=True)
    backend = new_backend("hashmap", clock)
    fill(backend, [value(config), listed(config), mapped(config)])
    clock.now = 100
    before = count(backend)
    backend.set_current_key("x")
    assert 0 < count(backend) < before
    for _ in range(20):
        backend.set_current_key("x")
    assert count(backend) == 0


def test_cleaning_keeps_to_the_namespace_that_is_in_use(
    new_backend: MakeBackend, clock: Clock
) -> None:
    config = builder().cleanup_incrementally(50, run_cleanup_for_every_record=False)
    backend = new_backend("hashmap", clock)
    backend.set_current_key("a")
    state = backend.get_state(value(config), "window")
    state.update(1)
    clock.now = 100
    state.update(2)
    assert state.value() == 2
    assert list(backend.entries()) == [("value", "window", "a", 2)]


def test_the_disk_is_cleaned_a_little_by_each_epoch(new_backend: MakeBackend, clock: Clock) -> None:
    config = builder().cleanup_in_rocksdb_compact_filter(6)
    backend = new_backend("rocksdb", clock)
    fill(backend, [value(config)])
    backend.forget_changes()
    clock.now = 100
    for left in (14, 8, 2, 0):
        assert list(backend.changes()) != []
        backend.forget_changes()
        assert count(backend) == left
    backend.close()


def test_the_disk_is_cleaned_wholly_when_that_was_long_ago(
    new_backend: MakeBackend, clock: Clock
) -> None:
    config = builder().cleanup_in_rocksdb_compact_filter(1, Duration.of_seconds(60))
    backend = new_backend("rocksdb", clock)
    fill(backend, [value(config), mapped(config), listed(config)])
    backend.forget_changes()
    clock.now = 60_000
    list(backend.changes())
    assert count(backend) == 0
    backend.close()
