"""Large snapshots of operators are in state files, not in metadata that every epoch writes anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runtime.programs import Journal

from penstock.checkpoint.epoch_record import encode
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.handles import StateHandle
from penstock.checkpoint.savepoint import copy_into, write_savepoint
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import DamagedStateError
from penstock.inspection import verify_checkpoint
from penstock.runtime.epoch import Epoch
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.sinks import CommitContext, Committer, SinkWriter, WriterContext
from penstock.runtime.task.stored_snapshots import StoredSnapshots
from penstock.testing import TestingSource

LARGE = b"x" * 10_000


class Place:
    def __init__(self, folder: Path) -> None:
        self.storage = LocalStorage(str(folder))
        self.epoch = Epoch("job", 3, location=str(folder))

    def store(self, made: StoredSnapshots, **snapshots: bytes) -> Any:
        return made.store(self.epoch, "state/a/00000003-00000001", snapshots)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class TestSnapshots:
    def test_go_into_files_if_they_are_large(self, place: Place) -> None:
        found = place.store(StoredSnapshots(), a=b"small", b=LARGE)
        progress = SubtaskProgress(operators=found)

        assert found[0] == ("a", b"small")
        assert isinstance(found[1][1], StateHandle)
        assert SubtaskProgress.from_plain(progress.to_plain()) == progress
        assert StoredSnapshots().load(place.epoch, found) == {"a": b"small", "b": LARGE}

    def test_are_not_written_again_if_they_are_what_they_were(self, place: Place) -> None:
        made = StoredSnapshots()
        first = place.store(made, b=LARGE)
        assert made.load(place.epoch, first) == {"b": LARGE}
        second = place.store(made, b=LARGE)
        other = StoredSnapshots()
        other.load(place.epoch, second)
        third = place.store(other, b=LARGE)

        assert first == second == third
        assert len(place.storage.names("state")) == 1

    def test_of_an_epoch_that_failed_do_not_count(self, place: Place) -> None:
        made = StoredSnapshots()
        made.load(place.epoch, ())
        place.storage.delete([place.store(made, b=LARGE)[0][1].name])
        made.load(place.epoch, ())
        [(_, handle)] = place.store(made, b=LARGE)

        assert place.storage.names("state") == [handle.name]

    def test_that_are_damaged_are_told(self, place: Place) -> None:
        found = place.store(StoredSnapshots(), b=LARGE)
        place.storage.write(found[0][1].name, [b"other"])

        with pytest.raises(DamagedStateError):
            StoredSnapshots().load(place.epoch, found)

    def test_stay_with_the_metadata_of_a_job_without_files(self) -> None:
        found = StoredSnapshots().store(Epoch("job"), "state/a", {"b": LARGE})

        assert found == (("b", LARGE),)


class Holding(SinkWriter):
    """Holds all records back until the input ends."""

    def __init__(self) -> None:
        self._values: list[str] = []
        self._has_ended = False

    def restore(self, snapshots: list[bytes]) -> None:
        self._values = [line for snapshot in snapshots for line in snapshot.decode().splitlines()]

    def write(self, value: Any, timestamp: int | None) -> None:
        if value is not None:
            self._values.append(value)

    def end_input(self) -> None:
        self._has_ended = True

    def prepare_commit(self) -> list[Any]:
        values, self._values = (self._values, []) if self._has_ended else ([], self._values)
        return values

    def snapshot(self) -> bytes | None:
        return "\n".join(self._values).encode() if self._values else None


class Taking(Committer):
    def __init__(self, taken: Journal) -> None:
        self._taken = taken

    def commit(self, committables: list[Any], context: CommitContext) -> None:
        self._taken.extend(committables)


class HoldingSink(TwoPhaseCommitSink):
    has_writer_state = True

    def __init__(self, taken: Journal) -> None:
        self._taken = taken

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return Holding()

    def create_committer(self) -> Committer:
        return Taking(self._taken)


def run(folder: Path, parallelism: int, epochs: list[list[Any]], ends: bool = True) -> Journal:
    taken = Journal()
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string("execution.checkpointing.dir", str(folder))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    source = TestingSource(epochs)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    stopping = numbers.map(lambda value: value if ends or value != "stop" else 1 // 0)
    stopping.rebalance().sink_to(HoldingSink(taken)).uid("sink")
    if ends:
        env.execute()
    else:
        with pytest.raises(Exception, match="by zero"):
            env.execute()
    return taken


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_job_takes_them_up_with_any_parallelism(tmp_path: Path, parallelism: int) -> None:
    records = [f"{number:05d}" for number in range(3000)]
    epochs: list[list[Any]] = [records, *[[None]] * 20, ["stop"], [None]]
    run(tmp_path / "job", 2, epochs, ends=False)
    storage = LocalStorage(str(tmp_path / "job"))
    [*_, last] = StoredEpochs(storage).numbers()
    record = StoredEpochs(storage).get(last)
    assert record is not None
    assert (record.number, len(encode(record)) < 6_000) == (20, True)
    files = storage.names("state")
    assert len([name for name in files if "/00000000-" in name]) == 2
    assert verify_checkpoint(storage.location).is_whole

    savepoint, new = LocalStorage(str(tmp_path / "save")), LocalStorage(str(tmp_path / "new"))
    write_savepoint(storage, record, savepoint)
    assert verify_checkpoint(savepoint.location).files == 2
    copied = copy_into(savepoint, new)
    assert set(new.names("state")) == copied.files()

    taken = run(tmp_path / "job", parallelism, epochs)
    assert sorted(taken) == [*records, "stop"]
