"""What functions do to objects they gave out, or were given, changes no result.

Random pipelines of functions that change such objects, in place, at every later call, against a model that
takes one record after the other and copies where a record leaves its chain or takes another branch.
"""

from __future__ import annotations

import copy
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Journal
from tests.semantics.conftest import NewEnvironment
from tests.semantics.objects.spoiling import (
    FUNCTIONS,
    Buffer,
    Holder,
    Identity,
    Spoiling,
    spoil,
    text,
)
from tests.semantics.running import collect

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    AsyncDataStream,
    CoProcessFunction,
    DataStream,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    ValueStateDescriptor,
)
from penstock.testing import local_environment
from penstock.testing.source import TestingSource

Push = Callable[[Any], None]
SIDE = OutputTag("side")


class Step:
    """A step of a pipeline.

    Args:
        function: What its function does.
    """

    def __init__(self, function: type[Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.function.__name__})"

    def attach(self, stream: DataStream) -> DataStream:
        raise NotImplementedError

    def model(self, push: Push) -> Push:
        """Return what takes one record, and pushes all that comes of it."""
        function = self.function()

        def take(value: Any) -> None:
            for result in function(value):
                push(result)

        return take


class FlatMap(Step):
    def attach(self, stream: DataStream) -> DataStream:
        return stream.flat_map(self.function())


class Map(Step):
    """Only the last result of each record."""

    def attach(self, stream: DataStream) -> DataStream:
        function = self.function()
        return stream.map(lambda value: list(function(value))[-1])

    def model(self, push: Push) -> Push:
        function = self.function()
        return lambda value: push(list(function(value))[-1])


class Filter(Step):
    def attach(self, stream: DataStream) -> DataStream:
        function = self.function()
        return stream.filter(lambda value: len(text(list(function(value)))) % 5)

    def model(self, push: Push) -> Push:
        function = self.function()

        def take(value: Any) -> None:
            if len(text(list(function(value)))) % 5:
                push(value)

        return take


class _Process(ProcessFunction):
    def __init__(self, function: Any) -> None:
        self.function = function

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.function(value)


class Process(Step):
    def attach(self, stream: DataStream) -> DataStream:
        return stream.process(_Process(self.function()))


class _WithSide(ProcessFunction):
    def __init__(self, function: Any) -> None:
        self.function = function

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for result in self.function(value):
            yield SIDE, result
            yield result


class SideOutput(Step):
    """The same results on a side output and the main one; both go on."""

    def attach(self, stream: DataStream) -> DataStream:
        main = stream.process(_WithSide(self.function()))
        return main.union(main.get_side_output(SIDE))

    def model(self, push: Push) -> Push:
        function = self.function()

        def take(value: Any) -> None:
            for result in function(value):
                push(copy.deepcopy(result))
                push(copy.deepcopy(result))

        return take


class Fork(Step):
    """Two branches in the same chain, and one that leaves it."""

    def attach(self, stream: DataStream) -> DataStream:
        one = stream.flat_map(self.function())
        other = stream.flat_map(self.function())
        return one.union(other, stream)

    def model(self, push: Push) -> Push:
        def leave(value: Any) -> None:
            push(copy.deepcopy(value))

        one, other = Step.model(self, leave), Step.model(self, leave)

        def take(value: Any) -> None:
            leave(value)
            one(copy.deepcopy(value))
            other(value)

        return take


class Rebalance(Step):
    def attach(self, stream: DataStream) -> DataStream:
        return stream.rebalance().flat_map(self.function())

    def model(self, push: Push) -> Push:
        take = super().model(push)
        return lambda value: take(copy.deepcopy(value))


