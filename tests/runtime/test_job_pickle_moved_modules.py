"""What was kept when modules of penstock had other names is read, and a job goes on from it."""

from __future__ import annotations

import sys
from base64 import b64decode
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock.common import Configuration, Duration, RestartStrategies, Time, WatermarkStrategy
from penstock.common.rows.data_frame_row import row_factory
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import UserFunctionError
from penstock.inspection.opaque import is_opaque, without_classes
from penstock.runtime.exchange.elements import Watermark, WatermarkStatus
from penstock.runtime.exchange.watermarks import event_time
from penstock.runtime.job_pickle import dumps, job_classes, loads, module_now
from penstock.runtime.keys.window_values import CountWindow, GlobalWindow, TimeWindow
from penstock.runtime.state.frames import read_pickles
from penstock.runtime.windows.evictors import TimestampedValue
from penstock.runtime.windows.triggers.trigger import TriggerResult
from penstock.testing import TestingSource

_Split = event_time._Split

KEPT = b64decode(
    "gAWVIAIAAAAAAABdlCiMIXBlbnN0b2NrLnJ1bnRpbWUud2luZG93aW5nLndpbmRvd5SMClRpbWVXaW5kb3eUk5RLAEsK"
    "hpSBlGgBjAtDb3VudFdpbmRvd5STlEsDhZSBlGgBjBBHbG9iYWxXaW5kb3cuZ2V0lJOUKVKUjCJwZW5zdG9jay5ydW50"
    "aW1lLndpbmRvd2luZy5ldmljdG9ylIwQVGltZXN0YW1wZWRWYWx1ZZSTlIwBYZRLBYaUgZSMInBlbnN0b2NrLnJ1bnRp"
    "bWUud2luZG93aW5nLnRyaWdnZXKUjA1UcmlnZ2VyUmVzdWx0lJOUiImGlIWUUpSMHnBlbnN0b2NrLmNvbW1vbi5kYXRh"
    "X2ZyYW1lX3Jvd5SMC3Jvd19mYWN0b3J5lJOUjAJpZJSMBG5hbWWUhpSFlFKUSwFoEIaUhZRSlIwZcGVuc3RvY2sucnVu"
    "dGltZS5lbGVtZW50c5SMCVdhdGVybWFya5STlEsHhZSBlGgkjA9XYXRlcm1hcmtTdGF0dXOUk5SMBGlkbGWUhZRSlIwm"
    "cGVuc3RvY2sucnVudGltZS53YXRlcm1hcmtzLmV2ZW50X3RpbWWUjAZfU3BsaXSUk5QpgZROfZQojAlnZW5lcmF0b3KU"
    "TowJd2F0ZXJtYXJrlEsIjAdpc19pZGxllImMCXRpbWVkX291dJSJjAtlbXB0eV9zaW5jZZROjAhoYXNfZGF0YZSJdYaU"
    "YmUu"
)
"""What penstock pickled before its modules were moved."""

VALUES = [
    TimeWindow(0, 10),
    CountWindow(3),
    GlobalWindow.get(),
    TimestampedValue("a", 5),
    TriggerResult.FIRE,
    row_factory(["id", "name"])((1, "a")),
    Watermark(7),
    WatermarkStatus.IDLE,
    _Split(None, 8),
]

OLD = {
    "penstock.runtime.windowing.window": TimeWindow,
    "penstock.runtime.watermarks.event_time": _Split,
}


@pytest.mark.parametrize("renamed", [{}, {"other.Old": "other.New"}])
def test_values_are_what_they_were(renamed: dict[str, str]) -> None:
    with job_classes({}, renamed):
        found = loads(KEPT)
    assert found == VALUES
    assert [*map(type, found)] == [*map(type, VALUES)]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("penstock.common.basic_typeinfo", "BasicTypeInfo"),
        ("penstock.common.composite_typeinfo", "RowTypeInfo"),
        ("penstock.common.configuration", "Configuration"),
        ("penstock.common.field_reader", "FieldReader"),
        ("penstock.common.memory_size", "MemorySize"),
        ("penstock.common.time_typeinfo", "DateTypeInfo"),
        ("penstock.common.typeinfo", "Types"),
        ("penstock.datastream.aggregates", "Sum"),
        ("penstock.datastream.connectors.file_committer", "FileCommittable"),
        ("penstock.datastream.connectors.file_staging", "PublishedFile"),
        ("penstock.datastream.connectors.file_staging", "StagedFile"),
        ("penstock.runtime.time_domain", "TimeDomain"),
        ("penstock.runtime.windowing.assigner", "WindowAssigner"),
        ("penstock.runtime.windowing.count_trigger", "CountTrigger"),
        ("penstock.runtime.windowing.count_windows", "CountSlidingWindowAssigner"),
        ("penstock.runtime.windowing.evictors", "TimeEvictor"),
        ("penstock.runtime.windowing.session", "EventTimeSessionWindows"),
        ("penstock.runtime.windowing.stagger", "WindowStagger"),
        ("penstock.runtime.windowing.timeout_trigger", "ProcessingTimeoutTrigger"),
        ("penstock.runtime.windowing.tumbling", "TumblingEventTimeWindows"),
    ],
)
def test_what_a_program_may_keep_is_found_by_the_name_it_had(module: str, name: str) -> None:
    assert loads(f"c{module}\n{name}\n.".encode()).__name__ == name


def test_modules_are_where_they_are_said_to_be() -> None:
    for value in VALUES:
        assert module_now(type(value).__module__) == type(value).__module__
    assert loads(dumps(VALUES)) == VALUES


def test_values_are_plain_data_where_no_classes_are_imported() -> None:
    with without_classes(import_classes=False):
        (found,) = read_pickles(KEPT)
    assert found[:6] == VALUES[:6]
    assert [is_opaque(value) for value in found] == [False] * 6 + [True] * 3


def _one_by_one(stops: bool) -> Any:
    def checked(value: tuple[str, int]) -> tuple[str, int]:
        if stops and value[1] == 25:
            raise ValueError("stop")
        return value

    return checked


def run(location: Path, backend: str, *, stops: bool) -> list[Any]:
    settings = Configuration().set_string("execution.target", "local")
    settings.set_string("state.backend.type", backend)
    settings.set_string("execution.checkpointing.dir", str(location))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_restart_strategy(
        RestartStrategies.no_restart() if stops else RestartStrategies.fixed_delay_restart(3, 1)
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
    source = TestingSource([[("a", 1), ("b", 3)], [("a", 12)], [("a", 25)], [("b", 40)]])
    events = env.from_source(source, strategy, "events").map(_one_by_one(stops))
    windows = events.key_by(lambda event: event[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(10))
    )
    counts = windows.apply(lambda key, window, events: [(key, window.start, len(events))])
    return list(counts.execute_and_collect())


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_job_goes_on(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        for name, kind in OLD.items():
            module = ModuleType(name)
            setattr(module, kind.__name__, kind)
            before.setitem(sys.modules, name, module)
            before.setattr(kind, "__module__", name)
        with pytest.raises(UserFunctionError):
            run(tmp_path, backend, stops=True)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"penstock.runtime.windowing.window" in written
    assert sorted(run(tmp_path, backend, stops=False)) == [
        *[("a", 0, 1), ("a", 10, 1), ("a", 20, 1), ("b", 0, 1), ("b", 40, 1)]
    ]
