from __future__ import annotations

import functools
import json
import operator
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import CollectingOutput, Harness, Unprintable

from penstock.common.types import Row
from penstock.errors import PenstockError, UnsupportedOperationError, UserFunctionError
from penstock.runtime.context import RuntimeContext
from penstock.runtime.exchange.elements import Block
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.task.chained_outputs import CountingOutput
from penstock.runtime.user_code import (
    UserFunction,
    described_failure,
    failing_record,
    function_failure,
    record_text,
)

CONTEXT = RuntimeContext("Map")


class Function:
    """A function of the user with all its parts."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def open(self, context: RuntimeContext) -> None:
        self.calls.append(("open", context))

    def map(self, value: Any) -> Any:
        self.calls.append(("map", value))
        return value + 1

    def close(self) -> None:
        self.calls.append("close")


class TestUserFunction:
    def test_calls_the_parts_of_an_object(self) -> None:
        function = Function()
        user = UserFunction(function, "map")
        user.open(CONTEXT)
        assert user.call(1) == 2
        user.close()

        assert function.calls == [("open", CONTEXT), ("map", 1), "close"]

    @pytest.mark.parametrize(
        "function",
        [
            lambda value: value + 1,
            functools.partial(operator.add, 1),
            (1).__add__,
            type("Callable", (), {"__call__": lambda self, value: value + 1})(),
            type("MapOnly", (), {"map": lambda self, value: value + 1})(),
        ],
    )
    def test_needs_no_open_and_no_close(self, function: Any) -> None:
        user = UserFunction(function, "map")
        user.open(CONTEXT)
        assert user.call(1) == 2
        user.close()

    def test_calls_that_are_shown_return_through_code_in_c(self) -> None:
        user = UserFunction(Function(), "map")
        assert not isinstance(user.call, functools.partial)
        user.shows_calls = True
        assert isinstance(user.call, functools.partial)
        assert not isinstance(user.plain_call, functools.partial)
        assert user.call(1) == user.plain_call(1) == 2

    def test_takes_no_attribute_of_a_plain_function_for_its_open(self) -> None:
        def function(value: int) -> int:
            return value + 1

        function.open = function.close = None  # type: ignore[attr-defined]
        user = UserFunction(function, "map")
        user.open(CONTEXT)
        user.close()
        assert user.call(1) == 2

    def test_does_not_open_a_method_of_what_has_an_open_itself(self) -> None:
        function = Function()
        user = UserFunction(function.map, "map")
        user.open(CONTEXT)
        user.close()

        assert user.call(1) == 2
        assert function.calls == [("map", 1)]


@given(st.lists(st.integers(), max_size=10), st.integers(0, 10))
def test_the_failing_record_is_the_one_taken_last(values: list[int], taken: int) -> None:
    rest = iter(values)
    for _ in range(taken):
        next(rest, None)

    expected = None if not taken or not values else str(values[min(taken, len(values)) - 1])
    assert failing_record(Block(values), rest) == expected


class TestRecordText:
    @given(st.text(max_size=600))
    def test_is_the_shortened_repr(self, value: str) -> None:
        text = record_text(value)

        assert len(text) <= 500
        if len(repr(value)) <= 500:
            assert text == repr(value)
        else:
            assert (text[:497], text[497:]) == (repr(value)[:497], "...")

    def test_may_be_missing(self) -> None:
        assert (
            record_text(Unprintable()) == "<a Unprintable whose repr raised ValueError('no text')>"
        )


def failure_of(call: Any, record: str | None = "'x'") -> PenstockError:
    """Return the failure of a call, as an operator would raise it."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - any error of a user
        return function_failure(error, "Map", record)
    raise AssertionError("it did not fail")


def divide() -> None:
    raise ZeroDivisionError("by nothing")


