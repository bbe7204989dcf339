from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Unpicklable, operator_id
from tests.runtime.timers.manual_clock import ManualClock

from penstock.checkpoint.handles import StateHandle
from penstock.errors import DamagedStateError, ValueNotSerializableError
from penstock.runtime.epoch import Epoch
from penstock.runtime.operator import StreamOperator
from penstock.runtime.state.factory import create_backend
from penstock.runtime.task.subtask_state import SubtaskState

Handles = tuple[StateHandle, ...]
Tables = dict[str, dict[Any, Any]]


@pytest.fixture(autouse=True)
def _in_memory_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


class Process:
    """A process in which the subtask ran at some time: it has state of some version."""

    def __init__(self, folder: str | None, operators: tuple[str, ...] = ("sum", "max")) -> None:
        self._folder = folder
        self._names = operators
        self._make()

    def _make(self) -> None:
        self.operators = {name: StreamOperator() for name in self._names}
        for name, operator in self.operators.items():
            operator.state = create_backend(
                "hashmap",
                max_parallelism=128,
                key_groups=range(128),
                clock=ManualClock(),
                operator=name.title(),
            )
        self.state = SubtaskState(
            {operator_id(name): operator.state for name, operator in self.operators.items()}
        )

    def begin(self, handles: Handles, *, is_last: bool = False) -> None:
        if not self.state.can_catch_up(handles):
            self._make()
        epoch = Epoch("job", location=self._folder, is_last=is_last)
        self.state.begin_epoch(epoch, handles)

    def put(self, name: str, entries: dict[Any, Any]) -> None:
        state = self.operators[name].state
        for key, value in entries.items():
            if value is None:
                state.table("table").pop(key, None)
            else:
                state.table("table")[key] = value
        if entries:
            state.mark_changed("table", list(entries))

    def end(self, number: int, *, is_last: bool = False) -> Handles:
        epoch = Epoch("job", number, location=self._folder, is_last=is_last)
        return self.state.end_epoch(epoch, "vertex-0")

    def epoch(self, number: int, handles: Handles, entries: dict[Any, Any]) -> Handles:
        self.begin(handles)
        self.put("sum", entries)
        return self.end(number)

    def tables(self) -> Tables:
        return {
            name: dict(operator.state.table("table").items())  # type: ignore[attr-defined]
            for name, operator in self.operators.items()
        }


def unneeded(before: Handles, now: Handles) -> Iterator[str]:
    return (handle.name for handle in before if handle not in now)


entries = st.dictionaries(
    st.integers(0, 6), st.none() | st.integers() | st.just("x" * 50), max_size=4
)
works = st.fixed_dictionaries({"sum": entries, "max": entries})
attempts = st.tuples(
    st.integers(0, 2), works, st.sampled_from(["stops half way", "is not committed"])
)
epochs = st.lists(
    st.tuples(st.lists(attempts, max_size=2), st.integers(0, 2), works), min_size=1, max_size=12
)


@settings(max_examples=60)
@given(epochs, st.sampled_from([0, 300, 1 << 16]), st.sampled_from([0, 1, 64]))
def test_every_process_catches_up_from_whatever_it_has(
    epochs: list[Any], small: int, kept: int
) -> None:
    """Epochs run in one of three processes; before each, attempts may fail in others."""
    committed: Handles = ()
    model: Tables = {"sum": {}, "max": {}}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.checkpoint.folding._SMALL", small)
        patch.setattr("penstock.checkpoint.folding._KEPT", kept)
        patch.setattr("penstock.checkpoint.folding._JOINED", 3)
        processes = [Process(folder) for _ in range(3)]
        for number, (failed, owner, work) in enumerate(epochs):
            for place, failed_work, end in failed:
                processes[place].begin(committed)
                assert processes[place].tables() == model
                for name, changed in failed_work.items():
                    processes[place].put(name, changed)
                if end == "is not committed":
                    processes[place].end(number)
            process = processes[owner]
            process.begin(committed)
            assert process.tables() == model
            for name, changed in work.items():
                process.put(name, changed)
                model[name] = {
                    key: value
                    for key, value in {**model[name], **changed}.items()
                    if value is not None
                }
            assert process.tables() == model
            before, committed = committed, process.end(number)
            for path in unneeded(before, committed):
                os.unlink(os.path.join(folder, path))
        newcomer = Process(folder)
        newcomer.begin(committed)
        assert newcomer.tables() == model


