"""A job goes on from a checkpoint in which there are objects of a class that has another name now."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock.cli import main
from penstock.common import Configuration, RestartStrategies, Types, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.errors import (
    InvalidConfigurationValueError,
    StateClassNotFoundError,
    UserFunctionError,
)
from penstock.inspection.checkpoint import read_checkpoint
from penstock.testing import TestingSource

OLD, NEW = "module_of_old_classes", "module_of_new_classes"


class Latest(KeyedProcessFunction):
    """Has the latest record of its key in state."""

    def __init__(self, stops: bool) -> None:
        self._stops = stops

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("latest", Types.PICKLED_BYTE_ARRAY())
        self._latest = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if self._stops and value == 3:
            raise ValueError("stop")
        yield getattr(self._latest.value(), "number", None)
        kind: Any = sys.modules[OLD if OLD in sys.modules else NEW]
        event = kind.Event()
        event.number = value
        self._latest.update(event)


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (OLD, NEW):
        module = ModuleType(name)
        module.Event = type("Event", (), {"__module__": name})  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)


def run(location: Path, backend: str, *, stops: bool, names: str = "") -> list[Any]:
    settings = Configuration().set_string("execution.target", "local")
    settings.set_string("state.backend.type", backend)
    settings.set_string("execution.checkpointing.dir", str(location))
    if names:
        settings.set_string("state.class-names", names)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_restart_strategy(
        RestartStrategies.no_restart() if stops else RestartStrategies.fixed_delay_restart(3, 1)
    )
    source = TestingSource([[1], [2], [3], [4]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    latest = numbers.key_by(lambda number: 0).process(Latest(stops)).name("Latest").uid("latest")
    return list(latest.execute_and_collect())


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_class_that_is_gone_is_named_and_can_be_mapped(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserFunctionError):
        run(tmp_path, backend, stops=True)
    monkeypatch.delitem(sys.modules, OLD)
    with pytest.raises(StateClassNotFoundError) as told:
        run(tmp_path, backend, stops=False)
    for text in ("'Latest'", f"{OLD}.Event", "state.class-names"):
        assert text in str(told.value)
    assert not getattr(told.value, "__notes__", [])
    found = run(tmp_path, backend, stops=False, names=f"{OLD}.Event:{NEW}.Event")
    assert found == [2, 3]


class Ask(AsyncFunction[Any, int]):
    """Has not answered when the job stops."""

    def __init__(self, stops: bool) -> None:
        self._stops = stops

    async def async_invoke(self, value: Any) -> list[int]:
        if self._stops and value.number == 2:
            raise ValueError("stop")
        if self._stops:
            await asyncio.sleep(60)
        return [value.number]


def new_event(number: int) -> Any:
    kind: Any = sys.modules[OLD if OLD in sys.modules else NEW]
    event = kind.Event()
    event.number = number
    return event


def ask(location: Path, *, stops: bool, parallelism: int = 1) -> list[int]:
    settings = Configuration().set_string("execution.target", "local")
    settings.set_string("execution.checkpointing.dir", str(location))
    settings.set_string("async.drain-timeout", "0 ms")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    source = TestingSource([[1], [2]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    events = numbers.map(new_event).set_parallelism(1)
    asked = AsyncDataStream.ordered_wait(events, Ask(stops), 100_000)
    asked = asked.set_parallelism(parallelism).name("Ask").uid("ask")
    return list(asked.execute_and_collect())


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_class_that_is_gone_is_named_with_the_operator_that_had_it_under_way(
    parallelism: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserFunctionError):
        ask(tmp_path, stops=True)
    monkeypatch.delitem(sys.modules, OLD)
    with pytest.raises(StateClassNotFoundError, match=f"'Ask'.*{OLD}.Event"):
        ask(tmp_path, stops=False, parallelism=parallelism)


def test_inspection_takes_the_new_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserFunctionError):
        run(tmp_path, "hashmap", stops=True)
    monkeypatch.delitem(sys.modules, OLD)
    old = read_checkpoint(str(tmp_path)).state("latest", "latest")
    assert "Event" in str(old["value"].to_pylist()[0])
    names = {f"{OLD}.Event": f"{NEW}.Event"}
    new = read_checkpoint(str(tmp_path), class_names=names).state("latest", "latest")
    assert NEW in str(new["value"].to_pylist()[0])


@pytest.mark.parametrize("names", ["a.B:a.C:a.D", "a.B", "B:C"])
def test_what_gives_no_class_another_name_is_refused(names: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidConfigurationValueError, match=r"state\.class-names"):
        run(tmp_path, "hashmap", stops=False, names=names)


def test_the_command_takes_the_new_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserFunctionError):
        run(tmp_path, "hashmap", stops=True)
    monkeypatch.delitem(sys.modules, OLD)
    command = ["checkpoint", "show", str(tmp_path), "--operator", "latest", "--state", "latest"]
    names = f"{OLD}.Event:{NEW}.Event"

    assert main([*command, "--import-classes", "--class-names", names]) == 0
    assert NEW in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*command, "--import-classes", "--class-names", f"{names}:x"])
    assert "shop.Order:shop.orders.Order" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, "--class-names", names])
    assert "--class-names needs --import-classes" in capsys.readouterr().err