class TestFunctionFailure:
    def test_shows_first_the_users_own_traceback(self) -> None:
        def outer() -> None:
            divide()

        failure = failure_of(outer)

        assert isinstance(failure, UserFunctionError)
        assert (failure.operator, failure.record) == ("Map", "'x'")
        lines = str(failure).splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert [line.rsplit(" in ")[-1] for line in lines if line.startswith("  File")] == [
            "failure_of",
            "outer",
            "divide",
        ]
        assert (
            "\nZeroDivisionError: by nothing\n\nOperator 'Map' failed on the record 'x'\n"
            in str(failure)
        )
        assert failure.hint is not None
        assert lines[-1] == f"Hint: {failure.hint}"

    def test_leaves_out_the_frames_of_penstock_before_them(self) -> None:
        def fail(value: Any) -> Any:
            divide()

        with pytest.raises(UserFunctionError) as raised:
            Harness(MapOperator(fail)).process(["x"])

        assert [
            line.rsplit(" in ")[-1]
            for line in str(raised.value).splitlines()
            if line.startswith("  File")
        ] == ["fail", "divide"]

    def test_of_a_function_written_in_c_has_no_frames_to_show(self) -> None:
        with pytest.raises(UserFunctionError) as raised:
            Harness(MapOperator(int), name="Map").process(["no number"])

        assert str(raised.value).startswith(
            "ValueError: invalid literal for int() with base 10: 'no number'\n\n"
            "Operator 'Map' failed on the record 'no number'\n\nHint: "
        )
        # It was not what the function returned.
        assert not str(raised.value.hint).startswith("Your function returned")

    def test_of_a_function_written_in_c_may_be_a_field_that_is_not_there(self) -> None:
        with pytest.raises(PenstockError, match="has no field 'b'") as raised:
            Harness(MapOperator(operator.itemgetter("b")), name="Map").process([Row(a=1)])

        assert "Operator 'Map' failed on the record Row(a=1)" in str(raised.value)

    def test_needs_no_record(self) -> None:
        failure = failure_of(divide, None)

        assert "\n\nOperator 'Map' failed.\n\nHint: " in str(failure)
        assert isinstance(failure, UserFunctionError)
        assert failure.record is None

    def test_shows_what_the_error_was_raised_from(self) -> None:
        def fail() -> None:
            try:
                divide()
            except ZeroDivisionError as error:
                raise LookupError("no rate") from error

        text = str(failure_of(fail))

        assert text.index("ZeroDivisionError: by nothing") < text.index("LookupError: no rate")

    def test_from_down_the_chain_is_what_it_is(self) -> None:
        known = failure_of(divide)

        class Failing(CollectingOutput):
            def collect(self, block: Block) -> None:
                raise known

        output = CountingOutput([Failing()], OperatorMetrics())

        assert failure_of(lambda: output.collect(Block([1]))) is known

    def test_survives_a_pickle(self) -> None:
        failure = failure_of(divide)
        copy = pickle.loads(pickle.dumps(failure))

        assert (type(copy), str(copy)) == (UserFunctionError, str(failure))
        assert (copy.operator, copy.record) == ("Map", "'x'")
        assert (copy.user_traceback, copy.user_line) == (failure.user_traceback, failure.user_line)
        assert copy.user_class == "ZeroDivisionError"

    def test_names_the_users_class_as_its_traceback_does(self) -> None:
        failure = failure_of(lambda: json.loads("no json"))

        assert failure.user_class == "json.decoder.JSONDecodeError"
        assert f"\n{failure.user_class}: " in str(failure.user_traceback)

    def test_knows_the_users_own_line(self) -> None:
        def parse() -> None:
            json.loads("no json")

        failure = failure_of(parse)

        assert failure.user_traceback is not None
        assert failure.user_traceback.splitlines()[-1].startswith("json.decoder.JSONDecodeError: ")
        line = parse.__code__.co_firstlineno + 1
        assert failure.user_line == f"{__file__}:{line} in parse"

    @pytest.mark.parametrize("function", [lambda: Row(a=1).b, lambda: Row(a=1)["b"]])
    def test_of_a_field_that_is_not_there_tells_where(self, function: Any) -> None:
        failure = failure_of(function)

        assert "Operator 'Map' failed on the record 'x'" in str(failure)
        assert "has no field 'b'" in str(failure)


