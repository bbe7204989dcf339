"""What cannot work ends in a named error that says where, on what record, and what to do."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.semantics.conftest import NewEnvironment

from penstock.common import Configuration, Row, Types
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    ValueStateDescriptor,
)
from penstock.errors import (
    ColumnNotFoundError,
    DuplicateUidError,
    FunctionNotSerializableError,
    InvalidArgumentError,
    InvalidKeyError,
    InvalidParallelismError,
    NoSinkError,
    PenstockError,
    SourceNotReadableError,
    UnknownConfigurationKeyError,
    UnknownFieldError,
    UnsupportedOperationError,
    UserFunctionError,
    ValueNotSerializableError,
)

RECORDS = [("a", 1), ("b", 0), ("c", 3)]
BAD = "('b', 0)"


def divide(record: tuple[str, int]) -> Any:
    return 6 // record[1]


def divide_all(record: tuple[str, int], *_: Any) -> Iterator[Any]:
    yield record
    yield divide(record)


def reduce(known: tuple[str, int], new: tuple[str, int]) -> Any:
    return divide(new), 6


def partition(key: int, count: int) -> int:
    return 6 // key % count


class NoOpen(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        raise OSError("no connection")

    def map(self, value: Any) -> Any:
        raise AssertionError("not opened")


class NoClose(MapFunction):
    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        raise OSError("connection lost")


@dataclass
class Bad:
    """A program that fails while it runs.

    Attributes:
        build: Adds what fails behind a stream of RECORDS.
        error: The class of the error.
        operator: The name of the operator that the message names.
        record: The record that the message names; None for none.
        cause: What the message says besides.
        by_user: Whether the message begins with the user's traceback.
    """

    build: Callable[[DataStream], Any]
    error: type[PenstockError]
    operator: str
    record: str | None = BAD
    cause: str = "ZeroDivisionError: integer division or modulo by zero"
    by_user: bool = True


def behind(stream: DataStream) -> DataStream:
    """The stream with an exchange behind it."""
    return stream.rebalance().map(tuple)


BAD_PROGRAMS = {
    "map": Bad(lambda stream: stream.map(divide), UserFunctionError, "Map"),
    "behind": Bad(lambda stream: behind(stream).map(divide).name("six"), UserFunctionError, "six"),
    "filter": Bad(lambda stream: stream.filter(divide), UserFunctionError, "Filter"),
    "generator": Bad(lambda stream: stream.flat_map(divide_all), UserFunctionError, "Flat Map"),
    "process": Bad(lambda stream: stream.process(divide_all), UserFunctionError, "Process"),
    "reduce": Bad(
        lambda stream: stream.key_by(lambda record: 0).reduce(reduce),
        UserFunctionError,
        "Keyed Reduce",
    ),
    "sink": Bad(lambda stream: stream.add_sink(divide).name("six"), UserFunctionError, "Sink: six"),
    "key selector": Bad(
        lambda stream: stream.key_by(divide).sum(), UserFunctionError, "Source: Collection Source"
    ),
    "partitioner": Bad(
        lambda stream: stream.partition_custom(partition, lambda record: record[1]).map(str),
        UserFunctionError,
        "Source: Collection Source",
    ),
    "open": Bad(
        lambda stream: stream.map(NoOpen()), UserFunctionError, "Map", None, "OSError: no connection"
    ),
    "close": Bad(
        lambda stream: stream.map(NoClose()),
        UserFunctionError,
        "Map",
        None,
        "OSError: connection lost",
    ),
    "unknown field": Bad(
        lambda stream: stream.map(lambda record: Row(name=record[0], size=record[1])).map(
            lambda row: row.weight
        ),
        UnknownFieldError,
        "Map",
        "Row(name='a', size=1)",
        "has no field 'weight'",
        by_user=False,
    ),
    "unknown field, found by no code of the user's": Bad(
        lambda stream: stream.map(lambda record: Row(name=record[0], size=record[1])).map(
            operator.attrgetter("weight")
        ),
        UnknownFieldError,
        "Map",
        "Row(name='a', size=1)",
        "has no field 'weight'",
        by_user=False,
    ),
    "unknown position": Bad(
        lambda stream: stream.key_by(lambda record: 0).sum(2),
        ColumnNotFoundError,
        "Keyed Aggregation",
        "('a', 1)",
        "2",
        by_user=False,
    ),
    "not to be pickled": Bad(
        lambda stream: behind(stream.map(lambda record: (*record, threading.Lock()))),
        ValueNotSerializableError,
        "Map",
        "('a', 1, <unlocked",
        "cannot pickle '_thread.lock' object",
        by_user=False,
    ),
    "not to be hashed": Bad(
        lambda stream: stream.key_by(lambda record: {record[0]}).sum(1),
        InvalidKeyError,
        "Source: Collection Source",
        "('a', 1)",
        "unhashable",
        by_user=False,
    ),
    "hashed by address": Bad(
        lambda stream: stream.key_by(lambda record: object()).sum(1),
        InvalidKeyError,
        "Source: Collection Source",
        "('a', 1)",
        "may differ between processes",
        by_user=False,
    ),
    "no such subtask": Bad(
        lambda stream: stream.partition_custom(lambda key, count: count, str).map(str),
        InvalidArgumentError,
        "Source: Collection Source",
        "('a', 1)",
        "no subtask of 2",
        by_user=False,
    ),
}  # fmt: skip


class Counted(MapFunction):
    """Writes down each call in a file, which no retry takes back."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def map(self, value: Any) -> Any:
        with self._path.open("a") as file:
            file.write(f"{value}\n")
        return value