class TestFiles:
    def test_hold_what_changed_and_not_what_exists(self, tmp_path: Path) -> None:
        process = Process(str(tmp_path))
        handles = process.epoch(0, (), dict.fromkeys(range(1000), "value"))
        [snapshot] = handles
        handles = process.epoch(1, handles, {5: "other"})

        assert snapshot.is_snapshot
        assert handles[0] == snapshot
        assert [handle.is_snapshot for handle in handles] == [True, False]
        assert handles[1].length < snapshot.length / 20

    def test_are_not_written_where_nothing_changed(self, tmp_path: Path) -> None:
        process = Process(str(tmp_path))
        assert process.epoch(0, (), {}) == ()
        handles = process.epoch(1, (), {1: 1})

        assert process.epoch(2, handles, {}) == handles
        assert len(list(tmp_path.rglob("0*"))) == 1

    def test_lie_in_the_folder_of_the_job(self, tmp_path: Path) -> None:
        [handle] = Process(str(tmp_path)).epoch(12, (), {1: 1})

        assert handle.name.startswith("state/vertex-0/00000012-")
        assert (tmp_path / handle.name).stat().st_size == handle.length

    def test_stay_few_however_many_epochs_there_are(self, tmp_path: Path) -> None:
        process = Process(str(tmp_path))
        handles: Handles = ()
        most = 0
        for number in range(300):
            handles = process.epoch(number, handles, {number % 7: number})
            most = max(most, len(handles))

        assert 60 < most < 75

    def test_stay_small_however_much_changes(self, tmp_path: Path) -> None:
        process = Process(str(tmp_path))
        handles: Handles = ()
        for number in range(40):
            handles = process.epoch(number, handles, dict.fromkeys(range(5), f"{number:20000}"))

        # The state has 100 KB, and so has each changelog.
        assert sum(handle.length for handle in handles) < 400_000

    def test_are_read_only_as_far_as_they_are_news(self, tmp_path: Path) -> None:
        here, there = Process(str(tmp_path)), Process(str(tmp_path))
        first = here.epoch(0, (), {1: 1})
        second = there.epoch(1, first, {2: 2})
        (tmp_path / first[0].name).unlink()

        here.begin(second)

        assert here.tables()["sum"] == {1: 1, 2: 2}

    @pytest.mark.parametrize("damage", ["missing", "truncated", "changed"])
    @pytest.mark.parametrize("place", [0, 1])
    def test_are_named_where_they_are_damaged(
        self, tmp_path: Path, damage: str, place: int
    ) -> None:
        process = Process(str(tmp_path))
        handles = process.epoch(1, process.epoch(0, (), {1: 1}), {2: 2})
        file = tmp_path / handles[place].name
        content = file.read_bytes()
        match damage:
            case "missing":
                file.unlink()
            case "truncated":
                file.write_bytes(content[:-1])
            case "changed":
                file.write_bytes(content.replace(b"table", b"tible"))

        with pytest.raises(DamagedStateError, match=str(file)):
            Process(str(tmp_path)).begin(handles)


class TestAnEpochThatIsRunAgain:
    @pytest.mark.parametrize("end", [False, True], ids=["stopped half way", "not committed"])
    def test_finds_the_state_before_it(self, tmp_path: Path, end: bool) -> None:
        process = Process(str(tmp_path))
        handles = process.epoch(0, (), {1: 1})
        process.begin(handles)
        process.put("sum", {1: "wrong", 2: "wrong"})
        if end:
            process.end(1)

        process.begin(handles)

        assert process.tables()["sum"] == {1: 1}

    def test_finds_no_state_if_it_is_the_first(self, tmp_path: Path) -> None:
        process = Process(str(tmp_path))
        process.epoch(0, (), {1: "wrong"})

        process.begin(())

        assert process.tables() == {"sum": {}, "max": {}}

    @pytest.mark.parametrize("number", [0, 1])
    def test_finds_the_state_before_it_even_if_it_is_the_last(
        self, tmp_path: Path, number: int
    ) -> None:
        process = Process(str(tmp_path))
        handles = process.epoch(0, (), {1: 1}) if number else ()
        process.begin(handles, is_last=True)
        process.put("sum", {1: "wrong"})
        assert process.end(number, is_last=True) == handles

        process.begin(handles, is_last=True)

        assert process.tables()["sum"] == ({1: 1} if number else {})

    def test_finds_the_state_before_it_where_the_job_has_no_folder(self) -> None:
        process = Process(None)
        assert process.epoch(0, (), {1: "wrong"}) == ()

        process.begin(())

        assert process.tables() == {"sum": {}, "max": {}}


class TestStateThatCannotBePickled:
    def test_is_named_with_its_operator(self, tmp_path: Path) -> None:
        process = Process(str(tmp_path))
        process.begin(())
        process.put("sum", {1: 1, 2: Unpicklable("culprit")})

        with pytest.raises(ValueNotSerializableError, match=r"'Sum' .*: <culprit>"):
            process.end(0)

    def test_is_named_with_its_operator_and_no_other(self, tmp_path: Path) -> None:
        process = Process(str(tmp_path))
        process.begin(())
        process.put("sum", {1: 1})
        process.put("max", {1: Unpicklable("culprit")})

        with pytest.raises(ValueNotSerializableError, match=r"'Max' .*: <culprit>"):
            process.end(0)


def test_an_operator_gets_its_own_state(tmp_path: Path) -> None:
    process = Process(str(tmp_path))
    process.begin(())
    process.put("sum", {1: "sum"})
    process.put("max", {1: "max"})
    handles = process.end(0)

    newcomer = Process(str(tmp_path))
    newcomer.begin(handles)

    assert newcomer.tables() == {"sum": {1: "sum"}, "max": {1: "max"}}
