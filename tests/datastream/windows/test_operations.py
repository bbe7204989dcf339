from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    AllWindowedStream,
    AllWindowFunction,
    DataStream,
    KeyedStream,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowedStream,
    WindowFunction,
)
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    NeverTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import (
    ColumnNotFoundError,
    InvalidArgumentError,
    InvalidFunctionError,
    InvalidParallelismError,
    InvalidTriggerError,
    InvalidWindowError,
    NonAssociativeReduceError,
    TriggerCannotMergeError,
    TypeMismatchError,
    UserFunctionError,
)
from penstock.runtime.windows.operator.pane_windows import AlignedWindows, SharedPanes
from penstock.testing import DataStreamHarness, local_environment

SIDE = OutputTag("side")
Sale = tuple[str, int, int]
SALES: list[Sale] = [("pen", 2, 100), ("ink", 9, 300), ("pen", 3, 900), ("pen", 1, 1200)]
SECONDS = TumblingEventTimeWindows.of(Time.seconds(1))


def sales(records: list[Any] = SALES, type_info: Any = None) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda sale, _: sale[2])
    stream = local_environment().from_collection(records, type_info)
    return stream.assign_timestamps_and_watermarks(strategy)


def keyed(records: list[Any] = SALES, type_info: Any = None) -> KeyedStream:
    return sales(records, type_info).key_by(lambda sale: sale[0])


def windows() -> WindowedStream:
    return keyed().window(SECONDS)


def all_windows() -> AllWindowedStream:
    return sales().window_all(SECONDS)


def values(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Best(ReduceFunction):
    def reduce(self, value1: Sale, value2: Sale) -> Sale:
        return max(value1, value2, key=lambda sale: sale[1])


class Apply(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: str, window: Any, inputs: Any) -> Iterator[Any]:
        yield key, window.start, list(inputs)
        yield SIDE, len(list(inputs))


class ApplyAll(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Any) -> Iterator[Any]:
        yield window.start, list(inputs)


class Process(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: str, context: Any, elements: Any) -> Iterator[Any]:
        assert context.current_watermark() >= context.window().max_timestamp()
        assert context.current_processing_time() > 0
        yield key, context.window().start, list(elements)


class ProcessAll(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Any) -> Iterator[Any]:
        assert context.current_watermark() >= context.window().max_timestamp()
        yield context.window().start, list(elements)


GROUPS = [
    ("pen", 0, [("pen", 2, 100), ("pen", 3, 900)]),
    ("ink", 0, [("ink", 9, 300)]),
    ("pen", 1000, [("pen", 1, 1200)]),
]


@pytest.mark.parametrize(
    "operation",
    [
        lambda: windows().apply(Apply()),
        lambda: windows().apply(Apply().apply),
        lambda: windows().process(Process()),
        lambda: windows().process(Process().process),
    ],
)
def test_a_function_gets_the_records_of_each_window(operation: Callable[[], DataStream]) -> None:
    assert values(operation()) == GROUPS


def test_a_window_function_has_side_outputs() -> None:
    assert values(windows().apply(Apply()).get_side_output(SIDE)) == [2, 1, 1]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda: windows().reduce(Best()), [SALES[2], SALES[1], SALES[3]]),
        (lambda: windows().aggregate(Count()), [2, 1, 1]),
        (
            lambda: windows().aggregate(Count(), Process()),
            [("pen", 0, [2]), ("ink", 0, [1]), ("pen", 1000, [1])],
        ),
        (
            lambda: windows().reduce(Best().reduce, lambda key, window, found: found),
            [SALES[2], SALES[1], SALES[3]],
        ),
        (
            lambda: windows().reduce(Best(), Apply()),
            [("pen", 0, [SALES[2]]), ("ink", 0, [SALES[1]]), ("pen", 1000, [SALES[3]])],
        ),
    ],
)
def test_records_are_joined_as_they_come(
    operation: Callable[[], DataStream], expected: list[Any]
) -> None:
    assert values(operation()) == expected


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda: all_windows().apply(ApplyAll()), [(0, SALES[:3]), (1000, SALES[3:])]),
        (lambda: all_windows().process(ProcessAll()), [(0, SALES[:3]), (1000, SALES[3:])]),
        (lambda: all_windows().reduce(Best()), [SALES[1], SALES[3]]),
        (lambda: all_windows().aggregate(Count(), ProcessAll()), [(0, [3]), (1000, [1])]),
        (lambda: all_windows().aggregate(Count(), ApplyAll()), [(0, [3]), (1000, [1])]),
        (lambda: all_windows().sum(1), [("pen", 14, 100), ("pen", 1, 1200)]),
    ],
)
def test_a_stream_is_cut_into_windows_as_a_whole(
    operation: Callable[[], DataStream], expected: list[Any]
) -> None:
    stream = operation()
    assert values(stream) == expected
    with pytest.raises(InvalidParallelismError):
        stream.set_parallelism(2)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sum", ("pen", 5, 100)),
        ("min", ("pen", 2, 100)),
        ("max", ("pen", 3, 100)),
        ("min_by", ("pen", 2, 100)),
        ("max_by", ("pen", 3, 900)),
    ],
)
def test_a_field_is_aggregated(method: str, expected: Sale) -> None:
    found = values(getattr(windows(), method)(1))

    assert found == [expected, ("ink", 9, 300), ("pen", 1, 1200)]


