"""Jobs that go on with other windows under one uid: what is open is found again, or the start is refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from tests.executors.control import holding
from tests.executors.rescaling import TIMES, input_of, new_environment, run

from penstock.checkpoint.epoch_record import EpochRecord, decode, digest_of, encode
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Time, WatermarkStrategy
from penstock.datastream import AggregateFunction, DataStream
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.errors import MaxParallelismChangedError, WindowsChangedError
from penstock.executors.driver.compiled_job import compile_job
from penstock.executors.driver.recovery.restoring import restored
from penstock.testing import TestingSource

CUTS: Final = [
    [("a", 1), ("a", 3), ("b", 4)],
    [("a", 6), ("b", 7)],
    [("a", 12), ("b", 13)],
    [("a", 25), ("b", 26), ("a", 40), ("b", 41)],
]
OPEN: Final = {record for cut in CUTS[:2] for record in cut}
"""The records of windows of event time that are open when the program is changed."""


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return 5


class Own(TumblingEventTimeWindows):
    """An assigner of the program's, whose windows are those of its base class."""


class Records(AggregateFunction):
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        return [*accumulator, value]

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator


def seen(key: Any, window: Any, records: list[Any]) -> Iterator[Any]:
    yield str(window), records


def reduced(windows: Any) -> DataStream:
    """Reduces records to pairs of the key and all times."""
    return windows.reduce(lambda one, other: (one[0], f"{one[1]} {other[1]}"), seen)  # type: ignore[no-any-return]


ms: Final = Time.milliseconds
TUMBLING, LONGER = TumblingEventTimeWindows.of(ms(10)), TumblingEventTimeWindows.of(ms(20))
SLIDING, FINER = (SlidingEventTimeWindows.of(ms(size), ms(4)) for size in (12, 16))
SESSIONS, DYNAMIC = (
    EventTimeSessionWindows.with_gap(ms(5)),
    DynamicEventTimeSessionWindows.with_dynamic_gap(Gap()),
)
PROCESSING = TumblingProcessingTimeWindows.of(ms(10))
# No pause of the machine is as long: a session that is late when it grows fails the job.
PROCESSING_SESSIONS = ProcessingTimeSessionWindows.with_gap(ms(100_000))
BY_TWO = PurgingTrigger.of(CountTrigger.of(2))

Build = Callable[[Any], DataStream]

PROGRAMS: Final[dict[str, dict[str, Build]]] = {
    "records, by themselves": {
        "tumbling": lambda keyed: keyed.window(TUMBLING).apply(seen),
        "longer": lambda keyed: keyed.window(LONGER).apply(seen),
        "own": lambda keyed: keyed.window(Own(10, 0)).apply(seen),
        "sliding": lambda keyed: keyed.window(SLIDING).apply(seen),
        "processed": lambda keyed: keyed.window(TUMBLING).apply(lambda *given: [*seen(*given)]),
        "later": lambda keyed: keyed.window(TUMBLING).allowed_lateness(5).apply(seen),
    },
    "records for an evictor": {
        "evicting": lambda keyed: keyed.window(TUMBLING).evictor(CountEvictor.of(9)).apply(seen),
        "evicting and reduced": lambda keyed: reduced(
            keyed.window(LONGER).evictor(CountEvictor.of(9))
        ),
    },
    "reduced, by themselves": {
        "reduced": lambda keyed: reduced(keyed.window(TUMBLING)),
        "sliding, reduced": lambda keyed: keyed.window(SLIDING).reduce(
            lambda one, other: (one[0], f"{one[1]} {other[1]}"), seen, share_panes=False
        ),
    },
    "panes": {"panes": lambda keyed: reduced(keyed.window(SLIDING))},
    "other panes": {"finer panes": lambda keyed: reduced(keyed.window(FINER))},
    "panes of accumulators": {
        "panes, aggregated": lambda keyed: keyed.window(SLIDING).aggregate(
            Records(), seen, share_panes=True
        )
    },
    "aggregated": {"aggregated": lambda keyed: keyed.window(TUMBLING).aggregate(Records(), seen)},
    "sessions": {
        "sessions": lambda keyed: keyed.window(SESSIONS).apply(seen),
        "sessions, later": lambda keyed: (
            keyed.window(EventTimeSessionWindows.with_gap(ms(7))).allowed_lateness(5).apply(seen)
        ),
    },
    "sessions, reduced": {"sessions, reduced": lambda keyed: reduced(keyed.window(SESSIONS))},
    "sessions, aggregated": {
        "sessions, aggregated": lambda keyed: keyed.window(SESSIONS).aggregate(Records(), seen)
    },
    "merging": {
        "dynamic": lambda keyed: keyed.window(DYNAMIC).apply(seen),
    },
    "merging for an evictor": {
        "sessions, evicting": lambda keyed: (
            keyed.window(SESSIONS).evictor(CountEvictor.of(9)).apply(seen)
        )
    },
}
"""Programs by what is alike in them: one of a group goes on from another of it, and from no other."""
GROUP_OF: Final = {name: group for group, programs in PROGRAMS.items() for name in programs}

