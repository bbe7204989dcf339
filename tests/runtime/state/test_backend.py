from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from penstock.runtime.state.backend import KeyedStateBackend

tables = st.sampled_from(["counts", "sums"])
keys = st.integers(0, 4) | st.sampled_from(["a", 1.0, ("b", 2)])

Model = dict[str, dict[Any, Any]]


def contents(backend: KeyedStateBackend) -> Model:
    """Return the tables that have entries."""
    found = {
        name: dict(zip(keys, values, strict=True))
        for name, (keys, values, _) in backend.everything().items()
    }
    return {name: table for name, table in found.items() if table}


class BackendAgainstDicts(RuleBasedStateMachine):
    """Compares a backend, and another that only gets its changes, with plain dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.backend = KeyedStateBackend()
        self.replica = KeyedStateBackend()
        self.model: Model = {}
        self.at_last_epoch: Model = {}
        self.touched: set[tuple[str, Any]] = set()

    @rule(name=tables, entries=st.dictionaries(keys, st.integers(), max_size=3))
    def put(self, name: str, entries: dict[Any, int]) -> None:
        self.backend.table(name).update(entries)
        self.backend.mark_changed(name, iter(entries))
        self.model.setdefault(name, {}).update(entries)
        self.touched |= {(name, key) for key in entries}

    @rule(name=tables, key=keys)
    def remove(self, name: str, key: Any) -> None:
        self.backend.table(name).pop(key, None)
        self.backend.mark_changed(name, [key])
        self.model.setdefault(name, {}).pop(key, None)
        self.touched.add((name, key))

    @rule()
    def end_epoch(self) -> None:
        changes = self.backend.changes()
        named = {
            (name, key)
            for name, (kept, values, removed) in changes.items()
            for key in (*kept, *removed)
        }
        assert named == self.touched
        self.replica.apply(changes)
        self.backend.forget_changes()
        self.touched.clear()

        assert contents(self.replica) == contents(self.backend)
        assert self.replica.changes() == {}
        assert self.backend.changes() == {}

    @rule()
    def start_from_a_snapshot(self) -> None:
        snapshot = self.backend.everything()
        assert not any(removed for _, _, removed in snapshot.values())
        self.replica = KeyedStateBackend()
        self.replica.apply(snapshot)
        self.backend.forget_changes()
        self.touched.clear()

        assert contents(self.replica) == contents(self.backend)

    @rule(name=tables, key=keys)
    def change_what_nobody_will_read(self, name: str, key: Any) -> None:
        if self.touched:
            return
        last = KeyedStateBackend()
        last.apply(self.backend.everything())
        last.tracks_changes = False
        last.table(name)[key] = "last"
        last.mark_changed(name, [key])

        assert last.changes() == {}

    @invariant()
    def holds_what_the_dicts_hold(self) -> None:
        model = {name: table for name, table in self.model.items() if table}
        assert contents(self.backend) == model
        assert len(self.backend) == sum(map(len, model.values()))


TestBackend = BackendAgainstDicts.TestCase


def test_a_table_is_always_the_same() -> None:
    backend = KeyedStateBackend()
    backend.table("a")["key"] = 1

    assert backend.table("a") == {"key": 1}
    assert backend.table("b") == {}


def test_a_snapshot_is_no_view() -> None:
    backend = KeyedStateBackend()
    backend.table("a")["key"] = 1
    snapshot = backend.everything()
    backend.table("a")["other"] = 2

    assert snapshot == {"a": (["key"], [1], [])}


def test_changes_hold_the_newest_values_and_what_was_removed() -> None:
    backend = KeyedStateBackend()
    table = backend.table("a")
    for value in (1, 2):
        table["kept"] = value
        table["gone"] = value
        backend.mark_changed("a", ["kept", "gone"])
    del table["gone"]

    assert backend.changes() == {"a": (["kept"], [2], ["gone"])}