def test_sliding_windows_share_what_their_records_come_to() -> None:
    sliding = keyed().window(SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1)))
    found = values(sliding.reduce(Best(), lambda key, window, best: [(window.start, *best)]))

    assert sorted(found) == [
        (-1000, SALES[1]), (-1000, SALES[2]), (0, SALES[1]), (0, SALES[2]), (1000, SALES[3]),
    ]  # fmt: skip


def test_count_windows_are_full() -> None:
    numbers = local_environment().from_collection([1, 2, 3, 4, 5])
    by_one_key = numbers.key_by(lambda number: 0)

    assert values(by_one_key.count_window(2).sum()) == [3, 7]
    assert values(by_one_key.count_window(3, 1).sum()) == [6, 9, 12]
    assert values(numbers.count_window_all(2, 3).sum()) == [3, 9]
    partial = by_one_key.window(GlobalWindows.create()).evictor(CountEvictor.of(3))
    assert values(partial.trigger(CountTrigger.of(2)).sum()) == [3, 9]


def test_late_data_goes_to_its_side_output() -> None:
    def at_once(sale: Sale, ctx: Any) -> Iterator[Any]:
        yield sale

    late = OutputTag("late")
    result = windows().allowed_lateness(0).side_output_late_data(late).sum(1)
    assert values(result.get_side_output(late).process(at_once)) == []


def test_a_windowed_stream_tells_of_its_input() -> None:
    row = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])
    stream = keyed(type_info=row)
    windowed = stream.map(lambda sale: sale, row).key_by(0).window(SECONDS)

    assert windowed.get_input_type() == row
    assert windowed.get_execution_environment() is stream.get_execution_environment()
    assert windowed.sum(1).get_type() == row
    assert windowed.aggregate(Count(), output_type=Types.INT()).get_type() == Types.INT()
    assert windowed.sum(1).get_name() == "TumblingEventTimeWindows"
    with pytest.raises(ColumnNotFoundError):
        windowed.sum(3)


