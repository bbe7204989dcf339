from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Unprintable, records_of, set_up
from tests.runtime.strategies import blocks

from penstock.common.types import Row
from penstock.errors import (
    InvalidArgumentError,
    InvalidKeyError,
    PenstockError,
    UserFunctionError,
)
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
    StreamPartitioner,
)
from penstock.runtime.keys.key_groups import key_group, key_group_range


def identity(value: Any) -> Any:
    return value


def by_length(key: Any, count: int) -> int:
    return len(str(key)) % count


PARTITIONERS: list[StreamPartitioner] = [
    ForwardPartitioner(),
    GlobalPartitioner(),
    BroadcastPartitioner(),
    RebalancePartitioner(),
    RescalePartitioner(),
    ShufflePartitioner(),
    KeyGroupStreamPartitioner(identity),
    CustomPartitioner(by_length, identity),
]
NAMES = [partitioner.ship_strategy for partitioner in PARTITIONERS]
every_partitioner = pytest.mark.parametrize("partitioner", PARTITIONERS, ids=NAMES)

counts = st.integers(1, 7)
streams = st.lists(blocks(max_size=12, with_timestamps=None), max_size=4)
numbered = st.lists(st.integers(0, 12), max_size=6).map(
    lambda sizes: [
        Block(list(range(sum(sizes[:place]), sum(sizes[: place + 1]))))
        for place in range(len(sizes))
    ]
)


def dealt(partitioner: StreamPartitioner, stream: list[Block]) -> dict[int, list[Any]]:
    """Return the records that each subtask gets, as values with timestamps."""
    received: dict[int, list[Any]] = defaultdict(list)
    for block in stream:
        before = records_of(block)
        for target, part in partitioner.split(block):
            received[target] += [record[:2] for record in records_of(part)]
            assert (part.timestamps is None) == (block.timestamps is None)
        assert records_of(block) == before
    return received


def sent(stream: list[Block]) -> list[Any]:
    return [record[:2] for block in stream for record in records_of(block)]


def values(received: dict[int, list[Any]]) -> dict[int, list[Any]]:
    return {target: [value for value, _ in records] for target, records in received.items()}


def is_subsequence(part: list[Any], whole: list[Any]) -> bool:
    rest = iter(whole)
    return all(record in rest for record in part)


@every_partitioner
class TestEveryPartitioner:
    @settings(max_examples=30)
    @given(stream=streams, targets=counts, parallelism=counts, data=st.data())
    def test_sends_every_record_to_one_subtask_and_in_order(
        self,
        partitioner: StreamPartitioner,
        stream: list[Block],
        targets: int,
        parallelism: int,
        data: st.DataObject,
    ) -> None:
        subtask = data.draw(st.integers(0, parallelism - 1))
        ready = set_up(partitioner, targets, subtask=subtask, parallelism=parallelism)

        received = dealt(ready, stream)

        assert set(received) <= set(range(targets))
        assert all(is_subsequence(part, sent(stream)) for part in received.values())
        copies = targets if isinstance(partitioner, BroadcastPartitioner) else 1
        everything = Counter(record for part in received.values() for record in part)
        assert everything == Counter(sent(stream) * copies)

    @settings(max_examples=20)
    @given(stream=streams, targets=counts)
    def test_repeats_what_it_did(
        self, partitioner: StreamPartitioner, stream: list[Block], targets: int
    ) -> None:
        assert dealt(set_up(partitioner, targets), stream) == dealt(
            set_up(partitioner, targets), stream
        )

    def test_works_on_a_copy_for_each_sender(self, partitioner: StreamPartitioner) -> None:
        before = dict(vars(partitioner))

        one = set_up(partitioner, 3, subtask=0, parallelism=2)
        other = set_up(partitioner, 3, subtask=1, parallelism=2)
        dealt(one, [Block(["a", "b", "c", "d"])])

        assert len({id(one), id(other), id(partitioner)}) == 3
        assert type(one) is type(partitioner)
        assert vars(partitioner) == before
        assert dealt(other, [Block(["a"])]) == dealt(
            set_up(partitioner, 3, subtask=1, parallelism=2), [Block(["a"])]
        )

    def test_travels_to_workers(self, partitioner: StreamPartitioner) -> None:
        copy = pickle.loads(cloudpickle.dumps(partitioner))
        stream = [Block(["a", "b", "c"])]

        assert dealt(set_up(copy, 2), stream) == dealt(set_up(partitioner, 2), stream)

    def test_is_shown_as_in_plans(self, partitioner: StreamPartitioner) -> None:
        assert repr(partitioner) == partitioner.ship_strategy


