from __future__ import annotations

import importlib
from typing import Any

import pytest
from tests.runtime.diamond import NUMBERS, negated
from tests.runtime.programs import (
    Journal,
    ProgramBuilder,
    last_epoch,
    messages,
    run_epoch,
    tasks_for,
)

from penstock.errors import JobFailedError, PenstockError, UserFunctionError, WorkerPythonError
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.runtime.context import RuntimeContext
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import ABORT, Buffer
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.operators.sink import PrintOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.program import DRIVER, Program
from penstock.runtime.source import EpochSource
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.timestamp import MIN_TIMESTAMP

pytestmark = pytest.mark.usefixtures("_no_time_passes")


class Function:
    """A function that may fail, and writes down what is done with it."""

    def __init__(self, journal: Journal, failing: int | None = None) -> None:
        self._journal = journal
        self._failing = failing

    def open(self, context: RuntimeContext) -> None:
        self._journal.append("open")

    def map(self, value: int) -> int:
        self._journal.append(value)
        if value == self._failing:
            raise ZeroDivisionError(f"at {value}")
        return value

    def close(self) -> None:
        self._journal.append("close")


def three_levels(*functions: Any, parallelism: int = 2) -> Program:
    """A source, and on each level one of the functions, with a print in the last chain."""
    builder = ProgramBuilder()
    level = builder.source([NUMBERS], MapOperator(functions[0]), parallelism=parallelism)
    for place, function in enumerate(functions[1:]):
        operators: list[StreamOperator] = [MapOperator(function)]
        if place == len(functions) - 2:
            operators.append(PrintOperator())
        level = builder.vertex(
            *operators, inputs=[(level, RebalancePartitioner())], parallelism=parallelism
        )
    return builder.build()


class LacksPackage:
    """Is made of a module that is not there, where it is unpickled."""

    def __reduce__(self) -> Any:
        return importlib.import_module, ("a_module_that_is_not_there",)


def test_a_package_that_workers_lack_is_named_and_no_defect_of_the_engine() -> None:
    program = three_levels(LacksPackage(), Function(Journal()))
    sent = run_epoch(tasks_for(program), last_epoch(program))
    with pytest.raises(
        WorkerPythonError, match="No module named 'a_module_that_is_not_there'"
    ) as raised:
        EpochOutcome.of(program, sent)
    assert "set_python_requirements" in str(raised.value)