NOT_OF_EVENT_TIME: Final[dict[str, dict[str, Build]]] = {
    "processing": {
        "processing": lambda keyed: keyed.window(PROCESSING).apply(seen),
        "processing, sliding": lambda keyed: keyed.window(
            SlidingProcessingTimeWindows.of(ms(20), ms(5))
        ).apply(seen),
    },
    "processing, merging": {
        "processing, sessions": lambda keyed: keyed.window(PROCESSING_SESSIONS).apply(seen)
    },
    "global": {
        "global": lambda keyed: keyed.window(GlobalWindows.create()).trigger(BY_TWO).apply(seen),
        "global, by three": lambda keyed: (
            keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(3)).apply(seen)
        ),
        "at the end": lambda keyed: keyed.window(
            GlobalWindows.create_with_end_of_stream_trigger()
        ).apply(seen),
    },
    "three": {"three": lambda keyed: keyed.count_window(3).apply(seen)},
    "two": {"two": lambda keyed: keyed.count_window(2).apply(seen)},
    "three, sliding": {"three, sliding": lambda keyed: keyed.count_window(3, 1).apply(seen)},
}
BUILD: Final[dict[str, Build]] = {
    name: build
    for groups in (PROGRAMS, NOT_OF_EVENT_TIME)
    for programs in groups.values()
    for name, build in programs.items()
}
GROUP_OF.update({name: group for group, found in NOT_OF_EVENT_TIME.items() for name in found})
NAMES: Final = list(BUILD)


def started(
    name: str | Build,
    location: Path,
    until: int | None = None,
    backend: str = "hashmap",
    uid: str = "windows",
    **settings: str,
) -> list[Any]:
    environment = new_environment(2, location, backend, **settings)
    return run(environment, built(environment, name, until).uid(uid))


def built(environment: Any, name: str | Build, until: int | None = None) -> DataStream:
    records = input_of(environment, CUTS, until).assign_timestamps_and_watermarks(TIMES)
    keyed = records.uid("times").key_by(lambda record: record[0])
    build = BUILD[name] if isinstance(name, str) else name
    return build(keyed)


def last_epoch(location: Path) -> EpochRecord:
    epochs = StoredEpochs(LocalStorage(str(location)))
    record = epochs.get(epochs.numbers()[-1])
    assert record is not None
    return record


Stopped = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """Returns the location of a job that died with its windows open; it has to stay as it is."""
    written: dict[tuple[str, str], Path] = {}

    def location(name: str, backend: str) -> Path:
        if (name, backend) not in written:
            written[name, backend] = place = tmp_path_factory.mktemp("stopped")
            started(name, place, 2, backend)
        return written[name, backend]

    return location


