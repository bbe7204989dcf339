from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.programs import ProgramBuilder, operator_id, subtask_report

from penstock.checkpoint.delivered import PUBLISHED
from penstock.checkpoint.epoch_record import EpochRecord, digest_of_record
from penstock.checkpoint.handles import StateHandle, write_state_file
from penstock.common import Configuration
from penstock.errors import (
    CheckpointMismatchError,
    InconsistentEpochError,
    LostBufferError,
    UserFunctionError,
)
from penstock.executors.driver.checkpoints import Checkpoints
from penstock.executors.driver.epoch_feed import EpochFeed, EpochResult
from penstock.executors.driver.epoch_runner import EpochRunner, new_job_id
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.layout import Layout
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import Program
from penstock.runtime.task.message import Message
from penstock.runtime.task.subtask import driver_buffer

Handles = tuple[StateHandle, ...]


def _program() -> Program:
    builder = ProgramBuilder()
    source = builder.source([[1]])
    builder.vertex(MapOperator(str), inputs=[(source, RebalancePartitioner())], parallelism=2)
    return builder.build()


PROGRAM = _program()
SINK = PROGRAM.vertices[1].operators[0].operator_id
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


class Place:
    """Where epochs of a job are committed, from one start of it to the next.

    Args:
        folder: The checkpoint location; None for a job that has none.
    """

    def __init__(self, folder: Path | None) -> None:
        self.configuration = Configuration()
        if folder is not None:
            self.configuration.set_string("execution.checkpointing.dir", str(folder))
        self.feed = EpochFeed()
        self.checkpoints: Checkpoints | None = None

    def open(self) -> Checkpoints:
        """Return it for another start; one in memory does not outlive the process."""
        if self.checkpoints is None or self.checkpoints.is_durable:
            self.close()
            self.checkpoints = Checkpoints(self.configuration, has_epochs=True)
        return self.checkpoints

    def close(self) -> None:
        if self.checkpoints is not None:
            self.checkpoints.close()

    def committed(self) -> list[int]:
        assert self.checkpoints is not None
        return self.checkpoints._store.numbers()


