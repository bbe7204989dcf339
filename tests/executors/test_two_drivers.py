"""Drivers that do not know of each other, at a storage without locks, cut into each other anywhere."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.checkpoint.epoch_record import EpochRecord, digest_of_record
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.handles import read_copy, read_state_file, write_state_file
from penstock.common import Configuration
from penstock.datastream.connectors.files import staging as file_staging
from penstock.datastream.connectors.files.committer import FileCommittable, FileCommitter
from penstock.datastream.connectors.files.staging import PublishedFile, StagedFile, Staging
from penstock.errors import (
    CheckpointMismatchError,
    DamagedStateError,
    EpochTakenError,
    InvalidConfigurationValueError,
    LocationInUseError,
    LostEpochError,
    LostOutputError,
    SinkNotWritableError,
)
from penstock.executors.driver.checkpoints import Checkpoints
from penstock.executors.driver.publishing import (
    PublishedSink,
    Publisher,
    drop_uncommitted,
    open_files_of,
)
from penstock.runtime.sinks import committable_from_plain, committable_to_plain

Files = dict[str, bytes]


class MemoryStorage:
    """A storage without locks. Before each operation on it, `step` is called."""

    def __init__(self, files: Files, location: str, step: Callable[[], None]) -> None:
        self.location = location
        self._files = files
        self._step = step
        self.loses_answer = False

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        content = b"".join(chunks)
        self._step()
        self._files[name] = content

    def create(self, name: str, data: bytes) -> None:
        self._step()
        if name in self._files:
            raise FileExistsError(name)
        self._files[name] = data
        if self.loses_answer and name.startswith("epochs/"):
            self.loses_answer = False
            raise ConnectionResetError

    def read(self, name: str) -> bytes:
        self._step()
        try:
            return self._files[name]
        except KeyError:
            raise FileNotFoundError(name) from None

    def chunks(self, name: str) -> Iterator[bytes]:
        yield self.read(name)

    def names(self, prefix: str = "") -> list[str]:
        self._step()
        return sorted(name for name in self._files if name.startswith(f"{prefix}/"))

    def sync(self, folder: str) -> None:
        """Nothing: what is there lasts."""

    def delete(self, names: Iterable[str]) -> None:
        for name in list(names):
            self._step()
            self._files.pop(name, None)

    def folders(self, prefix: str) -> list[str]:
        self._step()
        found = {name.partition("/")[0] for name in self._files if "/" in name}
        return sorted(name for name in found if name.startswith(prefix))

    def delete_folder(self, name: str) -> None:
        self.delete(self.names(name))

    def url(self, name: str) -> str:
        return f"{self.location}/{name}"


class KilledError(BaseException):
    """The process is gone."""


ENDS = (
    CheckpointMismatchError,
    DamagedStateError,
    EpochTakenError,
    InvalidConfigurationValueError,
    LocationInUseError,
    LostOutputError,
    # Another driver went back, and deleted the folder of the history that it gave up.
    SinkNotWritableError,
    KilledError,
)

SINK = "sink"


class SteppingOs:
    """What a FileSink does in its folder: before each operation its driver makes a step."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        if name not in {"unlink", "replace", "listdir"}:
            return found

        def stepping(*arguments: Any) -> Any:
            if isinstance(thread := threading.current_thread(), Life):
                thread.step()
            return found(*arguments)

        return stepping


class Life(threading.Thread):
    """The thread of a driver."""

    def __init__(self, live: Callable[[], None], step: Callable[[], None]) -> None:
        super().__init__(target=live, daemon=True)
        self.step = step


def pieces_of(record: EpochRecord | None) -> list[StagedFile]:
    """Return the pieces of the file that is open after an epoch."""
    return [] if record is None else [StagedFile(*piece) for piece in record.operators["open"]]


def completed_in(record: EpochRecord) -> list[PublishedFile]:
    """Return the files that are complete with an epoch."""
    return [file for _, plain in record.prepared for file in committable_from_plain(plain).complete]