def test_have_the_names_of_flink() -> None:
    assert NAMES == [
        "FORWARD",
        "GLOBAL",
        "BROADCAST",
        "REBALANCE",
        "RESCALE",
        "SHUFFLE",
        "HASH",
        "CUSTOM",
    ]


def test_only_broadcast_is_read_before_other_input() -> None:
    assert [
        partitioner.ship_strategy for partitioner in PARTITIONERS if partitioner.is_broadcast
    ] == ["BROADCAST"]


@given(counts, st.data())
def test_forward_keeps_the_index(parallelism: int, data: st.DataObject) -> None:
    subtask = data.draw(st.integers(0, parallelism - 1))
    ready = set_up(ForwardPartitioner(), parallelism, subtask=subtask, parallelism=parallelism)

    assert values(dealt(ready, [Block([1, 2])])) == {subtask: [1, 2]}


def test_forward_from_a_partition_of_spark_finds_a_subtask() -> None:
    ready = set_up(ForwardPartitioner(), 2, subtask=5, parallelism=2)

    assert values(dealt(ready, [Block([1])])) == {1: [1]}


@given(counts)
def test_global_takes_the_first_subtask(targets: int) -> None:
    assert values(dealt(set_up(GlobalPartitioner(), targets, subtask=1), [Block([1, 2])])) == {
        0: [1, 2]
    }


class TestRebalance:
    @given(numbered, counts, counts, st.data())
    def test_deals_in_turn_however_the_stream_is_cut(
        self, stream: list[Block], targets: int, parallelism: int, data: st.DataObject
    ) -> None:
        subtask = data.draw(st.integers(0, parallelism - 1))
        ready = set_up(RebalancePartitioner(), targets, subtask=subtask, parallelism=parallelism)

        received = values(dealt(ready, stream))

        total = sum(map(len, stream))
        assert received == {
            (subtask + first) % targets: list(range(first, total, targets))
            for first in range(min(targets, total))
        }

    @given(st.lists(st.integers(0, 50), min_size=1, max_size=5), counts)
    def test_is_even_within_one_record(self, sizes: list[int], targets: int) -> None:
        ready = set_up(RebalancePartitioner(), targets, subtask=3, parallelism=4)

        received = dealt(ready, [Block([None] * size) for size in sizes])

        loads = [len(received[target]) for target in range(targets)]
        assert max(loads) - min(loads) <= 1

    def test_spreads_short_streams_of_many_senders(self) -> None:
        received: Counter[int] = Counter()
        for subtask in range(4):
            ready = set_up(RebalancePartitioner(), 4, subtask=subtask, parallelism=4)
            received.update(dealt(ready, [Block(["only"])]).keys())

        assert received == {0: 1, 1: 1, 2: 1, 3: 1}


class TestRescale:
    def neighbours(self, parallelism: int, targets: int) -> list[set[int]]:
        """Return the subtasks that each sender reaches."""
        return [
            set(
                dealt(
                    set_up(RescalePartitioner(), targets, subtask=subtask, parallelism=parallelism),
                    [Block([None] * 20)],
                )
            )
            for subtask in range(parallelism)
        ]

    @pytest.mark.parametrize(
        ("parallelism", "targets", "neighbours"),
        [
            (2, 4, [{0, 1}, {2, 3}]),
            (4, 2, [{0}, {0}, {1}, {1}]),
            (2, 6, [{0, 1, 2}, {3, 4, 5}]),
            (6, 2, [{0}, {0}, {0}, {1}, {1}, {1}]),
            (3, 3, [{0}, {1}, {2}]),
        ],
    )
    def test_reaches_the_subtasks_beside_it(
        self, parallelism: int, targets: int, neighbours: list[set[int]]
    ) -> None:
        assert self.neighbours(parallelism, targets) == neighbours

    @given(counts, counts)
    def test_shares_the_work_evenly(self, parallelism: int, targets: int) -> None:
        neighbours = self.neighbours(parallelism, targets)

        assert set().union(*neighbours) == set(range(targets))
        sizes = [len(reached) for reached in neighbours]
        assert max(sizes) - min(sizes) <= 1
        senders = Counter(target for reached in neighbours for target in reached)
        assert max(senders.values()) - min(senders.values()) <= 1
        # More than one sender for one subtask, or the other way round, but not both.
        assert max(sizes) == 1 or max(senders.values()) == 1

    @given(numbered)
    def test_deals_in_turn(self, stream: list[Block]) -> None:
        received = values(dealt(set_up(RescalePartitioner(), 6, subtask=1, parallelism=2), stream))

        total = sum(map(len, stream))
        assert received == {
            3 + first: list(range(first, total, 3)) for first in range(min(3, total))
        }


