from __future__ import annotations

import pickle
from collections.abc import Collection
from typing import Any

import pytest
from tests.runtime.planned.kafka.fake_broker import FakeBroker

from penstock.errors import InvalidArgumentError, KafkaOffsetNotFoundError
from penstock.runtime.planned.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
    Offsets,
)

A, B, C = (KafkaTopicPartition("a", number) for number in range(3))
BROKER = FakeBroker(
    ends={A: 10, B: 20, C: 30}, firsts={A: 1, B: 2, C: 3}, group={A: 5}, times={(B, 99): 7}
)
Start = KafkaOffsetsInitializer
Reset = KafkaOffsetResetStrategy


@pytest.mark.parametrize(
    ("start", "found"),
    [
        (Start.earliest(), (1, 2, 3)),
        (Start.latest(), (10, 20, 30)),
        (Start.timestamp(99), (10, 7, 30)),
        (Start.committed_offsets(Reset.EARLIEST), (5, 2, 3)),
        (Start.committed_offsets(Reset.LATEST), (5, 20, 30)),
        (Start.offsets({B: 4}), (5, 4, 3)),
        (Start.offsets({B: 4}, Reset.LATEST), (5, 4, 30)),
    ],
)
def test_each_says_where_a_partition_begins(start: Start, found: tuple[int, ...]) -> None:
    there = pickle.loads(pickle.dumps(start))
    assert there.resolved([A, B, C], BROKER) == dict(zip((A, B, C), found, strict=True))
    assert there.resolved([], BROKER) == {}


def test_a_record_that_comes_while_a_time_is_looked_up_is_not_passed_over() -> None:
    class Busy(FakeBroker):
        def at(self, partitions: Collection[KafkaTopicPartition], timestamp: int) -> Offsets:
            found = super().at(partitions, timestamp)
            self.ends[A] += 1
            return found

    assert Start.timestamp(99).resolved([A], Busy(ends={A: 10})) == {A: 10}


def test_what_the_group_never_committed_is_an_error_where_nothing_stands_in_for_it() -> None:
    with pytest.raises(KafkaOffsetNotFoundError, match="no offsets of a-1, a-2"):
        Start.committed_offsets().resolved([C, A, B], BROKER)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Start.timestamp(-1),
        lambda: Start.timestamp("now"),  # type: ignore[arg-type]
        lambda: Start.offsets({("a", 0): 1}),  # type: ignore[dict-item]
        lambda: Start.offsets({A: -1}),
        lambda: Start.committed_offsets("earliest"),  # type: ignore[arg-type]
        lambda: KafkaTopicPartition("", 0),
        lambda: KafkaTopicPartition("a", -1),
    ],
)
def test_what_is_no_offset_is_refused(make: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        make()


def test_partitions_are_values() -> None:
    assert {KafkaTopicPartition("a", 0)} == {A}
    assert [member.value for member in Reset] == [0, 1, 2]