class TestErrors:
    @pytest.mark.parametrize("failing", [0, 1, 2])
    @pytest.mark.parametrize("cores", [1, 2])
    def test_skip_what_is_left_to_do_on_later_levels(self, failing: int, cores: int) -> None:
        journals = [Journal() for _ in range(3)]
        program = three_levels(
            *[
                Function(journal, 3 if level == failing else None)
                for level, journal in enumerate(journals)
            ]
        )

        sent = run_epoch(tasks_for(program, cores), last_epoch(program))

        with pytest.raises(UserFunctionError, match="ZeroDivisionError: at 3") as raised:
            EpochOutcome.of(program, sent)
        assert raised.value.operator == f"Op{failing}.{int(failing == 0)}"
        assert raised.value.record == "3"
        assert raised.value.__cause__ is None
        for level, journal in enumerate(journals):
            assert bool(journal) == (level <= failing)
        assert sum(message.kind == "error" for message in messages(sent)) == 1

    def test_are_told_to_every_carrier_of_the_next_level_once(self) -> None:
        program = three_levels(
            Function(Journal(), 3), Function(Journal()), Function(Journal()), parallelism=3
        )
        tasks = tasks_for(program, 3)
        carrier = Carrier(tasks.layout, last_epoch(program), 0, 0, "a", tasks)
        sent = [*carrier.control(0, 1), *carrier.finish()]

        aborts = [buffer for buffer in sent if buffer.vertex == ABORT]
        assert [buffer.carrier for buffer in aborts] == [0, 1, 2]
        assert aborts[0].order < min(buffer.order for buffer in sent if buffer.vertex != ABORT)

    def test_are_passed_on_level_by_level(self) -> None:
        program = three_levels(Function(Journal()), Function(Journal()), Function(Journal()))
        tasks = tasks_for(program, 2)
        told = Buffer(0, DRIVER, 1, 1, MIN_TIMESTAMP, 0, 0, b"message")
        mine = Buffer(0, 1, 0, 1, MIN_TIMESTAMP, 0, 0, b"not looked at")
        aborts = [Buffer(0, ABORT, 0, 0, MIN_TIMESTAMP, 0, number, b"") for number in range(2)]

        def passed(level: int, *buffers: Buffer) -> list[tuple[int, int]]:
            carrier = Carrier(tasks.layout, last_epoch(program), level, 1, "a", tasks)
            return [(buffer.vertex, buffer.carrier) for buffer in carrier.run(buffers)]

        assert passed(1, *aborts, told, mine) == [(ABORT, 0), (ABORT, 1), (DRIVER, 1)]
        assert passed(2, *aborts, told) == [(DRIVER, 0)]

    def test_of_penstock_itself_come_with_a_traceback_and_the_task(self) -> None:
        class Broken(StreamOperator):
            def process_block(self, block: Block) -> None:
                raise AssertionError("never")

        builder = ProgramBuilder()
        builder.source([NUMBERS], Broken())
        program = builder.build()

        with pytest.raises(JobFailedError) as raised:
            EpochOutcome.of(program, run_epoch(tasks_for(program), last_epoch(program)))

        assert raised.value.message.startswith("Traceback (most recent call last):\n")
        assert "AssertionError: never" in raised.value.message
        assert raised.value.message.endswith("Task 'Op0.0 -> Op0.1' failed.")
        assert "report it" in str(raised.value.hint)

    @pytest.mark.parametrize("place", ["before", "after a block"])
    def test_of_reading_a_source_end_the_epoch(self, place: str) -> None:
        class Unreadable(EpochSource):
            def read(self, epoch: int, subtask: int, parallelism: int) -> Any:
                if place == "after a block":
                    yield Block([1])
                raise PenstockError("The file is gone.")

        journal = Journal()
        builder = ProgramBuilder()
        source = builder.vertex(SourceOperator(Unreadable([])))
        builder.vertex(MapOperator(Function(journal)), inputs=[(source, RebalancePartitioner())])
        program = builder.build()

        with pytest.raises(PenstockError, match="The file is gone"):
            EpochOutcome.of(program, run_epoch(tasks_for(program), last_epoch(program)))
        assert not journal

    @pytest.mark.parametrize("step", ["open", "close"])
    def test_of_opening_and_closing_end_the_epoch(self, step: str) -> None:
        function = Function(Journal())

        class Failing(Function):
            pass

        def fail(*arguments: Any) -> None:
            raise OSError(f"{step} failed")

        setattr(Failing, step, fail)
        program = three_levels(function, Failing(Journal()), function)

        with pytest.raises(UserFunctionError, match=f"OSError: {step} failed"):
            EpochOutcome.of(program, run_epoch(tasks_for(program), last_epoch(program)))

    def test_leave_no_subtask_behind_that_failed(self) -> None:
        class FailsOnce(Function):
            def map(self, value: int) -> int:
                result = super().map(value)
                if self._journal.count(3) == 1 and value == 3:
                    raise OSError("once")
                return result

        journal = Journal()
        program = three_levels(FailsOnce(journal), negated, parallelism=1)
        tasks = tasks_for(program)
        with pytest.raises(UserFunctionError):
            EpochOutcome.of(program, run_epoch(tasks, Epoch("job")))
        outcome = EpochOutcome.of(program, run_epoch(tasks, last_epoch(program, attempt=1)))

        assert outcome.printed == [str(-number) for number in NUMBERS]
        assert journal.count("open") == 2

    def test_close_the_functions_of_the_subtask_that_failed(self) -> None:
        journal = Journal()
        program = three_levels(Function(journal, 3), negated, parallelism=1)
        tasks = tasks_for(program)
        with pytest.raises(UserFunctionError):
            EpochOutcome.of(program, run_epoch(tasks, last_epoch(program)))
        tasks.close()

        assert journal == ["open", 0, 1, 2, 3, "close"]
