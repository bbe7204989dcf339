from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Journal, Unprintable, network_edge, operator_spec
from tests.runtime.strategies import TIMES_AND_KEYS
from tests.runtime.task.test_chain import Built, line
from tests.strategies import any_of, from_zero

from penstock.common import Types
from penstock.common.typeinfo import TypeInformation
from penstock.errors import TypeMismatchError, UserFunctionError
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import (
    FilterOperator,
    FlatMapOperator,
    FunctionOperator,
    MapOperator,
)
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import SinkOperator
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.program import ChainedEdge
from penstock.runtime.task.fused_loop import FILE_NAME
from penstock.runtime.task.fused_operators import FusedOperators
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.user_code import FAILURES, function_failure, record_text


class ByItself(FunctionOperator):
    """An operator of another type, with a loop of its own."""

    def process_block(self, block: Block) -> None:
        values: list[Any] = []
        times: list[int | None] = []
        for record in block.records():
            try:
                values += self.results(record.value)
            except FAILURES as error:
                raise function_failure(error, self.name, record_text(record.value)) from error
            times += [record.timestamp] * (len(values) - len(times))
        self.output.collect(Block(values, None if block.timestamps is None else times))

    def results(self, value: Any) -> Iterable[Any]:
        raise NotImplementedError


class OwnMap(ByItself, MapOperator):
    def results(self, value: Any) -> Iterable[Any]:
        return [self._call(value)]


class OwnFilter(ByItself, FilterOperator):
    def results(self, value: Any) -> Iterable[Any]:
        return [value] if self._call(value) else []


class OwnFlatMap(ByItself, FlatMapOperator):
    def results(self, value: Any) -> Iterable[Any]:
        return self._call(value) or ()


class OwnProcess(ProcessOperator):
    """Of another type, with its own loop."""


class OwnReduce(ReduceOperator):
    pass


class OwnSink(ByItself, SinkOperator):
    def results(self, value: Any) -> Iterable[Any]:
        self._call(value)
        return ()


APART: dict[type[StreamOperator], type[Any]] = {
    MapOperator: OwnMap,
    FilterOperator: OwnFilter,
    FlatMapOperator: OwnFlatMap,
    ProcessOperator: OwnProcess,
    ReduceOperator: OwnReduce,
    SinkOperator: OwnSink,
}


def noting(journal: Journal, name: str) -> Callable[[Any], Any]:
    """A map that writes down what it is called for."""

    def note(value: Any) -> Any:
        journal.append((name, value))
        return value

    return note


def counts(built: Built) -> list[tuple[int, int]]:
    return [(entry.records_in, entry.records_out) for entry in built.chain.metrics]


def dropping(value: Any) -> list[Any] | None:
    return None if value < 0 else [value] * int(value % 4)


def yielding(value: Any) -> Iterator[Any]:
    yield value
    yield value + 1


def timed(value: int, context: Any) -> Iterator[Any] | None:
    """Mind the time of the record, and give some results to a side output."""
    if value % 5 == 0:
        return None
    return iter([value + (context.timestamp() or 0) % 7, (SIDE, value), -value])


def declared(operator: StreamOperator, result_type: TypeInformation) -> StreamOperator:
    operator.result_type = result_type
    return operator


SIDE = OutputTag("side")
STEPS: list[StreamOperator] = [
    MapOperator(lambda value: value + 3),
    MapOperator(lambda value: -value),
    FilterOperator(lambda value: value % 3),
    FilterOperator(lambda value: value > -20),
    FlatMapOperator(dropping),
    FlatMapOperator(yielding),
    ProcessOperator(timed),
    declared(MapOperator(lambda value: value + 3), Types.DOUBLE()),
    declared(MapOperator(lambda value: value / 2), Types.FLOAT()),
    declared(FlatMapOperator(yielding), Types.DOUBLE()),
    declared(ProcessOperator(timed), Types.DOUBLE()),
]


NUMBERS = from_zero(-50, 50)


def steps_of(drawn: bytes) -> list[StreamOperator]:
    """Return two to six operators; the first byte says how many."""
    return [STEPS[number % len(STEPS)] for number in drawn[1:]][: 2 + drawn[0] % 5]