@pytest.mark.parametrize("name", BAD_PROGRAMS)
def test_programs_that_fail(new_environment: NewEnvironment, tmp_path: Path, name: str) -> None:
    bad = BAD_PROGRAMS[name]
    env = new_environment(2)
    calls = tmp_path / "calls"
    records = env.from_collection(RECORDS).map(Counted(calls)).set_parallelism(1)
    built = bad.build(env.from_collection(RECORDS))
    if isinstance(built, DataStream):
        built.add_sink(lambda record: None)
    records.add_sink(lambda record: None).set_parallelism(1)

    with pytest.raises(PenstockError) as caught:
        env.execute()

    error, message = caught.value, str(caught.value)
    assert type(error) is bad.error
    if bad.by_user:
        assert message.splitlines()[0] == "Traceback (most recent call last):"
        assert f'File "{__file__}"' in message.splitlines()[1]
    assert f"perator {bad.operator!r}" in message
    assert bad.cause in message
    assert bad.record is None or bad.record in message
    assert "\n\nHint: " in message
    assert "org.apache.spark" not in message
    # Other operators of the job may have been at work, but nothing was tried again.
    tried = calls.read_text().split("\n")[:-1] if calls.exists() else []
    assert tried in ([], [str(record) for record in RECORDS])


def test_a_failing_function_is_not_called_again(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    env = new_environment(2)
    counted = env.from_collection(RECORDS).rebalance().map(Counted(tmp_path / "calls"))
    counted.map(divide).print()

    with pytest.raises(UserFunctionError):
        env.execute()

    calls = (tmp_path / "calls").read_text().splitlines()
    assert BAD in calls
    assert len(calls) == len(set(calls))


def test_results_that_cannot_be_pickled(new_environment: NewEnvironment) -> None:
    locks = new_environment().from_collection([1]).map(lambda _: threading.Lock())

    with pytest.raises(ValueNotSerializableError, match="cannot pickle") as caught:
        list(locks.execute_and_collect())
    assert "\n\nHint: " in str(caught.value)


def test_functions_that_cannot_be_pickled(new_environment: NewEnvironment) -> None:
    lock = threading.Lock()

    def locked(value: int) -> int:
        with lock:
            return value

    env = new_environment()
    env.from_collection([1]).map(locked).name("careful").print()

    with pytest.raises(FunctionNotSerializableError, match=r"'careful'.*variable 'lock' is a lock"):
        env.execute_async()


def test_a_file_that_is_not_there(new_environment: NewEnvironment, tmp_path: Path) -> None:
    env = new_environment()
    env.read_text_file(tmp_path / "missing.txt").print()

    with pytest.raises(SourceNotReadableError, match=r"missing\.txt.*\n\nHint: "):
        env.execute_async()


def test_a_file_in_another_encoding(new_environment: NewEnvironment, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("grün".encode("latin-1"))
    calls = tmp_path / "calls"
    env = new_environment()
    env.from_collection([1]).map(Counted(calls)).print()
    env.read_text_file(tmp_path / "latin.txt").print()

    with pytest.raises(SourceNotReadableError, match=r"not in UTF-8: .*0xfc(.|\n)*encoding of the"):
        env.execute()
    assert calls.read_text() == "1\n"  # tried once


def test_programs_that_cannot_be(new_environment: NewEnvironment) -> None:
    env = new_environment()
    with pytest.raises(NoSinkError, match="Hint"):
        env.execute()

    numbers = env.from_collection([1])
    numbers.map(str).uid("one").map(str).uid("one").print()
    with pytest.raises(DuplicateUidError, match=r"'one'.*\n\nHint"):
        env.execute()

    with pytest.raises(InvalidParallelismError, match="Hint"):
        env.set_parallelism(0)
    with pytest.raises(InvalidParallelismError, match=r"'Map'.*0.*\n\nHint"):
        numbers.map(str).set_parallelism(0)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(UnknownConfigurationKeyError, match=r"paralelism\.default") as caught:
        Configuration.from_dict({"configuration.strict": "true", "paralelism.default": "2"})
    assert "\n\nHint: " in str(caught.value)
    assert "parallelism.default" in (caught.value.hint or "")


def test_a_job_that_failed_leaves_the_environment_usable(new_environment: NewEnvironment) -> None:
    env = new_environment(2)
    env.from_collection(RECORDS).map(divide).print()
    with pytest.raises(UserFunctionError):
        env.execute()

    assert sorted(env.from_collection(RECORDS).execute_and_collect()) == RECORDS


class _KeepsALock(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        kind = ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY())
        self.kept = runtime_context.get_state(kind)

    def process_element(self, value: Any, ctx: Any) -> None:
        self.kept.update(threading.Lock())


class _AsksForState(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("kept", Types.LONG()))

    def map(self, value: Any) -> Any:
        return value


def _set_timer(value: Any, ctx: Any) -> None:
    ctx.timer_service().register_event_time_timer(1)


@pytest.mark.parametrize(
    ("build", "kind", "begins", "line"),
    [
        (
            lambda stream: stream.key_by(lambda _: 0).process(_KeepsALock()).name("lock"),
            ValueNotSerializableError,
            "Operator 'lock' keeps a value in its state 'kept' that cannot be pickled",
            "self.kept.update(threading.Lock())",
        ),
        (
            lambda stream: stream.map(_AsksForState()).name("open"),
            UnsupportedOperationError,
            "'open' asks for keyed state, but its stream has no keys.",
            "runtime_context.get_state(",
        ),
        (
            lambda stream: stream.process(_set_timer).name("timer"),
            UnsupportedOperationError,
            "Operator 'timer' set or deleted a timer for 1.",
            "ctx.timer_service().register_event_time_timer(1)",
        ),
    ],
    ids=["lock in state", "state without keys", "timer without keys"],
)
def test_errors_of_penstock_in_a_function_come_as_they_are(
    new_environment: NewEnvironment,
    build: Callable[[Any], Any],
    kind: type[Exception],
    begins: str,
    line: str,
) -> None:
    stream = build(new_environment().from_collection([1]))

    with pytest.raises(kind) as caught:
        list(stream.execute_and_collect())

    text = str(caught.value)
    assert text.startswith(begins)
    assert line in text
    assert text.count("Hint: ") == 1
    assert "Traceback" not in text
    assert not any(f"penstock/{layer}" in text for layer in ("runtime", "datastream"))
