"""State of all kinds over many epochs, in processes that come, fall behind and go: the laws of state files."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import any_of, from_zero

from penstock.checkpoint.folding import Handles
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Types
from penstock.common.time import Time
from penstock.runtime.epoch import Epoch
from penstock.runtime.keys.key_groups import key_group
from penstock.runtime.state.broadcast_state import BroadcastStateStore
from penstock.runtime.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.state.factory import create_backend
from penstock.runtime.state.memory import StateMemory
from penstock.runtime.state.ttl import StateTtlConfig
from penstock.runtime.task.subtask_state import SubtaskState
from penstock.runtime.timers.internal_timer import InternalTimer

GROUPS = 16
Model = dict[Any, Any]


@pytest.fixture(autouse=True)
def _in_memory_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda file: None)


def _expiring() -> ValueStateDescriptor:
    descriptor = ValueStateDescriptor("expiring", Types.LONG())
    builder = StateTtlConfig.new_builder(Time.milliseconds(50)).cleanup_full_snapshot()
    descriptor.enable_time_to_live(builder.build())
    return descriptor


DESCRIPTORS: dict[str, StateDescriptor] = {
    "value": ValueStateDescriptor("value", Types.LONG()),
    "list": ListStateDescriptor("list", Types.LONG()),
    "map": MapStateDescriptor("map", Types.STRING(), Types.LONG()),
    "expiring": _expiring(),
}


class Process:
    """A process in which the subtask ran at some time."""

    def __init__(
        self,
        folder: str,
        backend: str,
        directory: str,
        groups: range = range(GROUPS),
        memory: StateMemory | None = None,
        limit: int | None = None,
    ) -> None:
        self.now = 0
        self._folder = folder
        self.keyed = create_backend(
            backend,
            max_parallelism=GROUPS,
            key_groups=groups,
            clock=lambda: self.now,
            directory=directory,
            operator="op",
        )
        self.states = {name: self.keyed.get_state(found) for name, found in DESCRIPTORS.items()}
        self.timers = self.keyed.timer_queue("timers")
        self.broadcast = BroadcastStateStore("op")
        self.rules = self.broadcast.get_broadcast_state(
            MapStateDescriptor("rules", Types.STRING(), Types.LONG())
        )
        stores = {"op": self.keyed, "op broadcast": self.broadcast}
        self.state = SubtaskState(stores, memory, limit)

    def begin(self, number: int, handles: Handles) -> None:
        self.number = number
        self.now = number * 10
        self.state.begin_epoch(Epoch("job", number, location=self._folder), handles)

    def end(self, *, may_fold: bool = True) -> Handles:
        epoch = Epoch("job", self.number, location=self._folder, may_fold=may_fold)
        return self.state.end_epoch(epoch, "vertex-0")

    def do(self, operation: tuple[Any, ...]) -> None:
        kind, key, namespace, number = operation
        self.keyed.set_current_key(key)
        if kind in DESCRIPTORS:
            state: Any = self.keyed.get_state(DESCRIPTORS[kind], namespace)
            if number < 0:
                state.clear()
            elif kind == "list":
                state.add(number)
            elif kind == "map":
                state.put(str(number % 3), number)
            else:
                state.update(number)
        elif kind == "timer":
            timer = InternalTimer(abs(number) % 4, key, namespace)
            (self.timers.add if number >= 0 else self.timers.remove)(timer)
        elif number < 0:
            self.rules.remove(key)
        else:
            self.rules.put(key, number)

    def contents(self) -> Model:
        found: Model = {
            (name, key, namespace): value
            for name, namespace, key, value in self.keyed.entries()
            if name != "expiring"
        }
        self.keyed.set_current_key(None)
        for namespace in _NAMESPACES:
            expiring: Any = self.keyed.get_state(DESCRIPTORS["expiring"], namespace)
            for _, key, _ in _KEYS:
                self.keyed.set_current_key(key)
                value = expiring.value()
                if value is not None:
                    found["expiring", key, namespace] = value
        for timer in self.timers.iterate():
            found["timer", timer] = True
        for key, value in self.rules.items():
            found["rule", key] = value
        return found


_NAMESPACES = (None, "w1", "w2")
_KEYS = [(None, key, None) for key in ("a", "b", "c", "d", 1, 2, ("t", 3))]

WHERE = list(product([*DESCRIPTORS, "timer", "rule"], [key for _, key, _ in _KEYS], _NAMESPACES))
NUMBERS = from_zero(-3, 9)


def _operations(drawn: bytes) -> list[tuple[Any, ...]]:
    """Return up to eight operations, each of two of the bytes behind the first."""
    return [
        (*WHERE[where % len(WHERE)], NUMBERS[number % len(NUMBERS)])
        for where, number in zip(drawn[1::2], drawn[2::2], strict=True)
    ][: drawn[0] % 9]


operations = st.binary(min_size=17, max_size=17).map(_operations)


def expected(model: Model, operation: tuple[Any, ...], now: int) -> None:
    kind, key, namespace, number = operation
    where = (kind, key, namespace)
    if kind == "rule":
        where = (kind, key)  # type: ignore[assignment]
    if kind == "timer":
        timer = ("timer", InternalTimer(abs(number) % 4, key, namespace))
        if number >= 0:
            model[timer] = True
        else:
            model.pop(timer, None)
    elif number < 0:
        model.pop(where, None)
    elif kind == "list":
        model.setdefault(where, []).append(number)
    elif kind == "map":
        model.setdefault(where, {})[str(number % 3)] = number
    elif kind == "expiring":
        model[where] = (number, now)
    else:
        model[where] = number


def visible(model: Model, now: int) -> Model:
    return {
        where: value[0] if where[0] == "expiring" else value
        for where, value in model.items()
        if where[0] != "expiring" or value[1] + 50 > now
    }


epochs = st.lists(
    st.tuples(
        # The process that runs it, whether it may fold, and whether its process dies afterwards.
        any_of(range(3), [False, True], [False, True]),
        operations,
        st.lists(st.tuples(st.integers(0, 2), operations), max_size=1),  # attempts that fail
    ),
    min_size=3,
    max_size=25,
)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@settings(max_examples=40, deadline=None)
@given(
    epochs=epochs,
    limits=any_of([1, 200, 1 << 18], range(4), [1, 8192], [0, 1000, None]),
)
def test_all_processes_have_what_was_committed(
    directory: str,
    backend: str,
    epochs: list[Any],
    limits: tuple[int, int, int, int | None],
) -> None:
    """They share their memory, as the subtasks of one process do, which may be too little for all."""
    least_part, kept, step, limit = limits
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "checkpoint.folding._SMALL": 0,
            "checkpoint.folding._LEAST_PART": least_part,
            "checkpoint.folding._KEPT": kept,
            "checkpoint.folding._JOINED": 3,
            "runtime.state.hashmap.hashmap_backend._KEYS_A_STEP": step,
        }.items():
            patch.setattr(f"penstock.{name}", value)
        committed: Handles = ()
        model: Model = {}
        memory = StateMemory()

        def new() -> Process:
            return Process(folder, backend, directory, memory=memory, limit=limit)

        processes = [new() for _ in range(3)]

        def ready(place: int, number: int) -> Process:
            if not processes[place].state.can_catch_up(committed):
                processes[place].state.close()
                processes[place] = new()
            processes[place].begin(number, committed)
            assert processes[place].contents() == visible(model, number * 10)
            return processes[place]

        for number, ((owner, may_fold, dies), work, failed) in enumerate(epochs):
            for place, wrong in failed:
                process = ready(place, number)
                for operation in wrong:
                    process.do(operation)
                process.end(may_fold=may_fold)
            process = ready(owner, number)
            for operation in work:
                process.do(operation)
                expected(model, operation, number * 10)
            committed = process.end(may_fold=may_fold)
            storage = LocalStorage(folder)
            needed = {handle.name for handle in committed}
            storage.delete(name for name in storage.names("state") if name not in needed)
            if dies:
                process.state.close()
                processes[owner] = new()
        for place in range(3):
            ready(place, len(epochs))
        for process in processes:
            process.state.close()
        assert memory.held == 0


@pytest.mark.parametrize("backends", [("hashmap", "rocksdb"), ("rocksdb", "hashmap")])
@settings(max_examples=20, deadline=None)
@given(work=operations, more=operations, parallelism=st.integers(1, 5))
def test_others_take_over_what_is_of_their_key_groups(
    directory: str,
    backends: tuple[str, str],
    work: list[Any],
    more: list[Any],
    parallelism: int,
) -> None:
    """One subtask's files, taken up by several, of another backend."""
    with tempfile.TemporaryDirectory() as folder:
        old = Process(folder, backends[0], directory)
        handles: Handles = ()
        for number, operations in enumerate((work, more)):
            old.begin(number, handles)
            for operation in operations:
                old.do(operation)
            handles = old.end()
        contents = old.contents()
        joined: Model = {}
        for subtask in range(parallelism):
            groups = _range(subtask, parallelism)
            foreign = tuple(
                handle._replace(first=groups.start, end=groups.stop) for handle in handles
            )
            new = Process(folder, backends[1], directory, groups)
            new.begin(2, foreign)
            assert new.contents() == _only(contents, groups)
            new.do(("value", "a", None, 5)) if _owner("a", groups) else None
            new.do(("rule", "a", None, 5))
            own = new.end(may_fold=False)
            assert len(own) == 1
            assert not own[0].is_foreign
            changed = copy.deepcopy(new.contents())
            again = Process(folder, backends[0], directory, groups)
            again.begin(3, own)
            assert again.contents() == changed
            joined.update(changed)
            new.state.close()
            again.state.close()
        assert {**joined} == {**contents, ("value", "a", None): 5, ("rule", "a"): 5}
        old.state.close()