def block_of(drawn: bytes) -> Block:
    """Return up to twenty records, each of two bytes; the first says how many, and whether they are timed."""
    size, is_timed = drawn[0] // 2 % 21, drawn[0] % 2
    values = [NUMBERS[number % len(NUMBERS)] for number in drawn[1::2]][:size]
    times, keys = ([TIMES_AND_KEYS[number][part] for number in drawn[2::2]] for part in (0, 1))
    return Block(values, times[:size] if is_timed else None, keys[:size])


@settings(max_examples=200, deadline=None)
@given(any_of([False, True], [False, True], [1, 2, 3]), st.binary(min_size=130, max_size=130))
def test_give_and_count_what_they_give_apart(ends: tuple[bool, bool, int], drawn: bytes) -> None:
    begins_with_reduce, ends_in_sink, count = ends
    steps = steps_of(drawn[:7])
    given = [block_of(drawn[7 + 41 * place :][:41]) for place in range(count)]

    def run(kind_of: Callable[[type[StreamOperator]], type[Any]]) -> tuple[Any, ...]:
        sunk = Journal()
        operators: list[Any] = []
        for step in steps:
            operators.append(kind_of(type(step))(step.function.function))  # type: ignore[attr-defined]
            operators[-1].result_type = step.result_type
        if begins_with_reduce:
            operators.insert(0, kind_of(ReduceOperator)(lambda left, right: left + right))
        if ends_in_sink:
            operators.append(kind_of(SinkOperator)(sunk.append))
        built = Built(line(*operators))
        for block in given:
            built.chain.process(block)
        left = [
            record
            for output in built.left.values()
            for tag in (None, "side")
            for record in output.records(tag)
        ]
        states = [
            list(operator.table.values())
            for operator in built.chain.operators
            if isinstance(operator, ReduceOperator)
        ]
        return repr(left), repr(list(sunk)), counts(built), repr(states)  # 1 is no 1.0

    assert run(lambda kind: kind) == run(APART.__getitem__)


def test_a_result_of_another_type_than_declared_ends_in_its_own_operator() -> None:
    journal = Journal()
    words = declared(MapOperator(lambda value: value or 7), Types.STRING())
    [spec, *others] = line(words, MapOperator(noting(journal, "later")))
    built = Built([replace(spec, name="words"), *others])

    with pytest.raises(TypeMismatchError, match=r"^The result of operator 'words' is no String: 7"):
        built.chain.process(Block(["a", 0, "b"]))
    assert journal == [("later", "a")]


def test_rows_made_inside_of_a_loop_may_be_changed_by_the_next_function() -> None:
    pairs = declared(MapOperator(lambda value: (value, 1)), Types.ROW([Types.INT(), Types.INT()]))
    seen: list[Any] = []

    def change(row: Any) -> Any:
        for earlier in seen:
            earlier[1] = "changed later"
        seen.append(row)
        return row

    built = Built(line(pairs, MapOperator(change), OwnMap(repr)))
    built.chain.process(Block([1, 2], is_immutable=True, is_harmless=True))
    [left] = built.left.values()
    assert [record[0] for record in left.records()] == ["Row(f0=1, f1=1)", "Row(f0=2, f1=1)"]


class Shown(OwnMap):
    """Notes of each block whether it is taken for one that nobody can change."""

    def process_block(self, block: Block) -> None:
        self.function.function(block.is_fixed or block.is_known_immutable)


def test_what_is_made_a_row_inside_of_a_loop_is_not_taken_for_what_nobody_can_change() -> None:
    given = Block([1, 2], is_immutable=True, is_harmless=True)
    for result_type, is_fixed in ((Types.INT(), True), (Types.ROW([Types.INT()]), False)):
        journal = Journal()
        made = declared(MapOperator(lambda value: value), result_type)
        if not is_fixed:
            made = declared(MapOperator(lambda value: (value,)), result_type)
        built = Built(line(made, MapOperator(lambda value: value), Shown(journal.append)))
        built.chain.process(given)
        assert set(journal) == {is_fixed}


