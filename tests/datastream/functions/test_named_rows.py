from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Row, RowKind, Types
from penstock.common.rows.data_frame_row import row_factory
from penstock.datastream.functions import (
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from penstock.datastream.functions.named_rows import declared_names, name_results, named_row
from penstock.datastream.output_tag import OutputTag
from penstock.errors import TypeMismatchError
from penstock.runtime.user_code import timer_callback
from penstock.testing import local_environment

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
ANN = Row("name", "age")("Ann", 42)


def test_only_row_types_with_names_name_anything() -> None:
    assert declared_names(PERSON) == ("name", "age")
    for other in (None, Types.INT(), Types.ROW([Types.INT()]), Types.TUPLE([Types.INT()])):
        assert declared_names(other) is None
        assert name_results(len, "map", other) is len


@pytest.mark.parametrize("value", [("Ann", 42), ["Ann", 42], Row("Ann", 42), ANN])
def test_rows_tuples_and_lists_become_rows_with_names(value: Any) -> None:
    named = named_row(value, ("name", "age"), "")
    assert named == ANN
    assert named.name == "Ann"


@pytest.mark.parametrize("value", [None, "Ann", 42, {"name": "Ann"}, Row(a=1, b=2, c=3)])
def test_everything_else_is_left_alone(value: Any) -> None:
    assert named_row(value, ("name", "age"), "") is value


def test_rows_with_names_get_the_order_of_the_type() -> None:
    row = Row(age=42, name="Ann")
    row.set_row_kind(RowKind.DELETE)
    for value in (row, row_factory(["age", "name"])((42, "Ann"))):
        named = named_row(value, ("name", "age"), "")
        assert (repr(named), list(named)) == ("Row(name='Ann', age=42)", ["Ann", 42])
        assert named.get_row_kind() is value.get_row_kind()
    assert list(row) == [42, "Ann"]

    people = local_environment().from_collection([row], PERSON)
    again = people.map(lambda person: Row(age=person[1], name=person[0]), PERSON)
    assert list(again.map(list).execute_and_collect()) == [["Ann", 42]]


def test_the_kind_of_a_row_stays() -> None:
    row = Row("Ann", 42)
    row.set_row_kind(RowKind.UPDATE_AFTER)
    assert named_row(row, ("name", "age"), "").get_row_kind() is RowKind.UPDATE_AFTER


def ages(stream: Any) -> list[int]:
    return list(stream.map(lambda person: person.age).execute_and_collect())


def test_results_of_map_have_names() -> None:
    people = local_environment().from_collection([1, 2])
    assert ages(people.map(lambda n: ("Ann", n), output_type=PERSON)) == [1, 2]


def test_results_of_flat_map_have_names() -> None:
    people = local_environment().from_collection([0, 2])
    repeated = people.flat_map(lambda n: [["Ann", n]] * n or None, output_type=PERSON)
    assert ages(repeated) == [2, 2]


LATE = OutputTag("late")
LATE_PERSON = OutputTag("late person", PERSON)


def split(n: int, ctx: Any) -> Iterator[Any]:
    yield Row("Ann", n)
    yield LATE, ("Bob", n)
    yield LATE_PERSON, ("Cid", n)


def test_results_of_process_have_names_and_side_outputs_are_left_alone() -> None:
    people = local_environment().from_collection([1]).process(split, output_type=PERSON)
    assert ages(people) == [1]
    assert list(people.get_side_output(LATE).execute_and_collect()) == [("Bob", 1)]
    late = people.get_side_output(LATE_PERSON)
    assert [row.as_dict() for row in late.execute_and_collect()] == [{"name": "Cid", "age": 1}]
    assert late.get_type() == PERSON


def test_results_of_a_keyed_process_have_names() -> None:
    keyed = local_environment().from_collection([1]).key_by(lambda n: n)
    assert ages(keyed.process(split, output_type=PERSON)) == [1]


class Opened(MapFunction, FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_task_name()

    def map(self, value: int) -> Any:
        return self.name, value

    def flat_map(self, value: int) -> Any:
        yield self.name, value


def test_functions_are_still_opened() -> None:
    numbers = local_environment().from_collection([1])
    for stream in (numbers.map(Opened(), PERSON), numbers.flat_map(Opened(), PERSON)):
        names = stream.name("Ann").map(lambda person: person.name)
        assert list(names.execute_and_collect()) == ["Ann"]


def test_a_wrong_number_of_fields_names_operator_and_result() -> None:
    people = local_environment().from_collection([1]).map(lambda n: (n,), PERSON).name("people")
    with pytest.raises(TypeMismatchError) as caught:
        list(people.execute_and_collect())
    assert "Operator 'people' returned (1,), which has 1 fields, while 2 are declared." in str(
        caught.value
    )


def test_results_of_timers_have_names() -> None:
    class Timed(KeyedProcessFunction):
        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
            ctx.timer_service().register_event_time_timer(value)
            yield OutputTag("side"), (value, value)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
            yield (timestamp,)

    stream = local_environment().from_collection([5]).key_by(lambda number: number)
    timed = stream.process(Timed(), Types.ROW_NAMED(["time"], [Types.LONG()]))

    assert [row.time for row in timed.execute_and_collect()] == [5]


def test_names_do_not_make_a_function_one_with_timers() -> None:
    class Split(KeyedProcessFunction):
        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
            yield "Ann", value

    assert timer_callback(name_results(Split(), "process_element", PERSON)) is None