def test_a_single_result_where_several_are_due_is_told_so() -> None:
    with pytest.raises(TypeError) as caught:
        list(7)  # type: ignore[call-overload]
    error = caught.value.with_traceback(None)
    assert "in an iterable, such as a list" in str(function_failure(error, "Map", "1"))
    other = function_failure(TypeError("unhashable type"), "Map", "1")
    assert "in an iterable" not in str(other)


INSIDE = """
import warnings
from penstock.runtime.user_code import UserLine, stack_level_of_user

def outer():
    return inner()

def inner():
    warnings.warn("mind", UserWarning, stacklevel=stack_level_of_user())
    return UserLine.here()
"""


def test_a_warning_names_the_line_that_is_not_the_engines() -> None:
    inside = {"__name__": "penstock.somewhere"}
    exec(compile(INSIDE, "somewhere.py", "exec"), inside)
    with pytest.warns(UserWarning, match="mind") as caught:
        line = inside["outer"]()  # type: ignore[operator]
    assert caught[0].filename == __file__
    assert (line.file, line.number, line.module) == (__file__, caught[0].lineno, __name__)
    with pytest.warns(UserWarning, match="mind") as later:
        line.warn(UserWarning("mind"))
    assert (later[0].filename, later[0].lineno) == (__file__, caught[0].lineno)


def test_of_what_was_opened_the_hint_speaks_of_no_record() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        divide()
    of_record = str(function_failure(caught.value, "Map", "7"))
    of_opening = str(function_failure(caught.value, "Map", None))
    assert "keep such records away from it" in of_record
    assert "such records" not in of_opening
    assert "it was opened or closed, or it reads a source" in of_opening


def test_only_of_a_function_that_can_the_hint_is_to_send_the_record_aside() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        divide()
    diverting = function_failure(caught.value, "Process", "7", can_divert=True)
    assert "or catch the exception and send the record to a side output" in str(diverting.hint)
    assert "catch" not in str(function_failure(caught.value, "Reduce", "7").hint)


def test_on_a_timer_there_is_no_record_to_do_anything_with() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        divide()
    failure = described_failure(caught.value, "Process", "the timer for 7 of the key 'a'")
    assert str(failure.hint).endswith("Fix it there.")


class TestAnErrorOfPenstockInAFunction:
    """Comes as it is, with where it was met; its own hint is the only one."""

    @staticmethod
    def failure() -> PenstockError:
        def function() -> None:
            raise UnsupportedOperationError("No keys.", hint="Call key_by().")

        return failure_of(function)

    def test_says_first_what_it_is_and_then_where(self) -> None:
        failure = self.failure()
        lines = str(failure).splitlines()

        assert type(failure) is UnsupportedOperationError
        assert str(failure.user_line).endswith(" in function")
        assert str(failure.user_traceback).endswith("UnsupportedOperationError: No keys.\n")
        assert (failure.operator, failure.record) == ("Map", "'x'")
        assert lines[:2] == ["No keys.", ""]
        assert "in function" in str(failure)
        assert 'raise UnsupportedOperationError("No keys."' in str(failure)
        assert lines[-3:] == ["Operator 'Map' failed on the record 'x'", "", "Hint: Call key_by()."]

    def test_is_told_once(self) -> None:
        failure = self.failure()
        assert function_failure(failure, "Behind", "'y'") is failure

    def test_survives_a_pickle(self) -> None:
        failure = self.failure()
        copy = pickle.loads(pickle.dumps(failure))
        assert (type(copy), str(copy), copy.operator) == (type(failure), str(failure), "Map")


def test_a_failure_names_the_part_of_the_program() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        divide()
    part = "The key selector behind operator"
    failure = function_failure(caught.value, "parse", "7", part=part)
    assert "The key selector behind operator 'parse' failed on the record 7" in str(failure)
