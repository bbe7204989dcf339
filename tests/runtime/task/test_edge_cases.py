"""What functions and values of users may do that nobody expects."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import pytest
from tests.runtime.exchange.test_writer import BARRIER, Writer
from tests.runtime.programs import (
    Harness,
    Journal,
    ProgramBuilder,
    last_epoch,
    run_epoch,
    tasks_for,
)

from penstock.errors import InvalidKeyError, JobFailedError, PenstockError, UserFunctionError
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.runtime.context import RuntimeContext
from penstock.runtime.exchange.elements import Block, ChannelWatermark
from penstock.runtime.exchange.partitioners import RebalancePartitioner, ShufflePartitioner
from penstock.runtime.keys.key_types import stable_hash
from penstock.runtime.operators.function_operator import MapOperator


@dataclass(frozen=True)
class Caseless:
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Caseless) and other.text.lower() == self.text.lower()

    def __hash__(self) -> int:
        return hash(self.text.lower())


def test_a_dataclass_with_an_equality_of_its_own_is_no_key() -> None:
    with pytest.raises(InvalidKeyError):
        stable_hash(Caseless("a"))


def test_shuffle_repeats_in_an_epoch_that_is_run_again() -> None:
    writer = Writer(ShufflePartitioner(), 4)
    runs = []
    for _ in range(2):
        writer.sent.clear()
        writer.output.begin_epoch(ChannelWatermark())
        writer.output.collect(Block(list(range(100))))
        writer.output.emit_barrier(*BARRIER)
        runs.append([writer.received(target) for target in range(4)])
    assert runs[0] == runs[1]


class TwoParts(Exception):
    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one}{other}")


def test_a_value_that_cannot_be_unpickled_is_no_defect_of_penstock() -> None:
    builder = ProgramBuilder()
    source = builder.source([[1]], MapOperator(lambda value: TwoParts(1, 2)))
    builder.vertex(MapOperator(str), inputs=[(source, RebalancePartitioner())])
    program = builder.build()
    with pytest.raises(PenstockError, match="TwoParts") as raised:
        EpochOutcome.of(program, run_epoch(tasks_for(program), last_epoch(program)))
    assert not isinstance(raised.value, JobFailedError)


def test_a_function_that_exits_tells_its_record() -> None:
    with pytest.raises(UserFunctionError, match="SystemExit"):
        Harness(MapOperator(lambda value: sys.exit(3))).process([1])


class Function:
    def __init__(self, journal: Journal, name: str) -> None:
        self._journal, self._name = journal, name

    def open(self, context: RuntimeContext) -> None:
        self._journal.append(f"open {self._name}")
        if self._name == "head":
            raise OSError("no connection")

    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        self._journal.append(f"close {self._name}")


def test_functions_that_were_opened_are_closed_where_another_cannot_be_opened() -> None:
    journal = Journal()
    builder = ProgramBuilder()
    builder.source(
        [[1]], MapOperator(Function(journal, "head")), MapOperator(Function(journal, "tail"))
    )
    program = builder.build()
    tasks = tasks_for(program)
    with pytest.raises(UserFunctionError, match="no connection"):
        EpochOutcome.of(program, run_epoch(tasks, last_epoch(program)))
    tasks.close()
    assert "close tail" in journal
