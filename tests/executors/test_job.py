from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.programs import ProgramBuilder, operator_id, subtask_report

from penstock.checkpoint.epoch_store import EpochRecord, FolderEpochStore, MemoryEpochStore
from penstock.checkpoint.handles import StateHandle, write_state_file
from penstock.errors import InconsistentEpochError, LostBufferError, UserFunctionError
from penstock.executors.job import EpochRunner, new_job_id
from penstock.runtime.buffer import Buffer
from penstock.runtime.epoch import Epoch
from penstock.runtime.layout import Layout
from penstock.runtime.message import Message
from penstock.runtime.operators.map import MapOperator
from penstock.runtime.partitioners import RebalancePartitioner
from penstock.runtime.program import Program
from penstock.runtime.subtask import driver_buffer

Handles = tuple[StateHandle, ...]


def _program() -> Program:
    builder = ProgramBuilder()
    source = builder.source([[1]])
    builder.vertex(MapOperator(str), inputs=[(source, RebalancePartitioner())], parallelism=2)
    return builder.build()


PROGRAM = _program()
LAYOUT = Layout(PROGRAM, 2)
NOTHING: tuple[int, int, int, int, dict[str, Any]] = (0, 0, 0, 0, {})


def epoch_of(*told: tuple[str, Any], handles: dict[int, Handles] | None = None) -> list[Buffer]:
    """Return what the driver hears of an epoch in which all is well."""
    handles = handles or {}
    source = [*told, ("report", subtask_report([NOTHING], {}))]
    reports = [
        (Message(kind, 0, 0, content), place) for place, (kind, content) in enumerate(source)
    ]
    for subtask in range(2):
        report = subtask_report([NOTHING], {0: "a"}, handles.get(subtask))
        reports.append((Message("report", 1, subtask, report), 0))
    return [
        driver_buffer(LAYOUT, message, PROGRAM.vertices[message.vertex], sequence)
        for message, sequence in reports
    ]


def failing_with(error: Exception) -> list[Buffer]:
    return [driver_buffer(LAYOUT, Message("error", 0, 0, error), PROGRAM.vertices[0], 0)]


class Engine:
    """Runs epochs as it is told to, and remembers which.

    Args:
        results: What comes of each run; the last comes again and again.
    """

    def __init__(self, *results: list[Buffer]) -> None:
        self._results = list(results) or [epoch_of()]
        self.epochs: list[Epoch] = []

    def __call__(self, epoch: Epoch) -> Iterable[Buffer]:
        self.epochs.append(epoch)
        return self._results.pop(0) if len(self._results) > 1 else self._results[0]


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryEpochStore | FolderEpochStore:
    return MemoryEpochStore() if request.param == "memory" else FolderEpochStore(str(tmp_path))


Store = MemoryEpochStore | FolderEpochStore


def runner(
    store: Store,
    publish: Callable[[list[tuple[str, str]]], None] = lambda files: None,
    folder: str | None = None,
) -> EpochRunner:
    return EpochRunner(PROGRAM, "job", store, folder, publish)


def run(
    made: EpochRunner, number: int, engine: Engine, finishing: Iterable[int] = (), **options: Any
) -> EpochRecord:
    options.setdefault("is_last", False)
    return made.run(number, frozenset(finishing), engine, **options)


class TestAnEpoch:
    def test_is_committed_with_all_that_came_of_it(self, store: Store) -> None:
        handle = StateHandle("path", 1, 2, is_snapshot=True)
        engine = Engine(
            epoch_of(
                ("print", ["a", "b"]),
                ("collect", ("id", [1])),
                ("prepared", ("sink", "file")),
                handles={1: (handle,)},
            )
        )

        record = run(runner(store), 0, engine, [0])

        assert store.get(0) == record
        assert (record.number, record.finished, record.handles) == (
            0,
            frozenset({0}),
            {(1, 1): (handle,)},
        )
        assert (record.printed, record.collected, record.prepared) == (
            ["a", "b"],
            [("id", [1])],
            [("sink", "file")],
        )
        assert record.operators[operator_id("Op1.0")] == {
            "name": "Op1.0",
            "records_in": 0,
            "records_out": 0,
            "input_watermark": 0,
            "output_watermark": 0,
            "user": {},
        }
        assert record.duration >= 0

    def test_is_told_what_it_has_to_know(self, store: Store, tmp_path: Path) -> None:
        engine = Engine()
        run(runner(store, folder=str(tmp_path)), 0, engine, [0], is_last=True)

        assert engine.epochs == [
            Epoch("job", 0, finishing=frozenset({0}), is_last=True, folder=str(tmp_path), state={})
        ]

    def test_goes_on_from_the_one_before(self, store: Store) -> None:
        first, second, third = (StateHandle(name, 1, 2, is_snapshot=False) for name in "abc")
        engine = Engine(
            epoch_of(handles={0: (first,), 1: (second,)}),
            epoch_of(handles={1: (second, third)}),
            epoch_of(),
        )
        made = runner(store)

        run(made, 0, engine, [0])
        run(made, 1, engine, [0, 1])
        record = run(made, 2, engine, [0, 1, 2])

        after_first = {(1, 0): (first,), (1, 1): (second,)}
        after_second = {(1, 0): (first,), (1, 1): (second, third)}
        assert [(epoch.finished, epoch.finishing, epoch.state) for epoch in engine.epochs] == [
            (frozenset(), frozenset({0}), {}),
            (frozenset({0}), frozenset({1}), after_first),
            (frozenset({0, 1}), frozenset({2}), after_second),
        ]
        assert (record.finished, record.handles) == (frozenset({0, 1, 2}), after_second)

    def test_remembers_nothing_but_what_is_stored(self, store: Store) -> None:
        engine = Engine()
        run(runner(store), 0, engine, [0])
        run(runner(store), 1, engine)

        assert engine.epochs[1].finished == {0}