def _range(subtask: int, parallelism: int) -> range:
    from penstock.runtime.keys.key_groups import key_group_range

    return key_group_range(subtask, parallelism, GROUPS)


def _owner(key: Any, groups: range) -> bool:
    return key_group(key, GROUPS) in groups


def _only(contents: Model, groups: range) -> Model:
    return {
        where: value
        for where, value in contents.items()
        if where[0] == "rule" or _owner(where[1].key if where[0] == "timer" else where[1], groups)
    }


def test_simultaneous_timers_keep_their_order_when_they_are_written_again() -> None:
    def timers() -> Iterator[str]:
        while (timer := process.timers.poll()) is not None:
            yield timer.key

    with tempfile.TemporaryDirectory() as folder:
        process = Process(folder, "hashmap", folder)
        process.begin(0, ())
        for key in "abcd":
            process.do(("timer", key, None, 1))
        frames = list(process.keyed.everything())
        process.end()
        process.keyed.follow_round("round", hurries=True)
        for frame in process.keyed.everything_in(range(GROUPS)):
            process.keyed.apply(frame)
        assert list(timers()) == ["a", "b", "c", "d"]
        for frame in frames:
            process.keyed.apply(frame)
        assert list(timers()) == ["a", "b", "c", "d"]


def test_broadcast_state_is_taken_of_one_file_only(tmp_path: Path) -> None:
    old = Process(str(tmp_path), "hashmap", str(tmp_path))
    old.begin(0, ())
    old.do(("rule", "a", None, 1))
    old.do(("value", "a", None, 1))
    [handle] = old.end()
    new = Process(str(tmp_path), "hashmap", str(tmp_path))

    new.begin(1, (handle._replace(first=0, end=GROUPS, gives_broadcast=False),))

    assert new.contents() == {("value", "a", None): 1}


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_each_round_writes_what_was_there_when_it_began(backend: str, tmp_path: Path) -> None:
    """A process may hear of a round when the one before is over long since."""
    process = Process(str(tmp_path), backend, str(tmp_path))
    copy = Process(str(tmp_path), "hashmap", str(tmp_path))
    for began, key in (("one", "a"), ("other", "b")):
        process.begin(0, ())
        process.do(("value", key, None, 1))
        process.do(("list", key, None, 1))
        process.do(("timer", key, None, 1))
        process.keyed.forget_changes()
        process.state = SubtaskState({"op": process.keyed, "op broadcast": process.broadcast})
        assert process.keyed.follow_round(began, hurries=True)

    for _ in range(2):
        for groups in (range(5), range(5, GROUPS)):
            for frame in process.keyed.everything_in(groups):
                copy.keyed.apply(frame)

    assert copy.contents() == process.contents()
    assert len(copy.contents()) == 6
    process.state.close()