class TestShuffle:
    def test_spreads_records_over_all_subtasks(self) -> None:
        received = dealt(set_up(ShufflePartitioner(), 4), [Block(list(range(4000)))])

        assert all(800 < len(received[target]) < 1200 for target in range(4))

    def test_is_not_alike_for_all_senders(self) -> None:
        stream = [Block(list(range(100)))]
        one = dealt(set_up(ShufflePartitioner(), 2, subtask=0), stream)
        other = dealt(set_up(ShufflePartitioner(), 2, subtask=1), stream)

        assert one != other


class TestKeyGroupStream:
    @given(streams, counts, st.integers(0, 200))
    def test_sends_a_key_to_the_owner_of_its_key_group(
        self, stream: list[Block], targets: int, more: int
    ) -> None:
        groups = targets + more
        ready = set_up(KeyGroupStreamPartitioner(str), targets, max_parallelism=groups)

        for block in stream:
            for target, part in ready.split(block):
                assert part.keys == [str(value) for value in part.values]
                for key in part.keys:
                    assert key_group(key, groups) in key_group_range(target, targets, groups)

    @given(st.lists(st.sampled_from([1, 1.0, True, 2, "a", ("a", 1), ("a", 1.0)])), counts)
    def test_sends_equal_keys_to_one_subtask_over_all_blocks(
        self, stream: list[Any], targets: int
    ) -> None:
        ready = set_up(KeyGroupStreamPartitioner(identity), targets)
        owners: dict[Any, set[int]] = defaultdict(set)

        for value in stream:
            for target, part in ready.split(Block([value])):
                for key in part.keys or ():
                    owners[key].add(target)

        assert owners.keys() == set(stream)
        assert all(len(found) == 1 for found in owners.values())

    @given(st.integers(0, 9), counts)
    def test_a_selector_that_fails_is_told_with_its_record(
        self, failing: int, targets: int
    ) -> None:
        def select(value: int) -> int:
            return 1 // (value - failing)

        ready = set_up(KeyGroupStreamPartitioner(select), targets)
        with pytest.raises(UserFunctionError) as raised:
            dealt(ready, [Block(list(range(10)))])

        error = raised.value
        assert (error.operator, error.record) == ("Sender", str(failing))
        first, second, *_ = str(error).splitlines()
        assert first == "Traceback (most recent call last):"
        assert __file__ in second
        assert "ZeroDivisionError" in str(error)

    @given(st.integers(0, 4))
    def test_a_selector_without_an_answer_loses_no_record(self, failing: int) -> None:
        def select(value: int) -> int:
            return next(iter([] if value == failing else [value]))

        with pytest.raises(
            UserFunctionError,
            match=f"key selector behind operator 'Sender' failed on the record {failing}",
        ):
            dealt(set_up(KeyGroupStreamPartitioner(select), 2), [Block(list(range(5)))])

    def test_a_field_that_is_not_there_is_told_with_operator_and_record(self) -> None:
        ready = set_up(KeyGroupStreamPartitioner(lambda row: row.nam), 2)
        with pytest.raises(PenstockError, match="has no field 'nam'") as raised:
            dealt(ready, [Block([Row(name="Ann")])])

        assert "'Sender' failed on the record Row(name='Ann')" in str(raised.value)

    @pytest.mark.parametrize("targets", [1, 3])
    @pytest.mark.parametrize(
        ("key", "problem", "hint"),
        [
            (
                {1},
                "unhashable type: 'set'.",
                "A key must be hashable: a frozenset in place of a set, @dataclass(frozen=",
            ),
            (
                len,
                (
                    "A key cannot be of type builtin_function_or_method, as its hash may differ between "
                    "processes: <built-in function len>."
                ),
                "A key is None, a number, str, bytes",
            ),
        ],
        ids=["unhashable", "unstable"],
    )
    def test_a_value_that_cannot_be_a_key_is_told_with_its_record(
        self, targets: int, key: Any, problem: str, hint: str
    ) -> None:
        ready = set_up(
            KeyGroupStreamPartitioner(lambda value: key if value == "bad" else value), targets
        )

        with pytest.raises(InvalidKeyError) as raised:
            dealt(ready, [Block(["good"] * 5 + ["bad", "good"])])

        assert raised.value.message == (
            f"{problem}\nOperator 'Sender' computed it as the key of the record 'bad'."
        )
        assert str(raised.value.hint).startswith(hint)

    def test_a_list_is_the_key_that_it_was_when_it_was_made(self) -> None:
        one: list[Any] = [0]

        def same(value: int) -> list[Any]:
            one[0] = value % 3
            return one

        for select in (same, lambda value: [value % 3], lambda value: ("a", [[value % 3]])):
            ready = set_up(KeyGroupStreamPartitioner(select), 4)
            found: dict[Any, set[int]] = {}
            for block in (Block(list(range(9))), Block([3, 4, 5])):
                for target, part in ready.split(block):
                    assert part.keys is not None
                    for value, key in zip(part.values, part.keys, strict=True):
                        assert key == select(value)
                        found.setdefault(key, set()).add(target)
            assert len(found) == 3
            assert all(len(targets) == 1 for targets in found.values())