class TestWhatRunsAsOne:
    """Seen by the order of calls: each record goes all the way, or each block."""

    def calls(self, *specs: Any, **options: Any) -> list[Any]:
        built = Built(specs, **options)
        self.journal.clear()
        built.chain.process(Block([1, 2], None, [1, 1]))
        return [name for name, _ in self.journal]

    @pytest.fixture(autouse=True)
    def _new_journal(self) -> None:
        self.journal = Journal()

    def note(self, name: str) -> Callable[[Any], Any]:
        return noting(self.journal, name)

    def two(self) -> list[Any]:
        return line(MapOperator(self.note("a")), MapOperator(self.note("b")))

    def test_neighbours(self) -> None:
        assert self.calls(*self.two()) == ["a", "b", "a", "b"]

    def test_a_reduce_and_those_behind_it(self) -> None:
        reduce = ReduceOperator(lambda left, right: self.note("a")(left + right))
        specs = line(reduce, MapOperator(self.note("b")), SinkOperator(self.note("c")))

        assert self.calls(*specs) == ["b", "c", "a", "b", "c"]

    def test_a_process_function_and_those_around_it(self) -> None:
        specs = line(
            MapOperator(self.note("a")),
            ProcessOperator(lambda value, context: [self.note("b")(value)]),
            MapOperator(self.note("c")),
        )
        assert self.calls(*specs) == ["a", "b", "c", "a", "b", "c"]

    def test_not_where_values_are_copied(self) -> None:
        assert self.calls(*self.two(), object_reuse=False) == ["a", "a", "b", "b"]

    def test_not_those_of_other_types(self) -> None:
        specs = line(OwnMap(self.note("a")), MapOperator(self.note("b")))

        assert self.calls(*specs) == ["a", "a", "b", "b"]

    def test_not_across_a_fork(self) -> None:
        specs = [
            operator_spec(
                MapOperator(self.note("a")), "head", chained=[ChainedEdge(1), ChainedEdge(2)]
            ),
            operator_spec(MapOperator(self.note("b")), "one"),
            operator_spec(MapOperator(self.note("c")), "other"),
        ]
        assert self.calls(*specs) == ["a", "a", "b", "b", "c", "c"]

    def test_not_across_what_leaves_the_chain(self) -> None:
        specs = [
            operator_spec(
                MapOperator(self.note("a")),
                "head",
                chained=[ChainedEdge(1)],
                network=[network_edge()],
            ),
            operator_spec(MapOperator(self.note("b")), "tail"),
        ]
        assert self.calls(*specs) == ["a", "a", "b", "b"]

    def test_only_those_behind_a_side_output(self) -> None:
        side = OutputTag("side")
        specs = [
            operator_spec(
                ProcessOperator(lambda value, context: [(side, value)]),
                "process",
                chained=[ChainedEdge(1, "side")],
            ),
            operator_spec(MapOperator(self.note("a")), "one", chained=[ChainedEdge(2)]),
            operator_spec(MapOperator(self.note("b")), "other"),
        ]
        assert self.calls(*specs) == ["a", "b", "a", "b"]

    def test_not_those_that_get_a_side_output_alone(self) -> None:
        specs = [
            operator_spec(MapOperator(self.note("a")), "map", chained=[ChainedEdge(1, "side")]),
            operator_spec(MapOperator(self.note("b")), "behind"),
        ]
        assert self.calls(*specs) == ["a", "a"]

    def test_no_reduce_in_batch_mode(self) -> None:
        specs = line(ReduceOperator(lambda left, right: left + right), MapOperator(self.note("a")))
        built = Built(specs, batch=True)
        built.chain.process(Block([1, 2], None, [1, 1]))
        assert self.journal == []
        built.chain.entry.emit_watermark(MAX_TIMESTAMP)

        assert self.journal == [("a", 3)]


def test_a_reduce_behind_others_misses_its_keys() -> None:
    built = Built(line(MapOperator(str), ReduceOperator(lambda left, right: left + right)))

    with pytest.raises(TypeError, match="'op1' got records without keys"):
        built.chain.process(Block([1], None, ["k"]))


def test_a_reduce_notes_which_keys_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    built = Built(line(ReduceOperator(lambda left, right: left + right), MapOperator(str)))
    noted: list[Any] = []
    state = built.chain.operators[0].state
    monkeypatch.setattr(state, "mark_changed", lambda table, keys: noted.append(keys))
    built.chain.process(Block([1, 2], None, ["a", "b"]))

    assert noted == [["a", "b"]]


class Renewed:
    """A function that takes another in its own place when it is opened."""

    def __init__(self) -> None:
        self.map: Callable[[int], int] = lambda value: value + 1

    def open(self, context: Any) -> None:
        self.map = lambda value: -value