@pytest.fixture(params=["memory", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = Place(None if request.param == "memory" else tmp_path / "job")
    yield made
    made.close()


def runner(
    place: Place, publish: Callable[[EpochRecord], None] = lambda record: None
) -> EpochRunner:
    """Start the job, as a driver does."""
    made = EpochRunner(PROGRAM, "job", place.open(), publish, place.feed)
    made.resume()
    return made


def run(
    made: EpochRunner, number: int, engine: Engine, finishing: Iterable[int] = (), **options: Any
) -> EpochRecord:
    options.setdefault("is_last", False)
    return made.run(number, frozenset(finishing), engine, **options)


def told(place: Place) -> EpochResult:
    result = place.feed.next()
    assert isinstance(result, EpochResult)
    return result


class TestAnEpoch:
    def test_is_committed_with_all_that_came_of_it(self, place: Place) -> None:
        handle = StateHandle("name", 1, 2, is_snapshot=True)
        engine = Engine(
            epoch_of(
                ("print", ["a", "b"]),
                ("collect", ("id", [1])),
                ("prepared", ("sink", "file")),
                handles={1: (handle,)},
            )
        )

        record = run(runner(place), 0, engine, [0])

        assert place.open().last() == record
        assert (record.number, record.finished, record.handles) == (
            0,
            frozenset({0}),
            {(1, 1): (handle,)},
        )
        assert record.prepared == [("sink", "file")]
        assert record.operators[operator_id("Op1.0")]["records_in"] == 0
        assert record.duration >= 0

    def test_is_told_to_the_client(self, place: Place) -> None:
        engine = Engine(epoch_of(("print", ["a", "b"]), ("collect", ("id", [1]))))

        record = run(runner(place), 0, engine)
        result = told(place)

        assert (result.record, result.printed, result.collected) == (
            record,
            ["a", "b"],
            [("id", [1])],
        )
        assert result.operators[operator_id("Op1.0")]["name"] == "Op1.0"
        assert place.feed.next() is None

    def test_is_told_what_it_has_to_know(self, place: Place, tmp_path: Path) -> None:
        engine = Engine()
        made = runner(place)
        record = run(made, 0, engine, [0], is_last=True)

        location = place.checkpoints.location if place.checkpoints else None
        assert location is not None
        assert engine.epochs == [
            Epoch(
                "job",
                0,
                record.lineage,
                finishing=frozenset({0}),
                is_last=True,
                location=location,
                keeps_state=location.startswith(str(tmp_path)),
            )
        ]

    def test_goes_on_from_the_one_before(self, place: Place) -> None:
        first, second, third = (StateHandle(name, 1, 2, is_snapshot=False) for name in "abc")
        engine = Engine(
            epoch_of(handles={0: (first,), 1: (second,)}),
            epoch_of(handles={1: (second, third)}),
            epoch_of(),
        )
        made = runner(place)

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

    def test_goes_on_from_the_last_one_of_an_earlier_driver(self, place: Place) -> None:
        engine = Engine()
        first = run(runner(place), 0, engine, [0])
        again = runner(place)
        assert again.next == 1
        second = run(again, 1, engine)

        assert engine.epochs[1].finished == {0}
        assert second.lineage == first.lineage
        assert second.previous == digest_of_record(first)

    @pytest.mark.parametrize("number", [0, 3])
    def test_is_the_next_one_or_the_last(self, place: Place, number: int) -> None:
        made = runner(place)
        run(made, 0, Engine())
        run(made, 1, Engine())

        with pytest.raises(
            CheckpointMismatchError, match=f"Epoch {number} is to be run, but .* 1:"
        ):
            run(runner(place), number, Engine())


class TestACommittedEpoch:
    def test_is_published_again_but_not_run_again(self, place: Place) -> None:
        published: list[EpochRecord] = []
        engine = Engine(epoch_of(("prepared", (SINK, "file"))))
        record = run(runner(place, published.append), 0, engine)
        again = run(runner(place, published.append), 0, engine)

        assert again == record
        assert len(engine.epochs) == 1
        assert published == [record, record]

    def test_is_committed_before_it_is_published(self, place: Place) -> None:
        class CrashError(Exception):
            pass

        def crash(record: EpochRecord) -> None:
            assert place.committed() == [0]
            raise CrashError

        engine = Engine()
        with pytest.raises(CrashError):
            run(runner(place, crash), 0, engine)
        published: list[EpochRecord] = []
        run(runner(place, published.append), 0, engine)

        assert (len(engine.epochs), len(published)) == (1, 1)

    def test_is_published_when_a_driver_starts_again(self, place: Place) -> None:
        published: list[EpochRecord] = []
        record = run(runner(place), 0, Engine())
        again = runner(place, published.append)
        assert place.checkpoints is not None
        if place.checkpoints.is_durable:
            again.republish()
            assert published == [], "the run before ended in order, and noted that it is delivered"
            place.checkpoints.storage.delete([PUBLISHED])
        again.republish()

        assert published == [record]

    def test_the_files_of_old_ones_go(self, place: Place) -> None:
        place.configuration.set_integer("execution.checkpointing.num-retained", 2)
        made = runner(place)
        assert place.checkpoints is not None
        storage = place.checkpoints.storage

        def write(name: str) -> StateHandle:
            return write_state_file(storage, f"state/{name}", [b"x"], is_snapshot=False)

        gone = StateHandle("state/gone", 1, 1, is_snapshot=False)
        old, kept = write("old"), write("kept")
        run(made, 0, Engine(epoch_of(handles={0: (old, gone), 1: (kept,)})))
        new = write("new")
        run(made, 1, Engine(epoch_of(handles={0: (new,)})))
        assert storage.names("state") == sorted(one.name for one in (old, kept, new))
        newer = write("newer")
        run(made, 2, Engine(epoch_of(handles={0: (new, newer)})))

        assert storage.names("state") == sorted(one.name for one in (kept, new, newer))
        assert place.committed() == [1, 2]


class TestAnEpochThatFails:
    @pytest.mark.parametrize("error", [InconsistentEpochError("mixed"), LostBufferError("lost")])
    def test_in_the_exchange_is_run_again(self, place: Place, error: Exception) -> None:
        engine = Engine(failing_with(error), failing_with(error), epoch_of(("print", ["good"])))

        record = run(runner(place), 0, engine)

        assert record.number == 0
        assert told(place).printed == ["good"]
        assert [epoch.attempt for epoch in engine.epochs] == [0, 1, 2]
        assert [epoch.number for epoch in engine.epochs] == [0, 0, 0]

    def test_in_the_exchange_again_and_again_is_given_up(self, place: Place) -> None:
        engine = Engine(failing_with(LostBufferError("lost")))

        with pytest.raises(LostBufferError, match="lost"):
            run(runner(place), 0, engine)
        assert len(engine.epochs) == 3
        assert place.committed() == []

    def test_in_a_users_function_is_not_run_again(self, place: Place) -> None:
        engine = Engine(failing_with(UserFunctionError("mine")))

        with pytest.raises(UserFunctionError, match="mine"):
            run(runner(place), 0, engine)
        assert len(engine.epochs) == 1
        assert place.committed() == []

    def test_is_neither_committed_nor_published(self, place: Place) -> None:
        def publish(record: EpochRecord) -> None:
            raise AssertionError("never")

        with pytest.raises(UserFunctionError):
            run(runner(place, publish), 0, Engine(failing_with(UserFunctionError("mine"))))
        assert place.committed() == []


def test_a_job_id_is_one_of_flink() -> None:
    one, other = new_job_id(), new_job_id()

    assert one != other
    assert len(one) == 32
    assert int(one, 16) >= 0