class TestCustom:
    @given(streams, counts)
    def test_asks_the_users_function(self, stream: list[Block], targets: int) -> None:
        ready = set_up(CustomPartitioner(by_length, lambda value: f"key {value}"), targets)

        for block in stream:
            for target, part in ready.split(block):
                assert all(by_length(f"key {value}", targets) == target for value in part.values)

    @pytest.mark.parametrize("answer", [-1, 3, "0", None, True, 1.0])
    def test_refuses_what_is_no_subtask(self, answer: Any) -> None:
        def partition(key: Any, count: int) -> Any:
            return answer if key == "b" else 0

        ready = set_up(CustomPartitioner(partition, identity), 3)
        with pytest.raises(InvalidArgumentError) as raised:
            dealt(ready, [Block(["a", "b", "c"])])

        assert str(raised.value) == (
            f"The partitioner after operator 'Sender' returned {answer!r} for the record 'b', which is "
            "no subtask of 3.\n\nHint: Return an int from 0 to 2."
        )

    def test_shortens_the_record_that_it_refuses(self) -> None:
        def refused(record: Any) -> str:
            ready = set_up(CustomPartitioner(lambda key, count: -1, identity), 3)
            with pytest.raises(InvalidArgumentError) as raised:
                dealt(ready, [Block([record])])
            return str(raised.value)

        assert len(refused("x" * 10_000)) < 1000
        assert "whose repr raised" in refused(Unprintable())

    @pytest.mark.parametrize("place", ["partitioner", "key selector"])
    def test_a_function_that_fails_is_told_with_its_record(self, place: str) -> None:
        def fail(key: Any, count: int = 1) -> int:
            if key == "b":
                raise LookupError("no such key")
            return 0

        functions: tuple[Callable[[Any, int], int], Callable[[Any], Any]] = (
            (fail, identity) if place == "partitioner" else (lambda key, count: 0, fail)
        )
        with pytest.raises(UserFunctionError) as raised:
            dealt(set_up(CustomPartitioner(*functions), 2), [Block(["a", "b", "c"])])

        assert (raised.value.operator, raised.value.record) == ("Sender", "'b'")
        assert "LookupError: no such key" in str(raised.value)