@pytest.mark.parametrize("kind", [MapOperator, OwnMap])
def test_what_is_called_is_what_the_function_has_once_it_is_open(kind: type[Any]) -> None:
    built = Built(line(kind(Renewed()), kind(lambda value: 10 * value)))
    built.chain.open()
    built.chain.process(Block([1]))
    assert [record[0] for output in built.left.values() for record in output.records()] == [-10]


def test_watermarks_pass_all_of_them() -> None:
    built = Built(line(*(MapOperator(str) for _ in range(3))))
    built.chain.process(Block([1]))
    built.chain.entry.emit_watermark(5)

    assert [entry.input_watermark for entry in built.chain.metrics] == [5, 5, 5]
    assert built.left[0].log[-1] == ("watermark", 5)


def test_long_results_are_passed_on_in_blocks() -> None:
    built = Built(
        line(FlatMapOperator(lambda value: iter(range(value))), MapOperator(lambda value: -value))
    )
    built.chain.process(Block([3000, 2], [7, 8]))

    results = built.left[0].blocks()
    assert max(len(block) for block in results) == BLOCK_SIZE
    assert built.left[0].records() == [
        *((-number, 7) for number in range(3000)),
        (0, 8),
        (-1, 8),
    ]
    assert counts(built) == [(2, 3002), (3002, 3002)]


def test_any_number_of_flat_maps_can_stand_one_behind_the_other() -> None:
    """More than Python can nest loops."""
    built = Built(line(*(FlatMapOperator(lambda value: [value + 1]) for _ in range(50))))
    built.chain.process(Block([1]))

    assert built.left[0].values() == [51]
    assert counts(built) == [(1, 1)] * 50


def test_blocks_are_left_as_they_were() -> None:
    block = Block([1, 2, 3], [4, 5, 6], [7, 8, 9])
    Built(line(FilterOperator(bool), MapOperator(str))).chain.process(block)

    assert (block.values, block.timestamps, block.keys) == ([1, 2, 3], [4, 5, 6], [7, 8, 9])


class Undecided:
    def __bool__(self) -> bool:
        raise ArithmeticError("undecided")


def fails_on_two(value: int) -> int:
    if value % 10 == 2:
        raise ZeroDivisionError("by nothing")
    return value + 10


def ends_on_two(value: int) -> int:
    if value % 10 == 2:
        raise StopIteration
    return value + 10


def breaks_off(value: int) -> Iterator[int]:
    yield value + 10
    fails_on_two(value)


def identity(value: Any) -> Any:
    return value


def failure_of(*operators: StreamOperator, timed: bool = False) -> UserFunctionError:
    built = Built(line(*operators))
    with pytest.raises(UserFunctionError) as raised:
        built.chain.process(Block([1, 2, 3], [5, 6, 7] if timed else None, ["k", "k", "k"]))
    return raised.value


