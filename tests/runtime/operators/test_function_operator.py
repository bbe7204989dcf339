"""What holds for all operators that call a function of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import CollectingOutput, Harness, Journal

from penstock.common.types import Row
from penstock.errors import PenstockError, UserFunctionError
from penstock.runtime.context import RuntimeContext
from penstock.runtime.exchange.elements import Block
from penstock.runtime.operators.filter import FilterOperator
from penstock.runtime.operators.flat_map import FlatMapOperator
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.operators.map import MapOperator
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import SinkOperator
from penstock.runtime.task.chained_outputs import CountingOutput

OPERATORS: list[type[FunctionOperator]] = [
    MapOperator,
    FilterOperator,
    FlatMapOperator,
    ProcessOperator,
    ReduceOperator,
    SinkOperator,
]
every_operator = pytest.mark.parametrize("kind", OPERATORS, ids=lambda kind: kind.__name__)
with_and_without_timestamps = pytest.mark.parametrize("timed", [False, True])


def call_with(check: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function for any operator that calls `check` with the record."""

    def function(*arguments: Any) -> Any:
        # A reduce function is given the record last, all others first.
        record = arguments[-1] if len(arguments) == 2 and _is_value(arguments[1]) else arguments[0]
        check(record)
        return [record]

    return function


def _is_value(argument: Any) -> bool:
    return isinstance(argument, (int, str, Row))


def process(harness: Harness, records: list[Any], *, timed: bool = False) -> None:
    # One key for all, and a record before them, so that a reduce calls its function for each.
    is_reduce = isinstance(harness.operator, ReduceOperator)
    if is_reduce:
        harness.process([0], keys=["key"])
    harness.process(
        records,
        timestamps=[5] * len(records) if timed else None,
        keys=["key"] * len(records) if is_reduce else None,
    )


class Function:
    """A function of the user for any operator, with `open` and `close`."""

    def __init__(self, journal: Journal, failing: str = "") -> None:
        self.journal = journal
        self.failing = failing

    def open(self, context: RuntimeContext) -> None:
        self._step("open")
        self.journal.append(context.get_task_name())

    def close(self) -> None:
        self._step("close")

    def _step(self, name: str) -> None:
        self.journal.append(name)
        if name == self.failing:
            raise OSError(f"{name} failed")

    def _call(self, *arguments: Any) -> Any:
        self.journal.append("call")
        return []

    map = filter = flat_map = process_element = reduce = invoke = _call


@every_operator
class TestEveryFunctionOperator:
    @with_and_without_timestamps
    @settings(max_examples=15)
    @given(failing=st.integers(1, 10))
    def test_an_error_tells_operator_record_and_the_users_traceback(
        self, kind: type[FunctionOperator], timed: bool, failing: int
    ) -> None:
        def fail(value: int) -> None:
            if value == failing:
                raise ZeroDivisionError("by nothing")

        with pytest.raises(UserFunctionError) as raised:
            process(Harness(kind(call_with(fail)), name="Mine"), list(range(1, 11)), timed=timed)

        error = raised.value
        assert (error.operator, error.record) == ("Mine", str(failing))
        first, second, *_ = str(error).splitlines()
        assert first == "Traceback (most recent call last):"
        assert second.startswith(f'  File "{__file__}"')
        assert (
            f"ZeroDivisionError: by nothing\n\nOperator 'Mine' failed on the record {failing}\n\nHint: "
            in str(error)
        )
        assert isinstance(error.__cause__, ZeroDivisionError)

    @with_and_without_timestamps
    @pytest.mark.parametrize("failing", [1, 3, 5])
    def test_a_function_that_raises_stop_iteration_loses_no_record(
        self, kind: type[FunctionOperator], timed: bool, failing: int
    ) -> None:
        def fail(value: int) -> None:
            next(iter([] if value == failing else [value]))

        with pytest.raises(UserFunctionError, match=f"'Mine' failed on the record {failing}"):
            process(Harness(kind(call_with(fail)), name="Mine"), [1, 2, 3, 4, 5], timed=timed)

    @with_and_without_timestamps
    def test_a_field_that_is_not_there_is_told_with_operator_and_record(
        self, kind: type[FunctionOperator], timed: bool
    ) -> None:
        function = call_with(lambda row: row.nam)

        with pytest.raises(PenstockError, match="has no field 'nam'") as raised:
            process(Harness(kind(function), name="Mine"), [Row(name="Ann")], timed=timed)

        assert "'Mine' failed on the record Row(name='Ann')" in str(raised.value)

    def test_opens_and_closes_the_function(self, kind: type[FunctionOperator]) -> None:
        journal = Journal()
        harness = Harness(kind(Function(journal)), name="Mine")
        assert journal == ["open", "Mine"]

        process(harness, [1, 2])
        harness.operator.close()

        assert journal == ["open", "Mine", "call", "call", "close"]

    @pytest.mark.parametrize("step", ["open", "close"])
    def test_tells_when_it_cannot_be_opened_or_closed(
        self, kind: type[FunctionOperator], step: str
    ) -> None:
        with pytest.raises(UserFunctionError) as raised:
            Harness(kind(Function(Journal(), step)), name="Mine").operator.close()

        assert (raised.value.operator, raised.value.record) == ("Mine", None)
        assert str(raised.value).startswith(
            f'Traceback (most recent call last):\n  File "{__file__}"'
        )
        assert f"OSError: {step} failed\n\nOperator 'Mine' failed.\n" in str(raised.value)


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    ("kind", "function"),
    [
        (MapOperator, lambda value: value),
        (FilterOperator, lambda value: True),
        (FlatMapOperator, lambda value: [value] * 2000),
        (ProcessOperator, lambda value, context: [value] * 2000),
        (ReduceOperator, lambda one, other: one),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_error_from_down_the_chain_passes_as_it_is(
    kind: type[FunctionOperator], function: Any, timed: bool
) -> None:
    known = UserFunctionError("From down the chain.")

    class Failing(CollectingOutput):
        def collect(self, block: Block) -> None:
            raise known

    harness = Harness(kind(function), name="Mine")
    harness.operator.output = CountingOutput([Failing()], harness.metrics)
    harness.begin_epoch()

    with pytest.raises(UserFunctionError) as raised:
        process(harness, ["a"], timed=timed)
    assert raised.value is known
