"""Runs that read what is there and end: one after the other they give what one endless run gives."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.semantics.conftest import NewEnvironment, environment

from penstock.common import Duration, Encoder, JobStatus, Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    AsyncDataStream,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
)
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.errors import NoCheckpointLocationError

pytestmark = pytest.mark.timeout(300)

Step = Mapping[str, list[int]]
Lines = Callable[[StreamExecutionEnvironment, Path, str], DataStream]
Readers = Mapping[str, Lines]

STEP = 10
"""The event time that each step of the input spans."""
STEPS: list[Step] = [
    {"many": [3, 1, 1, 7], "few": []},
    {"many": [12, 19], "few": [11]},
    {"many": [], "few": []},
    {"many": [29, 25], "few": []},
    {"many": [31], "few": [32, 30]},
    {"many": [40, 44, 46], "few": [48]},
]


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: tuple[int, int], record_timestamp: int | None) -> int:
        return value[1]


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
NONE = WatermarkStrategy.no_watermarks()


class Later(KeyedProcessFunction):
    """Gives each record once event time is 15 ahead of it."""

    def process_element(self, value: tuple[int, int], ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value[1] + 15)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[str]:
        yield f"timer {ctx.get_current_key()} {timestamp}"


async def twice(value: tuple[int, int]) -> list[str]:
    return [f"call {value[0]} {value[1] * 2}"]


def monitored(env: StreamExecutionEnvironment, folder: Path, name: str) -> DataStream:
    """Lines of files that penstock finds by itself."""
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder)
    often = source.monitor_continuously(Duration.of_millis(1)).build()
    return env.from_source(often, NONE, name).uid(name)


def read_by_spark(env: StreamExecutionEnvironment, folder: Path, name: str) -> DataStream:
    """Lines of files that Spark finds."""
    from pyspark.sql import SparkSession

    frame = SparkSession.active().readStream.text(str(folder))
    return env.from_data_frame(frame).uid(name).map(lambda row: row.value)


@pytest.fixture
def readers(executor: str) -> Readers:
    """How the two sources are read: on Spark, one by Spark."""
    return {"many": read_by_spark if executor == "spark" else monitored, "few": monitored}


class Shop:
    """The input, the output and the checkpoints of a job, below a folder."""

    def __init__(
        self, folder: Path, new_environment: NewEnvironment, readers: Readers, backend: str
    ) -> None:
        self.folder = folder
        self._new_environment = new_environment
        self._readers = readers
        self._settings = {"state__backend__type": backend}
        self._files = 0
        for name in (*readers, "out"):
            (folder / name).mkdir(parents=True)

    def add(self, step: Step) -> None:
        for name, times in step.items():
            if times:
                self._files += 1
                draft = self.folder / f"draft-{self._files}"
                draft.write_text("".join(f"{time}\n" for time in times))
                draft.rename(self.folder / name / f"{self._files:04d}")

    def program(self, **settings: Any) -> StreamExecutionEnvironment:
        location = {"execution__checkpointing__dir": self.folder / "job"}
        env = self._new_environment(2, **location, **self._settings, **settings)
        streams = {
            name: lines(env, self.folder / name, name)
            .map(lambda line: (int(line) % 2, int(line)))
            .assign_timestamps_and_watermarks(TIMES)
            .uid(f"{name}-times")
            for name, lines in self._readers.items()
        }
        both = streams["many"].union(streams["few"])
        keyed = both.key_by(lambda pair: pair[0])
        windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(STEP)))
        sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(5)))
        # Files of one epoch come in any order: how many there were of each key depends on none.
        ones = streams["many"].map(lambda pair: (pair[0], 1)).key_by(lambda pair: pair[0])
        results = [
            windows.sum(1).uid("windows").map(lambda pair: f"window {pair}"),
            sessions.sum(1).uid("sessions").map(lambda pair: f"session {pair}"),
            keyed.process(Later()).uid("timers"),
            ones.sum(1).uid("counts").map(lambda pair: f"count {pair}"),
            AsyncDataStream.unordered_wait(both, twice, Time.seconds(100)).uid("calls"),
        ]
        sink = (
            FileSink.for_row_format(str(self.folder / "out"), Encoder.simple_string_encoder())
            .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
            .build()
        )
        results[0].union(*results[1:]).sink_to(sink).uid("out")
        return env

    def run(self) -> None:
        client = self.program(execution__trigger="available-now").execute_async("shop")
        client.wait()
        assert client.get_job_status().result() is JobStatus.FINISHED

    def run_without_end(self, steps: Sequence[Step]) -> None:
        """Add each step once the one before has been read, and then stop."""
        client = self.program().execute_async("shop")
        pause, read = threading.Event(), 0
        for step in steps:
            self.add(step)
            read += sum(map(len, step.values()))
            while client.progress().records_in < read:
                assert not client._job._done.wait(0.002)  # type: ignore[attr-defined]
                pause.wait(0.002)
        client.stop().result()

    def results(self) -> Counter[str]:
        files = (self.folder / "out").glob("[!.]*/[!.]*")
        return Counter(line for path in files for line in path.read_text().splitlines())


@pytest.fixture(params=["hashmap", "rocksdb"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


NewShop = Callable[[Path], Shop]


@pytest.fixture
def new_shop(new_environment: NewEnvironment, readers: Readers, backend: str) -> NewShop:
    return lambda folder: Shop(folder, new_environment, readers, backend)


def runs(shop: Shop, steps: Sequence[Step], cuts: set[int]) -> Counter[str]:
    """Run the program after some of the steps, and at last, and return what came of it."""
    for number, step in enumerate(steps):
        shop.add(step)
        if number in cuts or number == len(steps) - 1:
            shop.run()
    return shop.results()


def test_runs_give_what_one_endless_run_gives(new_shop: NewShop, tmp_path: Path) -> None:
    one = new_shop(tmp_path / "one")
    one.run_without_end(STEPS)
    expected = one.results()
    kinds = Counter(line.split()[0] for line in expected.elements())
    assert kinds == {"window": 6, "session": 5, "timer": 9, "count": 12, "call": 16}

    assert runs(new_shop(tmp_path / "each"), STEPS, set(range(len(STEPS)))) == expected
    assert runs(new_shop(tmp_path / "some"), STEPS, {1, 3}) == expected


STEP_TIMES = st.lists(st.integers(0, STEP - 1), max_size=4)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pairs=st.lists(st.tuples(STEP_TIMES, STEP_TIMES), min_size=1, max_size=6),
    cuts=st.sets(st.integers(0, 4)),
)
def test_wherever_runs_are_cut(
    pairs: list[tuple[list[int], list[int]]],
    cuts: set[int],
    backend: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    steps = [
        {
            name: [number * STEP + time for time in times]
            for name, times in zip(("many", "few"), pair, strict=True)
        }
        for number, pair in enumerate(pairs)
    ]

    def new_local(parallelism: int, **settings: Any) -> StreamExecutionEnvironment:
        return environment("local", None, parallelism, settings)

    def shop(name: str) -> Shop:
        readers = {"many": monitored, "few": monitored}
        return Shop(folder / name, new_local, readers, backend)

    folder = tmp_path_factory.mktemp("shop")
    one = shop("one")
    one.run_without_end(steps)

    assert runs(shop("cut"), steps, cuts) == one.results()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_run_that_finds_nothing_new_writes_nothing(new_shop: NewShop, tmp_path: Path) -> None:
    shop = new_shop(tmp_path)
    shop.run()
    for step in STEPS[:3]:
        shop.add(step)
    shop.run()
    records, results = files(tmp_path / "job" / "epochs"), shop.results()
    assert records

    shop.run()

    assert (files(tmp_path / "job" / "epochs"), shop.results()) == (records, results)


def test_a_run_may_read_all_there_will_ever_be(new_shop: NewShop, tmp_path: Path) -> None:
    """Then all windows and event timers fire, and no run follows."""
    shop = new_shop(tmp_path)
    for step in STEPS:
        shop.add(step)
        shop.run()
    open_still = shop.results()
    last = {"execution__trigger": "available-now", "execution__epoch__end_of_input": "true"}

    shop.program(**last).execute("shop")

    closed = shop.results() - open_still
    kinds = Counter(line.split()[0] for line in closed.elements())
    assert kinds == {"window": 1, "session": 1, "timer": 6}
    shop.add({"many": [99]})
    shop.run()
    assert shop.results() == open_still + closed


class Feeding(MapFunction):
    """Adds a file to a folder for each record, so that there is always more to come."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def map(self, value: str) -> str:
        (self._folder / f"{int(value) + 1:04d}").write_text(f"{int(value) + 1}\n")
        return value


