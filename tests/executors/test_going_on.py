"""Jobs in this process that go on after a drain, or with sources they did not have."""

from __future__ import annotations

import itertools
import queue
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.executors.control import Gates, holding, taking
from tests.executors.old_checkpoints import make_old

from penstock.checkpoint.savepoint import read_savepoint
from penstock.checkpoint.storage import LocalStorage
from penstock.common import JobStatus, Time, WatermarkStrategy
from penstock.common.job_client import JobClient
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream, EpochCompleted, EpochListener
from penstock.datastream.connectors.base import Source
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import SavepointError, UnclaimedStateError, UserFunctionError
from penstock.testing import TestingSource, local_environment


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int | None) -> int:
        return value


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
NUMBERS = [[1], [2], [3], [4], [25]]


class Program:
    """Sums numbers, over all time and in windows of 10.

    Args:
        location: The job's checkpoint location.
        parallelism: That of the sums.
        backend: The state backend.
        **settings: Keys below `execution.state-recovery`.
    """

    def __init__(
        self, location: Path, *, parallelism: int = 1, backend: str = "hashmap", **settings: str
    ) -> None:
        self.env = env = local_environment()
        env.set_parallelism(1)
        env.get_checkpoint_config().set_checkpoint_storage_dir(str(location))
        configuration = env._configuration.set_string("state.backend.type", backend)
        for key, value in settings.items():
            configuration.set_string(f"execution.state-recovery.{key.replace('_', '-')}", value)
        self._parallelism = parallelism

    def numbers(
        self,
        epochs: list[list[int]] | None = None,
        uid: str = "numbers",
        *,
        is_planned: bool = False,
    ) -> DataStream:
        source: Source = TestingSource(NUMBERS if epochs is None else epochs)
        if is_planned:
            source = HybridSource.builder(source).build()
        return self.env.from_source(source, TIMES, uid).uid(uid)

    def sums(self, name: str, stream: DataStream) -> tuple[list[int], list[int]]:
        """Return the lists that the running sums and those of windows go to."""
        (sums, take), (windows, take_windows) = taking(name), taking(f"{name} windows")
        keyed = stream.key_by(lambda number: 0)
        parallelism = self._parallelism
        running = keyed.sum().set_parallelism(parallelism).uid("sum")
        running.add_sink(take).set_parallelism(1).uid("sink")
        of_windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        summed = of_windows.reduce(lambda one, other: one + other).uid("windows")
        summed.set_parallelism(parallelism).add_sink(take_windows).set_parallelism(1).uid("ends")
        return sums, windows


def held(name: str, location: Path, **options: Any) -> tuple[Program, Gates, DataStream]:
    gates, hold = holding(name)
    program = Program(location, **options)
    return program, gates, program.numbers().map(hold).uid("hold")


def stopped(gates: Gates, client: JobClient, folder: Path, *, drained: bool) -> str:
    """Stop a job after the epoch of 2, and return its savepoint."""
    gates.reach(2)
    future = client.stop_with_savepoint(drained, str(folder))
    while not client._job._gate._guests:  # type: ignore[attr-defined]
        pass
    gates.let_through(2, 3)
    path: str = future.result()
    return path


def with_one_that_ended(program: Program, stream: DataStream) -> DataStream:
    return stream.connect(program.numbers([[5]], "ended")).map(abs_of_two()).uid("both")