class Selector(Spoiling):
    """A key selector that changes what it saw, and gives out the same row again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.row = Row(0)

    def __call__(self, value: Any) -> Any:
        number = zlib.crc32(text(value).encode()) % 2
        self.spoil_all(but=value)
        self.remember(value)
        self.row[0] = number
        return self.row if self.is_row else number

    is_row = False


class RowSelector(Selector):
    is_row = True


class _Counting(KeyedProcessFunction):
    """Keeps in state what it gives out, and changes it later."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.spoiling = Spoiling()

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY())
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        key = ctx.get_current_key()
        if isinstance(key, Row):
            key[0] = "spoilt"
        yield from self.counted(value, self.count.value, self.count.update)

    def counted(
        self, value: Any, get: Callable[[], Any], update: Callable[[Any], None]
    ) -> Iterator[Any]:
        self.spoiling.spoil_all()
        count = get() or {"n": 0, "all": []}
        count["n"] += 1
        update(count)
        count["all"].append(count["n"])
        yield self.spoiling.remember(count)
        yield from self.function(value)


class Keyed(Step):
    """State that is changed where it was given out; keys that are changed too."""

    selector: ClassVar[type[Selector]] = Selector

    def attach(self, stream: DataStream) -> DataStream:
        return stream.key_by(self.selector()).process(_Counting(self.function()))

    def model(self, push: Push) -> Push:
        selector, counting = self.selector(), _Counting(self.function())
        states: dict[Any, Any] = {}

        def take(value: Any) -> None:
            shown = copy.deepcopy(value)
            key = copy.deepcopy(selector(shown))
            own = copy.deepcopy(shown)

            def get() -> Any:
                return copy.deepcopy(states.get(key))

            def update(count: Any) -> None:
                states[key] = copy.deepcopy(count)

            for result in counting.counted(own, get, update):
                push(result)

        return take


class KeyedByRow(Keyed):
    selector = RowSelector


class _Add(Spoiling):
    def __call__(self, left: Any, right: Any) -> Any:
        self.spoil_all(but=[left, right])
        left[0] += right[0]
        left[1].append(text(right))
        return self.remember(left)


class Reduce(Step):
    def attach(self, stream: DataStream) -> DataStream:
        pairs = stream.map(lambda value: [1, [text(value)]])
        return pairs.key_by(Selector()).reduce(_Add()).flat_map(self.function())

    def model(self, push: Push) -> Push:
        selector, add = Selector(), _Add()
        states: dict[Any, Any] = {}
        take_result = super().model(push)

        def take(value: Any) -> None:
            pair = [1, [text(value)]]
            key = selector(pair)
            pair = copy.deepcopy(pair)
            result = add(copy.deepcopy(states[key]), pair) if key in states else pair
            states[key] = copy.deepcopy(result)
            take_result(result)

        return take