@pytest.mark.parametrize("name", ["many", "few"])
def test_what_comes_while_it_runs_is_for_the_next_run(
    new_environment: NewEnvironment, readers: Readers, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "0000").write_text("0\n")
    found = []
    for _ in range(3):
        env = new_environment(
            1,
            execution__trigger="available-now",
            execution__checkpointing__dir=tmp_path / "job",
            execution__epoch__interval="1 d",
        )
        lines = readers[name](env, folder, "lines").map(Feeding(folder)).uid("feeding")
        found.append(list(lines.execute_and_collect()))
    assert found == [["0"], ["1"], ["2"]]


def test_the_last_line_says_that_the_next_start_goes_on(
    new_shop: NewShop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = new_shop(tmp_path)
    shop.add(STEPS[0])
    with caplog.at_level(logging.INFO, "penstock"):
        shop.run()
    assert "shop: finished after" in caplog.text
    assert f"{tmp_path}/job, where the next start goes on" in caplog.text


def test_without_a_checkpoint_location_it_is_refused(new_environment: NewEnvironment) -> None:
    env = new_environment(execution__trigger="available-now")
    monitored(env, Path("/nowhere"), "lines").print()
    with pytest.raises(NoCheckpointLocationError, match=r"execution\.checkpointing\.dir"):
        env.execute()


def test_a_bounded_program_needs_none(new_environment: NewEnvironment) -> None:
    env = new_environment(execution__trigger="available-now")
    assert list(env.from_collection([1]).execute_and_collect()) == [1]