class Output:
    """A FileSink whose file gets a line in each epoch.

    Args:
        base_path: The folder of all drivers.
        storage: Where the job's driver keeps copies of pieces.
    """

    def __init__(self, base_path: str, storage: MemoryStorage) -> None:
        self._base_path = base_path
        self._storage = storage
        self.sinks = {SINK: PublishedSink("Files", FileCommitter(base_path))}

    def prepare(
        self,
        number: int,
        lineage: str,
        generation: int,
        before: EpochRecord | None,
        open_pieces: list[StagedFile],
        *,
        completes: bool,
    ) -> FileCommittable:
        def copy_of(path: str) -> Iterator[bytes] | None:
            handle = None if before is None else before.pieces.get(path)
            return None if handle is None else read_copy(self._storage, handle)

        staging = Staging(self._base_path, SINK, lineage, generation)
        path, absolute = staging.new_path(number, 0)
        line = b"%d\n" % number
        Path(absolute).write_bytes(line)
        pieces = [*open_pieces, StagedFile(path, len(line), checksum=zlib.crc32(line))]
        if completes or not all(staging.is_own(piece.path) for piece in pieces):
            pieces = [staging.join(pieces, number, 0, copy_of)]
        if not completes:
            return FileCommittable([], pieces)
        target = f"part-{file_staging.visible_name(pieces[0].path)}"
        return FileCommittable([PublishedFile(pieces[0], target)], [])


class Driver:
    """A driver whose operations on the storage wait until they are let through, one by one.

    Args:
        number: Its number.
        files: The files of the storage.
        published: Takes what it publishes.
        plan: What it does, one step after the other.
        retained: How many epochs it keeps.
        back: To which of the epochs that it finds it goes back, counted from the last; 0 for none.
        base_path: Where its FileSink writes.
    """

    def __init__(
        self,
        number: int,
        files: Files,
        published: list[EpochRecord],
        plan: list[str],
        retained: int,
        back: int,
        base_path: str,
    ) -> None:
        self.number = number
        self.storage = MemoryStorage(files, f"driver-{number}", self._step)
        self._files = files
        self._published = published
        self._plan = plan
        self._configuration = Configuration()
        self._configuration.set_string("execution.checkpointing.dir", self.storage.location)
        self._configuration.set_integer("execution.checkpointing.num-retained", retained)
        self._back = back
        # The driver and the test take turns: each lock is held but for the moment in which one hands over.
        self._may_go, self._waits = threading.Lock(), threading.Lock()
        self._may_go.acquire()
        self._waits.acquire()
        self._is_killed = False
        self.has_ended = False
        self.error: BaseException | None = None
        self._output = Output(base_path, self.storage)
        self._open: list[StagedFile] = []
        self._thread = Life(self._live, self._step)
        self._thread.start()
        self._waits.acquire()

    def _step(self) -> None:
        self._waits.release()
        self._may_go.acquire()
        if self._is_killed:
            raise KilledError

    def go(self) -> None:
        """Let one operation through, and wait for the next."""
        if not self.has_ended:
            self._may_go.release()
            self._waits.acquire()

    def kill(self) -> None:
        self._is_killed = True
        while not self.has_ended:
            self.go()

    def _live(self) -> None:
        try:
            self._step()
            self._run()
        except LostEpochError as error:
            # Nobody deletes the last epoch.
            self.error = error
        except ENDS:
            pass
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.error = error
        finally:
            self.has_ended = True
            self._waits.release()

    def _run(self) -> None:
        numbers = StoredEpochs(self.storage).numbers()
        if self._back and len(numbers) > self._back:
            wanted = numbers[-1 - self._back]
            self._configuration.set_integer("execution.state-recovery.epoch", wanted)
        sinks = self._output.sinks
        checkpoints = Checkpoints(
            self._configuration,
            has_epochs=True,
            open_files=partial(open_files_of, sinks),
            drop=partial(drop_uncommitted, sinks),
        )
        self._publish = Publisher(sinks, kept=lambda: checkpoints.kept)
        last = self._begin(checkpoints)
        for step in self._plan:
            if step == "fail":
                self._file(checkpoints, last)
                self._prepare(checkpoints, last, completes=True)
                last = self._begin(checkpoints)
            elif step == "lose":
                self.storage.loses_answer = True
                with suppress(ConnectionResetError):
                    self._epoch(checkpoints, last, folds=True)
                last = self._begin(checkpoints)
            else:
                last = self._epoch(checkpoints, last, folds=step == "fold")

    def _begin(self, checkpoints: Checkpoints) -> EpochRecord | None:
        """Begin, or begin anew after a failure."""
        last = checkpoints.last()
        self._open = pieces_of(last)
        if last is not None:
            self._published.append(last)
            self._publish(last)
        return last

    def _file(self, checkpoints: Checkpoints, last: EpochRecord | None) -> Any:
        number = 0 if last is None else last.number + 1
        name = f"state/v-0/{number:08d}-{checkpoints.generation:08d}"
        return write_state_file(self.storage, name, [b"x"], is_snapshot=False)

    def _epoch(
        self, checkpoints: Checkpoints, last: EpochRecord | None, *, folds: bool
    ) -> EpochRecord:
        for handle in () if last is None else last.every_handle():
            # Another driver may have gone on from the same epoch.
            for _ in read_state_file(self.storage, handle):
                pass
        new = self._file(checkpoints, last)
        prepared = self._prepare(checkpoints, last, completes=folds)
        old = () if last is None or folds else last.handles[0, 0]
        record = EpochRecord(
            0 if last is None else last.number + 1,
            lineage="first" if last is None else last.lineage,
            generation=checkpoints.generation,
            previous=checkpoints.digest,
            handles={(0, 0): (*old, new)},
            prepared=[(SINK, committable_to_plain(prepared))],
            operators={"open": [list(piece) for piece in prepared.open]},
        )
        checkpoints.commit(record)
        self._open = pieces_of(record)
        self._published.append(record)
        self._publish(record)
        checkpoints.collect(record)
        return record

    def _prepare(
        self, checkpoints: Checkpoints, last: EpochRecord | None, *, completes: bool
    ) -> FileCommittable:
        return self._output.prepare(
            0 if last is None else last.number + 1,
            "first" if last is None else last.lineage,
            checkpoints.generation,
            last,
            self._open,
            completes=completes,
        )