class TestFailures:
    @pytest.mark.parametrize("timed", [False, True])
    @pytest.mark.parametrize(
        ("operator", "error"),
        [
            (MapOperator(fails_on_two), "ZeroDivisionError: by nothing"),
            (MapOperator(ends_on_two), "StopIteration"),
            (FilterOperator(fails_on_two), "ZeroDivisionError: by nothing"),
            (FilterOperator(ends_on_two), "StopIteration"),
            (
                FilterOperator(lambda value: value != 12 or Undecided()),
                "ArithmeticError: undecided",
            ),
            (FlatMapOperator(lambda value: [fails_on_two(value)]), "ZeroDivisionError: by nothing"),
            (FlatMapOperator(lambda value: [ends_on_two(value)]), "StopIteration"),
            (FlatMapOperator(breaks_off), "ZeroDivisionError: by nothing"),
            (
                ProcessOperator(lambda value, context: [fails_on_two(value)]),
                "ZeroDivisionError: by nothing",
            ),
            (ProcessOperator(lambda value, context: breaks_off(value)), "ZeroDivisionError"),
            (SinkOperator(fails_on_two), "ZeroDivisionError: by nothing"),
            (SinkOperator(ends_on_two), "StopIteration"),
        ],
    )
    def test_name_the_operator_and_the_record_that_it_was_given(
        self, operator: StreamOperator, error: str, timed: bool
    ) -> None:
        before = [
            MapOperator(lambda value: value + 10),
            FlatMapOperator(lambda value: [value]),
            FilterOperator(identity),
        ]
        behind = [] if isinstance(operator, SinkOperator) else [MapOperator(identity)] * 2
        failure = failure_of(*before, operator, *behind, timed=timed)

        assert (failure.operator, failure.record) == ("op3", "12")
        assert f"\n{error}" in str(failure)
        assert FILE_NAME not in str(failure)
        assert "Operator 'op3' failed on the record 12" in str(failure)

    @pytest.mark.parametrize(
        ("operator", "error"),
        [
            (MapOperator(lambda value: 10 // (value - 2)), "ZeroDivisionError"),
            (FilterOperator(fails_on_two), "ZeroDivisionError: by nothing"),
            (FilterOperator(ends_on_two), "StopIteration"),
            (FilterOperator(lambda value: value != 2 or Undecided()), "ArithmeticError: undecided"),
        ],
    )
    def test_of_one_alone_name_the_record_too(self, operator: StreamOperator, error: str) -> None:
        """Python itself calls its function, as nobody has to look at the results."""
        built = Built(line(operator))
        for values in ([1, 2, 3], [1, 2]):
            with pytest.raises(UserFunctionError) as raised:
                built.chain.process(Block(values, is_immutable=True, is_harmless=True))
            assert (raised.value.operator, raised.value.record) == ("op0", "2")
            assert error in str(raised.value)

    def test_of_a_reduce_name_the_record_and_not_the_result_so_far(self) -> None:
        def add(left: int, right: int) -> int:
            return left + fails_on_two(right)

        failure = failure_of(ReduceOperator(add), MapOperator(identity))
        assert (failure.operator, failure.record) == ("op0", "2")

    def test_behind_a_reduce_name_the_result(self) -> None:
        def refuse(total: int) -> int:
            return 1 // (total - 3)

        failure = failure_of(ReduceOperator(lambda left, right: left + right), MapOperator(refuse))
        assert (failure.operator, failure.record) == ("op1", "3")

    def test_further_down_the_chain_name_who_failed_there(self) -> None:
        """Also if a full block is passed on amid the loop."""
        many = FlatMapOperator(lambda value: range(BLOCK_SIZE))
        failure = failure_of(many, MapOperator(identity), OwnMap(fails_on_two), MapOperator(str))

        assert (failure.operator, failure.record) == ("op2", "2")

    def test_name_a_record_without_a_text(self) -> None:
        failure = failure_of(
            MapOperator(lambda value: Unprintable()), MapOperator(lambda value: value.missing)
        )
        assert failure.operator == "op1"
        assert "Unprintable whose repr raised" in str(failure)

    def test_say_what_a_flat_map_may_return(self) -> None:
        failure = failure_of(MapOperator(identity), FlatMapOperator(lambda value: value))

        assert (failure.operator, failure.record) == ("op1", "1")
        assert failure.hint is not None
        assert "in an iterable" in failure.hint

    def test_the_end_of_the_process_passes(self) -> None:
        def interrupted(value: int) -> int:
            raise KeyboardInterrupt

        built = Built(line(MapOperator(identity), MapOperator(interrupted)))
        with pytest.raises(KeyboardInterrupt):
            built.chain.process(Block([1]))

    def test_are_the_first_in_the_order_of_records(self) -> None:
        failure = failure_of(
            MapOperator(lambda value: 1 // (value - 3)), MapOperator(fails_on_two), timed=True
        )
        assert failure.operator == "op0"
        failure = failure_of(
            MapOperator(lambda value: value if value < 3 else 1 // 0), MapOperator(fails_on_two)
        )
        assert (failure.operator, failure.record) == ("op1", "2")


@pytest.mark.parametrize("timestamps", [None, [5]])
def test_a_frame_tells_whose_function_it_calls(timestamps: list[int | None] | None) -> None:
    found = Journal()

    def look(value: int) -> int:
        frame = sys._getframe(1)
        fused = frame.f_locals["fused"]
        assert isinstance(fused, FusedOperators)
        operator = fused.operator_at(frame, frame.f_lineno)
        assert operator is not None
        found.append((frame.f_code.co_filename, frame.f_code.co_name, operator.name))
        return value

    specs = line(MapOperator(look), FilterOperator(bool), MapOperator(look))
    Built(specs).chain.process(Block([1], timestamps))

    assert found == [(FILE_NAME, "map_filter_map", name) for name in ("op0", "op2")]
