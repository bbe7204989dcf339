"""States of all kinds in a function, as programs use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from tests.datastream.event_time import results, timed, with_backend

from penstock.common import Types, WatermarkStrategy
from penstock.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.errors import PenstockError
from penstock.testing import local_environment


class AllStates(KeyedProcessFunction):
    """Keeps what it was given in a state of each kind, and yields all of them."""

    def open(self, runtime_context: RuntimeContext) -> None:
        context = runtime_context
        self.value = context.get_state(ValueStateDescriptor("value", Types.INT()))
        self.list = context.get_list_state(ListStateDescriptor("list", Types.INT()))
        self.map = context.get_map_state(MapStateDescriptor("map", Types.INT(), Types.INT()))
        self.sum = context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda one, other: one + other, Types.INT())
        )
        self.mean = context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value == 0:
            for state in (self.value, self.list, self.map, self.sum, self.mean):
                state.clear()
        else:
            self.value.update(value)
            self.list.add(value)
            self.map.put(value, (self.map.get(value) or 0) + 1)
            self.sum.add(value)
            self.mean.add(value)
        yield (
            ctx.get_current_key(),
            self.value.value(),
            list(self.list.get() or ()),
            dict(sorted(self.map.items())),
            self.sum.get(),
            self.mean.get(),
        )


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float | None:
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class TestStates:
    VALUES = [3, 4, 6, 5, 0, 2, 9, 7, 8, 3, 3, 6]

    @staticmethod
    def expected(values: Sequence[int]) -> list[Any]:
        kept: dict[int, list[int]] = {}
        found: list[Any] = []
        for value in values:
            key = value % 2
            kept[key] = [*kept.get(key, []), value] if value else []
            own = kept[key]
            counts = {number: own.count(number) for number in sorted(set(own))}
            last, total = (own[-1], sum(own)) if own else (None, None)
            mean = sum(own) / len(own) if own else None
            found.append((key, last, own, counts, total, mean))
        return found

    @pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
    @pytest.mark.parametrize("cuts", [(), (1,), (3, 3, 6), tuple(range(13))])
    def test_of_all_kinds_belong_to_their_keys_wherever_epochs_are_cut(
        self, backend: str, cuts: tuple[int, ...]
    ) -> None:
        env = with_backend(backend)
        places = [0, *cuts, len(self.VALUES)]
        epochs = [self.VALUES[start:end] for start, end in pairwise(places)]
        stream = timed(epochs, WatermarkStrategy.no_watermarks(), environment=env)
        found = results(stream.key_by(lambda value: value % 2).process(AllStates()))
        assert found == self.expected(self.VALUES)

    def test_are_refused_on_a_stream_without_keys(self) -> None:
        class Asking(ProcessFunction):
            def open(self, runtime_context: RuntimeContext) -> None:
                runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

            def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
                pass

        with pytest.raises(PenstockError, match="stream has no keys"):
            results(local_environment().from_collection([1]).process(Asking()))

    @pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
    def test_of_one_name_and_two_types_are_refused(self, backend: str) -> None:
        class Asking(AllStates):
            def open(self, runtime_context: RuntimeContext) -> None:
                super().open(runtime_context)
                runtime_context.get_list_state(ListStateDescriptor("value", Types.INT()))

        stream = timed([[1]], WatermarkStrategy.no_watermarks(), environment=with_backend(backend))
        with pytest.raises(
            PenstockError, match="Operator 'KEYED PROCESS' asks for its state 'value'"
        ):
            results(stream.key_by(int).process(Asking()).map(str))

    @pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
    def test_that_cannot_be_pickled_are_told_with_their_operator(self, backend: str) -> None:
        class Keeping(AllStates):
            def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
                self.value.update(lambda: value)
                yield value

        stream = timed(
            [[1], [2]], WatermarkStrategy.no_watermarks(), environment=with_backend(backend)
        )
        with pytest.raises(PenstockError, match=r"[Oo]perator 'KEYED PROCESS'") as raised:
            results(stream.key_by(int).process(Keeping()).map(str))
        assert "pickle" in str(raised.value)