@pytest.fixture(scope="module", params=["hashmap", "rocksdb"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


Drained = tuple[Path, Path]
"""The folder of a job, and its savepoint below it."""
GoesOn = Callable[[Drained], Program]


def drained(backend: str, folder: Path, *, has_ended: bool) -> Drained:
    """Drain a job; other jobs go on from copies of what it left."""
    name = f"drained {backend} {has_ended}"
    program, gates, stream = held(name, folder / "job", backend=backend)
    sums, windows = program.sums(
        name, with_one_that_ended(program, stream) if has_ended else stream
    )
    path = stopped(gates, program.env.execute_async("job"), folder, drained=True)
    assert (sums[-1], windows) == ((8, [8]) if has_ended else (3, [3]))
    return folder, Path(path).relative_to(folder)


@pytest.fixture(scope="module")
def plain(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Drained:
    return drained(backend, tmp_path_factory.mktemp("plain"), has_ended=False)


@pytest.fixture(scope="module")
def with_ended(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Drained:
    return drained(backend, tmp_path_factory.mktemp("ended"), has_ended=True)


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("is_old", [True, False], ids=["by the version before", "by this one"])
class TestAfterADrain:
    @pytest.fixture
    def goes_on(
        self, is_old: bool, moves: bool, parallelism: int, backend: str, tmp_path: Path
    ) -> GoesOn:
        """Return what makes a program that goes on from a copy of what a job left, there or elsewhere."""

        def program(left: Drained) -> Program:
            shutil.copytree(left[0], tmp_path, dirs_exist_ok=True)
            savepoint = tmp_path / left[1]
            if is_old:
                make_old(savepoint if moves else tmp_path / "job")
            place = tmp_path / ("other" if moves else "job")
            settings = {"path": str(savepoint)} if moves else {}
            return Program(place, parallelism=parallelism, backend=backend, **settings)

        return program

    def test_all_records_come_and_event_time_begins_anew(
        self, name: str, goes_on: GoesOn, plain: Drained
    ) -> None:
        again = goes_on(plain)
        sums, windows = again.sums(name, again.numbers().map(abs).uid("hold"))
        again.env.execute("job")

        assert (sums, windows) == ([6, 10, 35], [7, 25])

    def test_sources_that_had_ended_before_hold_nothing_back(
        self, name: str, goes_on: GoesOn, with_ended: Drained
    ) -> None:
        again = goes_on(with_ended)
        stream = again.numbers().map(abs).uid("hold")
        sums, windows = again.sums(name, with_one_that_ended(again, stream))
        again.env.execute("job")

        assert (sums, windows) == ([11, 15, 40], [7, 25])


def abs_of_two() -> Any:
    from penstock.datastream.functions import CoMapFunction

    class Abs(CoMapFunction):
        def map1(self, value: int) -> int:
            return abs(value)

        map2 = map1

    return Abs()


class TestABoundedSource:
    @pytest.mark.filterwarnings("ignore:The bounded job 'job' dropped records")
    def test_that_is_added_is_read_from_its_beginning(self, name: str, tmp_path: Path) -> None:
        program, gates, stream = held(name, tmp_path / "job")
        program.sums(name, stream)
        stopped(gates, program.env.execute_async("job"), tmp_path, drained=False)

        program = Program(tmp_path / "job")
        collection = program.env.from_collection([100, 200]).uid("collection")
        sequence = program.env.from_source(
            NumberSequenceSource(1000, 1001), WatermarkStrategy.no_watermarks(), "sequence"
        ).uid("sequence")
        cut = program.numbers([[10], [20], [30], [40]], "cut")
        stream = program.numbers().map(abs).uid("hold")
        timed = stream.union(collection, sequence, cut).assign_timestamps_and_watermarks(TIMES)
        sums, _ = program.sums(name, timed)
        program.env.execute("job")

        assert len(sums) == 3 + 2 + 2 + 4
        assert sums[-1] == 35 + 300 + 2001 + 100

    def test_goes_on_where_it_was_beside_one_that_is_added(self, name: str, tmp_path: Path) -> None:
        program, gates, stream = held(name, tmp_path / "job")
        program.sums(name, stream.union(program.numbers([[5]], "ended")))
        stopped(gates, program.env.execute_async("job"), tmp_path, drained=False)

        program = Program(tmp_path / "job")
        stream = program.numbers([[7], [8]], "added").union(program.numbers([[5]], "ended"))
        sums, _ = program.sums(name, stream.union(program.numbers().map(abs).uid("hold")))
        program.env.execute("job")

        assert sums[-1] == 8 + 32 + 15
        assert len(sums) == 3 + 2

    def test_has_ended_though_none_is_left(self, name: str, tmp_path: Path) -> None:
        program, gates, stream = held(name, tmp_path / "job")
        _, windows = program.sums(name, program.numbers([[5]], "ended").union(stream))
        path = stopped(gates, program.env.execute_async("job"), tmp_path, drained=False)
        assert windows == []

        refused = Program(tmp_path / "job")
        refused.sums(name, refused.numbers([[5]], "ended"))
        with pytest.raises(UnclaimedStateError, match=r"'Source: numbers' .uid 'numbers'"):
            refused.env.execute("job")

        program = Program(tmp_path / "new", path=path, ignore_unclaimed_state="true")
        sums, windows = program.sums(name, program.numbers([[5]], "ended"))
        program.env.execute("job")
        assert (sums, windows) == ([], [8])


def test_what_is_left_of_a_job_may_be_one_epoch(name: str, tmp_path: Path) -> None:
    program, gates, stream = held(name, tmp_path / "job")
    program.sums(name, stream)
    path = stopped(gates, program.env.execute_async("job"), tmp_path, drained=False)

    starts: list[dict[str, Any]] = [{"path": path}, {}]
    for start in starts:
        program = Program(tmp_path / ("new" if start else "job"), **start)
        sums, windows = program.sums(name, program.numbers([[1], [2], [3]]).map(abs).uid("hold"))
        program.env.execute("job")
        assert (sums, windows) == ([6], [6])


class TestASourceWithoutAUid:
    def test_is_not_read_again_where_a_branch_is_added(self, name: str, tmp_path: Path) -> None:
        def build(*, branch: bool) -> tuple[Program, list[int]]:
            program = Program(tmp_path)
            (found, take), (_, take_branch) = taking(name), taking(f"{name} branch")
            source = TestingSource([[1], [2], [3]])
            numbers = program.env.from_source(source, TIMES, "numbers")
            mapped = numbers.map(failing_once) if not branch else numbers.map(abs)
            mapped.add_sink(take)
            if branch:
                numbers.map(abs).add_sink(take_branch)
            return program, found

        program, found = build(branch=False)
        with pytest.raises(UserFunctionError):
            program.env.execute("job")
        assert found == [1]

        program, found = build(branch=True)
        with pytest.raises(
            UnclaimedStateError, match=r"'Source: numbers' .without a uid"
        ) as raised:
            program.env.execute("job")
        assert "uid()" in str(raised.value.hint)
        assert found == []


def failing_once(number: int) -> int:
    if number == 2:
        raise ValueError("not yet")
    return number


class Ending(EpochListener):
    """Ends the job in some way once an epoch is complete, before which nobody knows how far it came."""

    def __init__(self, epochs: int, way: str, folder: Path) -> None:
        self._left = epochs
        self._way = way
        self._folder = str(folder)
        self.client: queue.Queue[JobClient] = queue.Queue()
        self.over: list[Any] = []

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        self._left -= 1
        if self._left != 0:
            return
        client = self.client.get()
        if self._way == "cancel":
            self.over.append(client.cancel())
        elif self._way == "stop":
            self.over.append(client.stop())
        else:
            drains = self._way == "drain"
            self.over.append(client.stop_with_savepoint(drains, self._folder))

    def savepoint(self) -> str | None:
        """Wait for the end, and return the savepoint, if there is one."""
        for future in self.over:
            try:
                found = future.result()
            except SavepointError:
                continue  # the job was faster
            return str(found) if self._way in ("drain", "savepoint") else None
        return None


def marked(name: str) -> Callable[[int], tuple[str, int]]:
    return lambda number: (name, number)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_lost_or_doubled_however_a_job_is_ended_and_changed(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    names = "abcd"
    epochs = {name: chance.randint(2, 12) for name in names}
    location, path = tmp_path / "0", None
    found: list[Any] = []
    known = ["a"]
    for stage in itertools.count(1):
        known += [name for name in names if name not in known and chance.random() < 0.5]

        chance.shuffle(known)
        start: dict[str, Any] = {} if path is None else {"path": path}
        program = Program(
            location,
            backend=chance.choice(["hashmap", "rocksdb"]),
            **start,
        )
        streams = []
        for name in known:
            cuts = [[number] for number in range(epochs[name])]
            numbers = program.numbers(cuts, name, is_planned=name in "bc")
            streams.append(numbers.map(marked(name)).uid(f"mark {name}"))
        union = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
        sums = union.key_by(lambda pair: pair[0]).sum(1).uid("sums")
        sums.set_parallelism(chance.randint(1, 3))
        collected, take = taking(f"{seed}")
        sums.add_sink(take).set_parallelism(1).uid("sink")
        way = chance.choice(["cancel", "stop", "drain", "savepoint"])
        ending = Ending(chance.randint(1, 4), way, tmp_path / f"savepoints-{stage}")
        program.env.add_epoch_listener(ending)
        client = program.env.execute_async()
        ending.client.put(client)
        client._job._done.wait(30)  # type: ignore[attr-defined]
        path = ending.savepoint()
        found += collected
        if client.get_job_status().result() is JobStatus.FINISHED and not ending.over:
            break
        if client.progress().epochs and read_ended(location):
            break
        if path is not None and chance.random() < 0.5:
            location = tmp_path / f"{stage}"
        else:
            path = None

    expected = [
        (name, total) for name in known for total in itertools.accumulate(range(epochs[name]))
    ]
    assert sorted(found) == sorted(expected)


def read_ended(location: Path) -> bool:
    """Whether the job at a location has read all of its input."""
    record = read_savepoint(LocalStorage(str(location)))
    return record.is_last