def test_results_get_the_field_names_of_their_type() -> None:
    named = Types.ROW_NAMED(["name", "count"], [Types.STRING(), Types.LONG()])

    def count(key: str, window: Any, inputs: Any) -> Iterator[Any]:
        yield key, len(list(inputs))

    class Counted(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: str, context: Any, elements: Any) -> Iterator[Any]:
            yield key, len(list(elements))

        def clear(self, context: Any) -> None:
            assert context.window().start % 1000 == 0

    class Pair(Count):
        def get_result(self, accumulator: int) -> Any:
            return "any", accumulator

    for result in (windows().apply(count, named), windows().process(Counted(), named)):
        assert values(result.map(lambda row: (row.name, row.count))) == [
            ("pen", 2), ("ink", 1), ("pen", 1),
        ]  # fmt: skip
    result = windows().aggregate(Pair(), output_type=named)
    assert values(result.map(lambda row: row.name)) == ["any"] * 3


def test_an_aggregate_of_another_type_is_refused() -> None:
    with pytest.raises(TypeMismatchError, match="the key 'pen' and the window TimeWindow"):
        values(windows().aggregate(Count(), output_type=Types.STRING()))
    with pytest.raises(TypeMismatchError, match="the accumulator is no"):
        values(windows().aggregate(Count(), accumulator_type=Types.STRING()))