STEPS = st.sampled_from(["epoch", "epoch", "fold", "fail", "lose"])
DRIVERS = st.lists(
    st.fixed_dictionaries(
        {
            "plan": st.lists(STEPS, min_size=1, max_size=6),
            "retained": st.integers(1, 3),
            "back": st.sampled_from([0, 0, 1, 2]),
        }
    ),
    min_size=2,
    max_size=4,
)
BURSTS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40)), max_size=25)


class Location:
    """What is at a location, between two operations of anybody.

    Args:
        files: The files.
        base_path: Where the FileSink writes.
        goes_back: Whether some driver goes back to an earlier epoch.
    """

    def __init__(self, files: Files, base_path: str, *, goes_back: bool) -> None:
        self._base_path = base_path
        self._goes_back = goes_back
        self._epochs = StoredEpochs(MemoryStorage(files, "all", lambda: None))
        self._files = files
        self._seen: Files = {}
        self._last: EpochRecord | None = None
        self._pieces: list[StagedFile] = []
        self._completed: list[PublishedFile] = []
        self._forms: dict[tuple[str, int], str] = {}
        self._compared = 0

    def last(self) -> EpochRecord | None:
        # Most operations change nothing.
        if self._files != self._seen:
            self._seen = dict(self._files)
            numbers = self._epochs.numbers()
            self._last = last = self._epochs.get(numbers[-1]) if numbers else None
            self._pieces = pieces_of(last)
            self._completed = [] if last is None else completed_in(last)
        return self._last

    def check(self, published: list[EpochRecord]) -> None:
        """Make sure that a driver that starts now can go on, and that no epoch was published in two forms."""
        last = self.last()
        if last is not None:
            missing = last.files() - set(self._files)
            assert not missing, f"epoch {last.number} lost {missing}"
            self._check_output(last)
        if not self._goes_back and published:
            # Who published an epoch was the newest driver after its commit: later ones go on from it.
            assert last is not None
            assert last.number >= max(record.number for record in published)
        self._check_forms(published)

    def _check_output(self, last: EpochRecord) -> None:
        """Make sure that nothing is lost of what the sink wrote up to the last epoch."""
        for piece in self._pieces:
            assert piece.path in last.pieces or self._is_there(piece.path)
        for staged, target in self._completed:
            assert self._is_there(staged.path) or self._is_there(target)

    def _is_there(self, path: str) -> bool:
        return os.path.exists(f"{self._base_path}/{path}")

    def check_lines(self, last: EpochRecord) -> None:
        """Make sure that each epoch's line is in one file, visible or open, if nobody went back."""
        base = Path(self._base_path)
        paths = [*base.glob("part-*"), *(base / piece.path for piece in pieces_of(last))]
        lines = [int(line) for path in paths for line in path.read_text().split()]
        if not self._goes_back:
            assert sorted(lines) == list(range(last.number + 1))

    def _check_forms(self, published: list[EpochRecord]) -> None:
        for record in published[self._compared :]:
            digest = digest_of_record(record)
            assert self._forms.setdefault((record.lineage, record.number), digest) == digest
        self._compared = len(published)


@settings(max_examples=60)
@given(drivers=DRIVERS, bursts=BURSTS, kill=st.integers(0, 3))
def test_the_last_epoch_is_always_whole(
    drivers: list[dict[str, Any]], bursts: list[tuple[int, int]], kill: int
) -> None:
    run_together(drivers, bursts, kill)