class _Asking(Spoiling):
    """Gives back what it has, also to others."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.answer: list[Any] = []

    async def __call__(self, value: Any) -> list[Any]:
        self.spoil_all(but=value)
        self.remember(value)
        results = list(map(copy.deepcopy, self.function(value)))
        for result in results:
            self.remember(result)
        spoil(value)
        self.answer[:] = results
        return self.answer


class Async(Step):
    def attach(self, stream: DataStream) -> DataStream:
        return AsyncDataStream.ordered_wait(stream, _Asking(self.function()), 10_000)

    def model(self, push: Push) -> Push:
        function = self.function()

        def take(value: Any) -> None:
            for result in [copy.deepcopy(found) for found in function(copy.deepcopy(value))]:
                push(result)

        return take


class _Assigner(Spoiling, TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        number = zlib.crc32(text(value).encode()) % 1000
        self.spoil_all(but=value)
        self.remember(value)
        return number


class Timestamps(Step):
    def attach(self, stream: DataStream) -> DataStream:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        return stream.assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(_Assigner())
        ).flat_map(self.function())

    def model(self, push: Push) -> Push:
        assigner, take_timed = _Assigner(), super().model(push)

        def take(value: Any) -> None:
            assigner.extract_timestamp(value, 0)
            take_timed(value)

        return take


class _Both(CoProcessFunction):
    def __init__(self, one: Any, other: Any) -> None:
        self.one, self.other = one, other

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.one(value)

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.other(value)


class Connected(Step):
    """A stream, connected with itself."""

    def attach(self, stream: DataStream) -> DataStream:
        return stream.connect(stream).process(_Both(self.function(), self.function()))

    def model(self, push: Push) -> Push:
        one, other = Step.model(self, push), Step.model(self, push)

        def take(value: Any) -> None:
            one(copy.deepcopy(value))
            other(copy.deepcopy(value))

        return take


IN_ORDER: list[type[Step]] = [FlatMap, Map, Filter, Process, Rebalance, Keyed, KeyedByRow, Reduce]
IN_ORDER += [Async, Timestamps]
IN_ANY_ORDER: list[type[Step]] = [FlatMap, Map, Filter, Process, SideOutput, Fork, Rebalance]
IN_ANY_ORDER += [Async, Timestamps, Connected]


def values() -> st.SearchStrategy[Any]:
    plain = st.integers(0, 99) | st.sampled_from(["a", "b"]) | st.none()
    flat = (
        plain
        | st.lists(plain, max_size=2)
        | st.dictionaries(st.sampled_from("xy"), plain, max_size=2)
        | st.binary(max_size=2).map(bytearray)
        | plain.map(Holder)
        | plain.map(Row)
        | st.lists(st.integers(0, 9), max_size=2).map(np.array)
    )
    return flat | st.tuples(plain, flat) | st.lists(flat, max_size=2) | flat.map(Holder)


def steps(kinds: list[type[Step]]) -> st.SearchStrategy[list[Step]]:
    one = st.builds(
        lambda kind, function: kind(function), st.sampled_from(kinds), st.sampled_from(FUNCTIONS)
    )
    return st.lists(one, min_size=1, max_size=3)


pipelines = steps(IN_ORDER).map(lambda found: (found, True)) | steps(IN_ANY_ORDER).map(
    lambda found: (found, False)
)


A_FEW_VALUES = st.lists(values(), min_size=1, max_size=4)


@st.composite
def epochs(draw: st.DrawFn) -> list[list[Any]]:
    """Some values in some epochs; some of them one and the same object."""
    found = draw(A_FEW_VALUES)
    places = draw(st.lists(st.sampled_from(range(len(found))), max_size=8))
    given = [*found, *(found[place] for place in places)]
    cut = draw(st.integers(0, len(given)))
    return [given[:cut], given[cut:]]


def expected(steps: list[Step], epochs: list[list[Any]], *, reuse: bool) -> tuple[list[str], ...]:
    """Return what comes out, one record after the other."""
    collected: list[str] = []
    sunk: list[Any] = []

    def end(value: Any) -> None:
        collected.append(text(value))
        sunk.append(text(value))

    push: Push = end
    for step in reversed(steps):
        push = step.model(push) if reuse else _copying(step.model(push))
    for value in (value for epoch in epochs for value in epoch):
        push(copy.deepcopy(value))
    return collected, sunk


def _copying(push: Push) -> Push:
    return lambda value: push(copy.deepcopy(value))


def found(
    steps: list[Step], epochs: list[list[Any]], *, reuse: bool, backend: str, block_size: int
) -> tuple[list[str], ...]:
    configuration = Configuration().set_string("pipeline.object-reuse", str(reuse).lower())
    env = local_environment()
    env.configure(configuration)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    backends = {"hashmap": HashMapStateBackend, "rocksdb": EmbeddedRocksDBStateBackend}
    env.set_state_backend(backends[backend]())
    source = TestingSource(epochs, block_size=block_size)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "values")
    for step in steps:
        stream = step.attach(stream)
    sunk: list[Any] = Journal()
    stream.add_sink(sunk.append)
    collected = list(map(text, stream.execute_and_collect()))
    return collected, list(map(text, sunk))


@pytest.mark.parametrize("reuse", ["true", "false"])
def test_a_buffer_that_is_used_again_crosses_an_exchange_as_it_was(
    new_environment: NewEnvironment, reuse: str
) -> None:
    env = new_environment(2, pipeline__object_reuse=reuse)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    lists = env.from_collection([[1]] * 3).flat_map(Buffer())
    counted = lists.key_by(lambda value: value[0]).process(_Counting(Identity()))
    sums = env.from_collection([["a", 1]] * 5).key_by(RowSelector()).reduce(_sum)

    found = collect({"counted": counted, "sums": sums})

    numbers = [value["n"] for value in found["counted"] if isinstance(value, dict)]
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert [value for value in found["counted"] if isinstance(value, list)] == [
        ["list(1)", number, [number]] for _ in range(3) for number in (0, 1)
    ]
    assert found["sums"] == [["a", count] for count in (1, 2, 3, 4, 5)]


def numbers_of(value: Any) -> list[int]:
    return [value.locked()] if hasattr(value, "locked") else list(bytes(value))


@pytest.mark.parametrize("shape", ["map", "process", "branches"])
def test_what_cannot_be_copied_goes_on_in_its_chain(shape: str) -> None:
    buffer = bytearray([0])

    def view(number: int) -> Any:
        buffer[0] = number
        return threading.Lock() if number == 2 else memoryview(buffer)

    sunk: list[Any] = Journal()
    env = local_environment()
    views = env.from_collection([1, 2, 3]).map(view)
    streams = [views, views] if shape == "branches" else [views]
    for stream in streams:
        function = stream.process(_Process(Identity())) if shape == "process" else stream
        function.add_sink(lambda value: sunk.extend(numbers_of(value)))
    env.execute()

    assert sorted(sunk) == sorted([1, False, 3] * len(streams))


def test_values_that_hold_the_same_again_and_again_or_are_very_deep() -> None:
    doubled: Any = (1, 2)
    deep: Any = ()
    for _ in range(60):
        doubled = (doubled, doubled)
    for number in range(400):
        deep = (number, deep)
    stream = local_environment().from_collection([1]).flat_map(lambda _: [doubled, deep])
    counted = stream.key_by(len).filter(len).map(len)

    assert list(counted.execute_and_collect()) == [2, 2]


def _sum(left: list[Any], right: list[Any]) -> list[Any]:
    left[1] += right[1]
    return left


class _SumOrBuffer:
    """Adds numbers; a sum that three divides comes in one and the same list."""

    def __init__(self) -> None:
        self.buffer = [0]

    def __call__(self, left: Any, right: int) -> Any:
        total = (left[0] if isinstance(left, list) else left) + right
        if total % 3:
            return total
        self.buffer[0] = total
        return self.buffer


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=40), st.sampled_from([1, 3, 1024]), st.booleans())
def test_sums_that_are_numbers_now_and_lists_then(
    numbers: list[int], block_size: int, goes_on: bool
) -> None:
    add, sums, wanted = _SumOrBuffer(), dict[int, Any](), []
    for number in numbers:
        key = number % 2
        sums[key] = copy.deepcopy(add(sums[key], number)) if key in sums else number
        wanted.append(text(sums[key]))
    env = local_environment()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    source = TestingSource([numbers], block_size=block_size)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    stream = stream.key_by(lambda number: number % 2).reduce(_SumOrBuffer()).filter(lambda _: True)
    if goes_on:
        stream = stream.flat_map(lambda value: [value])
    sunk: list[Any] = Journal()
    stream.add_sink(sunk.append)

    env.execute("sums")

    assert list(map(text, sunk)) == wanted


@settings(max_examples=60, deadline=None)
@given(
    pipelines,
    epochs(),
    st.booleans(),
    st.sampled_from(["hashmap", "rocksdb"]),
    st.sampled_from([1, 2, 3, 1024]),
)
def test_what_comes_out_is_what_one_record_after_the_other_gives(
    pipeline: tuple[list[Step], bool],
    epochs: list[list[Any]],
    reuse: bool,
    backend: str,
    block_size: int,
) -> None:
    steps, is_ordered = pipeline
    wanted = expected(steps, copy.deepcopy(epochs), reuse=reuse)
    given = found(steps, epochs, reuse=reuse, backend=backend, block_size=block_size)
    if not is_ordered:
        wanted, given = tuple(map(sorted, wanted)), tuple(map(sorted, given))
    assert given == wanted