class Gathered(Count):
    """Returns its accumulator itself."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


def drained(key: Any, window: Any, lists: Any) -> Iterator[int]:
    for numbers in lists:
        yield sum(numbers)
        numbers.clear()


@pytest.mark.parametrize(
    ("assigner", "sums"),
    [
        (TumblingEventTimeWindows.of(10), [3, 7, 12]),
        (SlidingEventTimeWindows.of(10, 5), [3, 3, 7, 7, 12, 5]),
        (EventTimeSessionWindows.with_gap(10), [3, 7, 12]),
    ],
)
def test_a_function_may_change_an_accumulator_that_it_is_given(assigner: Any, sums: Any) -> None:
    windowed = sales().key_by(lambda _: "all").window(assigner).allowed_lateness(100)
    harness = DataStreamHarness(windowed.aggregate(Gathered(), drained))
    for number in (1, 2):
        harness.process_element(number, timestamp=number)
    harness.process_watermark(50)
    for number in (4, 5):
        harness.process_element(number, timestamp=number)
    results = harness.extract_output_values()
    harness.close()
    assert sorted(results) == sorted(sums)


def test_results_do_not_change_after_they_were_emitted() -> None:
    numbers = local_environment().from_collection([1, 2, 3, 4]).key_by(lambda _: "all")
    windowed = numbers.window(GlobalWindows.create()).trigger(CountTrigger.of(2))
    assert values(windowed.aggregate(Gathered())) == [[1, 2], [1, 2, 3, 4]]


def test_a_failing_function_is_told_with_key_and_window() -> None:
    def fail(key: str, window: Any, inputs: Any) -> Iterator[Any]:
        yield 1 / 0

    with pytest.raises(UserFunctionError) as failure:
        values(windows().apply(fail).name("Mine"))
    assert (
        "ZeroDivisionError: division by zero\n\n"
        "Operator 'Mine' failed on the key 'pen' and the window TimeWindow(start=0, end=1000)\n"
    ) in str(failure.value)


def anything(stream: Any) -> Any:
    """Let the test say what no program should."""
    return stream


SESSIONS = EventTimeSessionWindows.with_gap(Time.seconds(1))


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: anything(keyed()).window(10), InvalidArgumentError),
        (lambda: anything(sales()).window_all("day"), InvalidArgumentError),
        (lambda: anything(keyed()).count_window(0), InvalidWindowError),
        (lambda: anything(keyed()).count_window(2, -1), InvalidWindowError),
        (lambda: anything(sales()).count_window_all(2.5), InvalidWindowError),
        (lambda: anything(windows()).trigger(CountEvictor.of(1)), InvalidArgumentError),
        (lambda: anything(windows()).evictor(CountTrigger.of(1)), InvalidArgumentError),
        (
            lambda: anything(keyed()).window(SESSIONS).trigger(NeverTrigger()),
            TriggerCannotMergeError,
        ),
        (lambda: anything(windows()).allowed_lateness(-1), InvalidArgumentError),
        (lambda: anything(windows()).allowed_lateness("soon"), InvalidArgumentError),
        (lambda: anything(windows()).side_output_late_data("late"), InvalidArgumentError),
        (lambda: anything(windows()).reduce(lambda a: a), InvalidFunctionError),
        (lambda: anything(windows()).reduce(Best), InvalidFunctionError),
        (lambda: anything(windows()).reduce(Best(), lambda key: [key]), InvalidFunctionError),
        (lambda: anything(windows()).aggregate(lambda a, b: a), InvalidFunctionError),
        (lambda: anything(windows()).aggregate(Count), InvalidFunctionError),
        (
            lambda: anything(windows()).aggregate(Count(), accumulator_type=int),
            InvalidArgumentError,
        ),
        (lambda: anything(windows()).apply(ApplyAll()), InvalidFunctionError),
        (lambda: anything(windows()).process(ProcessAll()), InvalidFunctionError),
        (lambda: anything(windows()).reduce(Best(), ProcessAll()), InvalidFunctionError),
        (lambda: anything(all_windows()).apply(Apply()), InvalidFunctionError),
        (lambda: anything(all_windows()).process(Process()), InvalidFunctionError),
        (lambda: anything(windows()).sum(-1), InvalidArgumentError),
        (lambda: anything(windows()).apply(Apply(), "INT"), InvalidArgumentError),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_said(
    build: Callable[[], Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as failure:
        build()
    assert type(failure.value) is error


def test_lateness_may_be_a_duration() -> None:
    assert values(windows().allowed_lateness(Duration.of_seconds(5)).aggregate(Count())) == [
        2,
        1,
        1,
    ]


@pytest.mark.parametrize("assigner", [EventTimeSessionWindows, GlobalWindows])
def test_an_assigner_without_a_trigger_of_its_own_needs_one(assigner: Any) -> None:
    class Odd(assigner):  # type: ignore[misc]
        def get_default_trigger(self, env: Any) -> Any:
            return None

    windowed = keyed().window(Odd(1000) if assigner is EventTimeSessionWindows else Odd())
    with pytest.raises(InvalidTriggerError, match="get_default_trigger of Odd returned None"):
        windowed.reduce(Best())
    assert values(windowed.trigger(CountTrigger.of(9)).sum(1)) == []


def test_an_assigner_whose_own_trigger_cannot_merge_is_refused() -> None:
    class Odd(EventTimeSessionWindows):
        def get_default_trigger(self, env: Any) -> Any:
            return NeverTrigger()

    with pytest.raises(TriggerCannotMergeError, match="NeverTrigger cannot"):
        keyed().window(Odd(1000)).reduce(Best())


def test_panes_are_shared_unless_the_program_says_otherwise() -> None:
    def sums(**options: Any) -> DataStream:
        sliding = keyed().window(SlidingEventTimeWindows.of(20, 10))
        return sliding.reduce(lambda a, b: (a[0], a[1] + 1, a[2]), **options)

    kinds = [
        stream._transformation.operator.windows  # type: ignore[attr-defined]
        for stream in (sums(), sums(share_panes=False))
    ]
    assert kinds == [SharedPanes, AlignedWindows]


def test_a_reduce_function_that_cannot_share_panes_is_told_how_to_do_without() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda click, _: click[0])

    def counts(**options: Any) -> DataStream:
        clicks = local_environment().from_collection([(1, 1), (12, 1), (13, 1), (14, 1)])
        timed = clicks.assign_timestamps_and_watermarks(strategy)
        windows = timed.key_by(lambda _: "all").window(SlidingEventTimeWindows.of(20, 10))
        return windows.reduce(lambda a, b: (a[0], a[1] + 1), **options)

    with pytest.raises(NonAssociativeReduceError, match="share_panes=False"):
        values(counts())
    assert values(counts(share_panes=False)) == [(1, 1), (1, 4), (12, 3)]