@pytest.fixture(scope="module")
def stopped(original: Stopped, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """Returns a copy of the location of a job that died with its windows open."""

    def copy(name: str, backend: str) -> Path:
        copied = tmp_path_factory.mktemp("copy")
        return Path(shutil.copytree(original(name, backend), copied, dirs_exist_ok=True))

    return copy


def keeps_all(found: list[Any]) -> bool:
    """Whether all records that were in open windows came out of some."""
    text = repr(found)
    return all(re.search(rf"'{key}', '?[\d ]*\b{time}\b", text) for key, time in OPEN)


@pytest.mark.parametrize("after", NAMES)
def test_goes_on_from_those_of_its_group(after: str, stopped: Stopped) -> None:
    for before in NAMES:
        if GROUP_OF[before] == GROUP_OF[after]:
            found = started(after, stopped(before, "hashmap"))
            assert before in NOT_OF_EVENT_TIME or keeps_all(found) or "processing" in before


def test_what_a_start_takes_up_is_refused_of_all_other_groups(
    original: Stopped, tmp_path: Path
) -> None:
    """One of each two that are neighbours is started: see `test_on_both_backends`."""
    records = {name: last_epoch(original(name, "hashmap")) for name in NAMES}
    for after in NAMES:
        environment = new_environment(2, tmp_path)
        built(environment, after).uid("windows").print()
        program = compile_job(environment.create_job_request(), "job", lambda _: False).program
        for before, record in records.items():
            if GROUP_OF[before] == GROUP_OF[after]:
                restored(record, program)
            else:
                with pytest.raises(WindowsChangedError):
                    restored(record, program)


@pytest.mark.parametrize(
    ("before", "after", "backend"),
    [
        (before, after, backend)
        for before, after in pairwise([*NAMES, NAMES[0]])
        for backend in ("hashmap", "rocksdb")
        # The others are among those of `test_goes_on_from_those_of_its_group`.
        if GROUP_OF[before] != GROUP_OF[after] or backend == "rocksdb"
    ],
)
def test_on_both_backends(before: str, after: str, backend: str, stopped: Stopped) -> None:
    location = stopped(before, backend)
    if GROUP_OF[before] == GROUP_OF[after]:
        started(after, location, backend=backend)
        return
    with pytest.raises(WindowsChangedError) as raised:
        started(after, location, backend=backend)
    assert "(uid 'windows') has" in str(raised.value)
    assert "ignore-unclaimed-state" in str(raised.value.hint)
    # The refusal has left all as it was.
    started(before, location, backend=backend)


def test_another_uid_lets_other_windows_begin_anew(stopped: Stopped) -> None:
    drops: dict[str, Any] = {"execution__state_recovery__ignore_unclaimed_state": "true"}
    location = stopped("tumbling", "hashmap")
    with pytest.raises(WindowsChangedError):
        started("sessions", location, **drops)

    found = started("sessions", location, uid="others", **drops)

    assert ("TimeWindow(start=12, end=17)", [("a", 12)]) in found


def test_windows_are_named_where_something_else_took_their_uid(stopped: Stopped) -> None:
    def totals(keyed: Any) -> Any:
        return keyed.reduce(lambda one, other: other)

    with pytest.raises(WindowsChangedError, match="In the program it has no windows"):
        started(totals, stopped("tumbling", "hashmap"))


def test_of_all_records(tmp_path: Path) -> None:
    def of_all(assigner: Any) -> Build:
        return lambda keyed: keyed.window_all(assigner).apply(
            lambda window, records: seen(0, window, records)
        )

    started(of_all(TUMBLING), tmp_path, 2)

    with pytest.raises(WindowsChangedError, match=r"each by itself.* as windows that merge"):
        started(of_all(DYNAMIC), tmp_path)
    with pytest.raises(MaxParallelismChangedError):
        started("tumbling", tmp_path)
    assert keeps_all(started(of_all(LONGER), tmp_path))


def test_from_a_savepoint(stopped: Stopped, tmp_path: Path) -> None:
    path: dict[str, Any] = {"execution__state_recovery__path": str(stopped("sessions", "hashmap"))}
    with pytest.raises(WindowsChangedError, match=r"sessions with one gap.* each by itself"):
        started("tumbling", tmp_path / "new", **path)


def test_sizes_stay_what_they_were_for_open_windows(stopped: Stopped) -> None:
    found = started("longer", stopped("tumbling", "hashmap"))

    assert ("TimeWindow(start=0, end=10)", [("a", 1), ("a", 3), ("a", 6)]) in found
    assert ("TimeWindow(start=0, end=20)", [("a", 12)]) in found


def test_checkpoints_that_do_not_say_which_windows_they_have_are_taken_up(stopped: Stopped) -> None:
    location = stopped("tumbling", "hashmap")
    for file in (location / "epochs").iterdir():
        record = decode(file.read_bytes(), str(file))
        _, _, body = encode(record).partition(b"\n")
        earlier = re.sub(rb',"windows of event time[^"]*"(?=\])', b"", body)
        assert earlier != body
        file.write_bytes(digest_of(earlier).encode() + b"\n" + earlier)

    found = started("longer", location, 3)
    known = StoredEpochs(LocalStorage(str(location))).get(2)
    assert known is not None
    windows = [
        operator.kept_windows for vertex in known.job.vertices for operator in vertex.operators
    ]
    assert "windows of event time, each by itself, with their records" in windows
    assert keeps_all(found + started("longer", location))


def test_a_drain_has_fired_windows_of_event_time(tmp_path: Path) -> None:
    environment = new_environment(2, tmp_path / "job")
    gates, hold = holding("drained windows")
    source = TestingSource([[("a", 1)], [("a", 2)], [("a", 103)]])

    def numbers(environment: Any, on_record: Any) -> Any:
        records = environment.from_source(source, WatermarkStrategy.no_watermarks(), "input")
        timed = records.uid("input").map(on_record).assign_timestamps_and_watermarks(TIMES)
        return timed.uid("times").key_by(lambda record: record[0])

    keyed = numbers(environment, lambda record: (hold(record[1]), record)[1])
    found: list[Any] = []
    keyed.window(TUMBLING).apply(seen).uid("windows").add_sink(found.append).uid("sink")
    client = environment.execute_async("drained")
    gates.reach(1)
    future = client.stop_with_savepoint(
        advance_to_end_of_event_time=True, savepoint_directory=str(tmp_path)
    )
    while not client._job._gate._guests:  # type: ignore[attr-defined]
        pass
    gates.let_through(1, 2)
    path = future.result()

    again = new_environment(2, tmp_path / "new", execution__state_recovery__path=path)
    later = run(
        again, numbers(again, lambda record: record).window(SESSIONS).apply(seen).uid("windows")
    )
    assert [records for _, records in later if ("a", 103) in records] == [[("a", 103)]]