class TestACommittedEpoch:
    def test_is_published_again_but_not_run_again(self, store: Store) -> None:
        published: list[list[tuple[str, str]]] = []
        engine = Engine(epoch_of(("prepared", ("sink", "file"))))
        record = run(runner(store, published.append), 0, engine)
        again = run(runner(store, published.append), 0, engine)

        assert again == record
        assert len(engine.epochs) == 1
        assert published == [[("sink", "file")]] * 2

    def test_is_committed_before_it_is_published(self, store: Store) -> None:
        class CrashError(Exception):
            pass

        def crash(files: list[tuple[str, str]]) -> None:
            assert store.get(0) is not None
            raise CrashError

        engine = Engine()
        with pytest.raises(CrashError):
            run(runner(store, crash), 0, engine)
        published: list[Any] = []
        run(runner(store, published.append), 0, engine)

        assert (len(engine.epochs), published) == (1, [[]])

    def test_needs_no_state_files_that_only_the_one_before_needed(
        self, store: Store, tmp_path: Path
    ) -> None:
        old, kept, new = (
            write_state_file(str(tmp_path / "state"), name, [b"x"], is_snapshot=False)
            for name in ("old", "kept", "new")
        )
        gone = StateHandle(str(tmp_path / "gone"), 1, 1, is_snapshot=False)
        engine = Engine(
            epoch_of(handles={0: (old, gone), 1: (kept,)}), epoch_of(handles={0: (new,)})
        )
        made = runner(store)
        run(made, 0, engine)
        assert Path(old.path).exists()
        run(made, 1, engine)

        assert [Path(handle.path).exists() for handle in (old, kept, new)] == [False, True, True]


class TestAnEpochThatFails:
    @pytest.mark.parametrize("error", [InconsistentEpochError("mixed"), LostBufferError("lost")])
    def test_in_the_exchange_is_run_again(self, store: Store, error: Exception) -> None:
        engine = Engine(failing_with(error), failing_with(error), epoch_of(("print", ["good"])))

        record = run(runner(store), 0, engine)

        assert record.printed == ["good"]
        assert [epoch.attempt for epoch in engine.epochs] == [0, 1, 2]
        assert [epoch.number for epoch in engine.epochs] == [0, 0, 0]

    def test_in_the_exchange_again_and_again_is_given_up(self, store: Store) -> None:
        engine = Engine(failing_with(LostBufferError("lost")))

        with pytest.raises(LostBufferError, match="lost"):
            run(runner(store), 0, engine)
        assert len(engine.epochs) == 3
        assert store.get(0) is None

    def test_in_a_users_function_is_not_run_again(self, store: Store) -> None:
        engine = Engine(failing_with(UserFunctionError("mine")))

        with pytest.raises(UserFunctionError, match="mine"):
            run(runner(store), 0, engine)
        assert len(engine.epochs) == 1
        assert store.get(0) is None

    def test_is_neither_committed_nor_published(self, store: Store) -> None:
        def publish(files: list[tuple[str, str]]) -> None:
            raise AssertionError("never")

        with pytest.raises(UserFunctionError):
            run(runner(store, publish), 0, Engine(failing_with(UserFunctionError("mine"))))
        assert store.get(0) is None


def test_a_job_id_is_one_of_flink() -> None:
    one, other = new_job_id(), new_job_id()

    assert one != other
    assert len(one) == 32
    assert int(one, 16) >= 0