def run_together(
    drivers: list[dict[str, Any]], bursts: list[tuple[int, int]], kill: int | None = None
) -> int:
    """Let drivers do so many operations in turn, and then come to their ends, all but one that is killed.

    Returns:
        How many operations there were in bursts.
    """
    files: Files = {}
    published: list[EpochRecord] = []
    done = 0
    with TemporaryDirectory() as base_path, pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_staging, "os", SteppingOs())
        patch.setattr(os, "fsync", lambda descriptor: None)
        location = Location(files, base_path, goes_back=any(told["back"] for told in drivers))
        made = [
            Driver(number, files, published, **told, base_path=base_path)
            for number, told in enumerate(drivers)
        ]
        by_location = {driver.storage.location: driver.storage for driver in made}
        patch.setattr("penstock.executors.driver.checkpoints.open_storage", by_location.__getitem__)
        try:
            for number, count in bursts:
                driver = made[number % len(made)]
                for _ in range(count):
                    done += not driver.has_ended
                    driver.go()
                    location.check(published)
            if kill is not None:
                made[kill % len(made)].kill()
            for driver in made:
                while not driver.has_ended:
                    driver.go()
                    location.check(published)
            check_the_next(files, published, location, by_location, base_path)
        finally:
            for driver in made:
                driver.kill()
        for driver in made:
            if driver.error is not None:
                raise driver.error
    return done


@pytest.mark.parametrize("back", [0, 1])
def test_one_may_be_stopped_anywhere_in_an_epoch_while_another_begins(back: int) -> None:
    first = {"plan": ["epoch", "epoch", "fold"], "retained": 2, "back": 0}
    second = {"plan": ["epoch"], "retained": 2, "back": back}
    begins = run_together([{**first, "plan": ["epoch", "epoch"]}], [(0, 200)])
    for stop in range(begins, begins + 12):
        run_together([first, second], [(0, stop), (1, 200)])


@pytest.mark.parametrize("stop", range(6, 36, 3))
def test_two_may_be_stopped_while_a_third_begins(stop: int) -> None:
    """The first in a commit, the second as it begins: both go on when the third has published."""
    told = {"plan": ["epoch", "epoch"], "retained": 1, "back": 0}
    in_a_commit = run_together([{**told, "plan": ["epoch"]}], [(0, 200)]) + 2
    run_together([told] * 3, [(0, in_a_commit), (1, stop), (2, 30), (1, 200)])


def test_one_may_begin_anew_while_another_goes_on() -> None:
    """It finds an epoch that is gone when it reads it: that is not as if there had been none."""
    first = {"plan": ["fold", "fail"], "retained": 1, "back": 0}
    second = {"plan": ["epoch"], "retained": 1, "back": 0}
    begins = run_together([{**first, "plan": ["fold"]}], [(0, 200)])
    for stop in range(begins, begins + 12):
        run_together([first, second], [(0, stop), (1, 200)])


def test_one_may_not_hear_of_its_commit_while_another_begins() -> None:
    """It finds the epoch in a restart, and must not publish it: the other one may have begun without it."""
    first = {"plan": ["epoch", "lose", "epoch"], "retained": 1, "back": 0}
    second = {"plan": ["epoch"], "retained": 1, "back": 0}
    in_a_commit = run_together([{**first, "plan": ["epoch"]}], [(0, 200)]) + 3
    for stop in range(10, 15):
        run_together([first, second], [(0, in_a_commit), (1, stop), (0, 200)])


def test_one_may_begin_anew_while_a_third_begins() -> None:
    """It finds the file of an era that is gone when it reads it."""
    first = {"plan": ["epoch"], "retained": 1, "back": 0}
    second = {**first, "plan": ["epoch", "fail"]}
    begins = run_together([first, first], [(0, 200), (1, 200)])
    begins -= run_together([first], [(0, 200)])
    for stop in range(begins, begins + 4):
        run_together([first, second, first], [(0, 200), (1, stop), (2, 200)])


def check_the_next(
    files: Files,
    published: list[EpochRecord],
    location: Location,
    by_location: dict[str, Any],
    base_path: str,
) -> None:
    """Make sure that another driver goes on, and leaves no more files than are needed."""
    before = location.last()
    driver = Driver(9, files, published, ["epoch", "fold"], 1, 0, base_path)
    by_location[driver.storage.location] = driver.storage
    while not driver.has_ended:
        driver.go()
        location.check(published)
    if driver.error is not None:
        raise driver.error
    after = location.last()
    assert after is not None
    assert after.number == (1 if before is None else before.number + 2)
    assert {name for name in files if name.startswith("state/")} == after.files()
    assert len([name for name in files if name.startswith("epochs/")]) == 1
    location.check_lines(after)
