from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.planned.kafka.fake_broker import FakeBroker

from penstock.errors import (
    KafkaNotReachableError,
    KafkaOffsetNotFoundError,
    KafkaTopicNotFoundError,
)
from penstock.runtime.planned.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from penstock.runtime.planned.kafka.planner import KafkaPlanner, shared
from penstock.runtime.planned.kafka.reading import Reading, Subscription
from penstock.runtime.planned.planned_source import Plan

A0, A1, A2 = (KafkaTopicPartition("a", number) for number in range(3))
B0 = KafkaTopicPartition("b", 0)
READING = Reading(Subscription(topics=("a",)), KafkaOffsetsInitializer.earliest())
NONE = KafkaOffsetResetStrategy.NONE


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def rest(self, seconds: float) -> None:
        self.seconds += seconds


def planner(broker: FakeBroker, reading: Reading = READING, clock: Clock | None = None) -> Any:
    clock = clock or Clock()
    return KafkaPlanner(reading, lambda: broker, clock=clock, rest=clock.rest)


def ranges(plan: Plan) -> dict[str, tuple[int, int]]:
    return {str(piece.split): piece.content[2:] for piece in plan.pieces}


def through_json(state: Any) -> Any:
    return json.loads(json.dumps(state))


@given(st.data())
def test_each_offset_is_planned_once_and_in_order_whatever_comes_and_restarts(
    data: st.DataObject,
) -> None:
    broker = FakeBroker({A0: data.draw(st.integers(0, 5)), A1: 0})
    most = data.draw(st.none() | st.integers(1, 6))
    reading = replace(READING, most=most, discovery=1)
    clock = Clock()
    source = planner(broker, reading, clock)
    state = None
    read: dict[str, int] = {}
    for _ in range(data.draw(st.integers(1, 8))):
        match data.draw(st.sampled_from(["write", "new", "restart", "fail", "away"])):
            case "write":
                one = data.draw(st.sampled_from(sorted(broker.ends)))
                broker.ends[one] += data.draw(st.integers(1, 9))
            case "new":
                broker.ends.setdefault(A2, data.draw(st.integers(0, 3)))
                clock.rest(1)
            case "restart":
                source = planner(broker, reading, clock)
            case "fail":
                source.plan(state, 2)
            case "away":
                if source._subscribed is not None:
                    broker.is_away = True
                    assert source.plan(state, 2) == Plan(state=state)
                    broker.is_away = False
        plan = source.plan(state, 2)
        for split, (begin, end) in ranges(plan).items():
            assert begin == read.get(split, 0) <= end
            read[split] = end
        taken = [end - begin for begin, end in ranges(plan).values()]
        assert most is None or sum(taken) <= max(most, len(taken))
        if plan.pieces:
            state = through_json(plan.state)
    while plan.pieces:
        plan = source.plan(state, 2)
        read |= {split: end for split, (_, end) in ranges(plan).items()}
        state = through_json(plan.state)
    known = {one: end for one, end in broker.ends.items() if str(one) in read}
    assert read == {str(one): end for one, end in known.items()}


@given(
    st.dictionaries(st.sampled_from([A0, A1, A2, B0]), st.integers(0, 50)),
    st.none() | st.integers(1, 60),
)
def test_what_an_epoch_may_read_is_shared_and_nobody_waits_who_has_little(
    left: dict[KafkaTopicPartition, int], most: int | None
) -> None:
    found = shared(left, most)

    assert all(min(left[one], 1) <= found[one] <= left[one] for one in left)
    if most is None or sum(left.values()) <= most:
        assert found == left
    else:
        assert sum(found.values()) <= max(most, len(left))
        assert most < len(left) or sum(found.values()) == most
        whole = [left[one] for one in left if found[one] == left[one]]
        cut = [found[one] for one in left if found[one] < left[one]]
        assert max(whole, default=0) <= min(cut, default=50) + 1


def test_a_partition_takes_part_when_it_is_known_though_it_is_empty() -> None:
    first = planner(FakeBroker({A0: 2, A1: 0})).plan(None, 2)

    assert ranges(first) == {"a-0": (0, 2), "a-1": (0, 0)}
    assert first.state == [["a", 0, 2, None, None], ["a", 1, 0, None, None]]


def test_what_starts_at_the_end_stays_there_until_it_is_committed() -> None:
    broker = FakeBroker({A0: 5})
    source = planner(broker, replace(READING, starting=KafkaOffsetsInitializer.latest()))
    first = source.plan(None, 1)
    broker.ends[A0] = 7

    assert ranges(first) == {"a-0": (5, 5)}
    assert ranges(source.plan(first.state, 1)) == {"a-0": (5, 7)}


def test_new_partitions_are_read_from_their_beginning() -> None:
    broker, clock = FakeBroker({A0: 5}), Clock()
    source = planner(broker, replace(READING, starting=KafkaOffsetsInitializer.latest()), clock)
    state = source.plan(None, 1).state
    broker.ends[A1] = 3

    assert not source.plan(state, 1).pieces
    clock.rest(300)
    assert ranges(source.plan(state, 1)) == {"a-1": (0, 3)}


@pytest.mark.parametrize("has_restarted", [False, True])
def test_a_topic_that_a_pattern_waits_for_is_read_from_its_beginning(has_restarted: bool) -> None:
    broker, clock = FakeBroker({}), Clock()
    subscription = Subscription(pattern="a")
    reading = Reading(subscription, KafkaOffsetsInitializer.latest())
    source = planner(broker, reading, clock)
    none = source.plan(None, 1)
    assert none == Plan(state=[])
    broker.ends[A0] = 5
    clock.rest(300)
    if has_restarted:
        source = planner(broker, reading)
    assert ranges(source.plan(through_json(none.state), 1)) == {"a-0": (0, 5)}


def test_a_pattern_takes_up_topics_and_lets_them_go(caplog: pytest.LogCaptureFixture) -> None:
    broker, clock = FakeBroker({A0: 1, KafkaTopicPartition("ab", 0): 1}), Clock()
    reading = replace(READING, subscription=Subscription(pattern="a|b"))
    source = planner(broker, reading, clock)
    state = source.plan(None, 1).state
    del broker.ends[A0]
    broker.ends[B0] = 2

    with caplog.at_level(logging.INFO):
        found = [source.plan(state, 1) for _ in range(2)]

    assert ranges(found[1]) == {"b-0": (0, 2)}
    assert found[1].state == [["a", 0, 1, None, None], ["b", 0, 2, None, None]]
    assert "partitions are gone, and not read until they are back: a-0" in caplog.text


@pytest.mark.parametrize("has_restarted", [False, True])
@pytest.mark.parametrize("has_ids", [False, True])
def test_a_topic_of_a_pattern_that_no_list_has_for_a_moment_is_read_on(
    has_restarted: bool, has_ids: bool, caplog: pytest.LogCaptureFixture
) -> None:
    broker, clock = FakeBroker({A0: 3, B0: 1}, topic_ids={"a": "1", "b": "2"}), Clock()
    reading = replace(READING, subscription=Subscription(pattern=".*"), discovery=1)
    source = planner(broker, reading, clock)
    first = source.plan(None, 1)
    state = first.state if has_ids else [row[:4] for row in first.state]
    broker.hidden.add("a")
    broker.ends |= {A0: 5, B0: 2}
    clock.rest(1)

    plan = source.plan(state, 1)
    assert ranges(plan) == {"b-0": (1, 2)}
    source.committed(plan.state)
    assert broker.group == {B0: 2}
    broker.hidden.clear()
    clock.rest(1)
    if has_restarted:
        source = planner(broker, reading, clock)
    with caplog.at_level(logging.INFO):
        then = source.plan(through_json(plan.state), 1)
    assert ranges(then) == {"a-0": (3, 5)}
    assert then.state == [["a", 0, 5, None, "1"], ["b", 0, 2, None, "2"]]
    assert has_restarted or "partitions are there again: a-0" in caplog.text


@pytest.mark.parametrize("end", [2, 9])
@pytest.mark.parametrize("is_seen_missing", [False, True])
def test_a_topic_of_a_pattern_that_was_made_anew_is_read_from_its_beginning(
    end: int, is_seen_missing: bool, caplog: pytest.LogCaptureFixture
) -> None:
    broker, clock = FakeBroker({A0: 3, A1: 3}, topic_ids={"a": "1"}), Clock()
    reading = replace(READING, subscription=Subscription(pattern=".*"))
    source = planner(broker, reading, clock)
    state = source.plan(None, 1).state
    if is_seen_missing:
        broker.ends.clear()
        clock.rest(300)
        assert source.plan(state, 1).pieces == ()
    broker.ends = {A0: end}
    broker.topic_ids["a"] = "2"
    if end > 3 or is_seen_missing:
        clock.rest(300)
    else:
        assert source.plan(state, 1).pieces == ()

    plan = source.plan(state, 1)
    assert (ranges(plan), plan.state) == ({"a-0": (0, end)}, [["a", 0, end, None, "2"]])
    assert "topics were made anew, and are read from their beginning: a" in caplog.text


def test_a_topic_of_a_pattern_that_has_lost_records_is_an_error() -> None:
    broker = FakeBroker({A0: 3}, topic_ids={"a": "1"})
    source = planner(broker, replace(READING, subscription=Subscription(pattern="a")))
    state = source.plan(None, 1).state
    broker.ends[A0] = 1

    assert source.plan(state, 1).pieces == ()
    with pytest.raises(KafkaOffsetNotFoundError, match="ends at 1"):
        source.plan(state, 1)


@pytest.mark.parametrize(
    "subscription", [Subscription(topics=("a", "b")), Subscription(partitions=frozenset({A0, B0}))]
)
def test_what_is_named_has_to_be_there(subscription: Subscription) -> None:
    with pytest.raises(KafkaTopicNotFoundError, match="Kafka has no b"):
        planner(FakeBroker({A0: 1}), replace(READING, subscription=subscription)).plan(None, 1)


def test_a_topic_that_was_deleted_is_named() -> None:
    broker = FakeBroker({A0: 1})
    source = planner(broker)
    state = source.plan(None, 1).state
    broker.ends.clear()

    with pytest.raises(KafkaTopicNotFoundError):
        source.plan(state, 1)


@pytest.mark.parametrize("keeps", [False, True])
def test_what_is_no_longer_named_is_read_on_if_it_is_to_be(keeps: bool) -> None:
    broker = FakeBroker({A0: 2, A1: 3, B0: 4})
    reading = replace(READING, subscription=Subscription(topics=("b",)), keeps_restored=keeps)

    plan = planner(broker, reading).plan([["a", 0, 1, None], ["a", 7, 1, None]], 1)

    assert ranges(plan) == {"b-0": (0, 4)} | ({"a-0": (1, 2)} if keeps else {})


def test_a_topic_that_is_left_out_for_a_while_is_read_on(caplog: pytest.LogCaptureFixture) -> None:
    broker = FakeBroker({A0: 2, B0: 4}, topic_ids={"a": "1", "b": "2"})
    both = replace(READING, subscription=Subscription(topics=("a", "b")))
    state = through_json(planner(broker, both).plan(None, 1).state)
    broker.ends = {A0: 3, B0: 5}

    without = planner(broker, replace(READING, subscription=Subscription(topics=("b",))))
    plan = without.plan(state, 1)
    assert ranges(plan) == {"b-0": (4, 5)}
    assert "partitions are not read, and their offsets kept until they are read again: a-0" in (
        caplog.text
    )
    without.committed(plan.state)
    assert broker.group == {B0: 5}
    assert ranges(planner(broker, both).plan(through_json(plan.state), 1)) == {"a-0": (2, 3)}

    broker.topic_ids["a"] = "3"
    with pytest.raises(KafkaOffsetNotFoundError, match="topic a was deleted and made anew"):
        planner(broker, both).plan(plan.state, 1)


def test_only_the_partitions_that_are_named_are_read() -> None:
    reading = replace(READING, subscription=Subscription(partitions=frozenset({A1})))

    assert ranges(planner(FakeBroker({A0: 1, A1: 2}), reading).plan(None, 1)) == {"a-1": (0, 2)}


@pytest.mark.parametrize("is_limited", [True, False])
def test_reading_ends_where_it_was_to_end_at_first(is_limited: bool) -> None:
    broker = FakeBroker({A0: 3, A1: 0})
    most = 2 if is_limited else None
    reading = replace(READING, stopping=KafkaOffsetsInitializer.latest(), most=most)
    first = planner(broker, reading).plan(None, 1)
    broker.ends = {A0: 9, A1: 9}
    then = planner(broker, reading).plan(first.state, 1)

    if is_limited:
        assert (ranges(first)["a-0"], first.is_over) == ((0, 2), False)
        assert (ranges(then), then.is_over) == ({"a-0": (2, 3)}, True)
    else:
        assert (ranges(first)["a-0"], first.is_over) == ((0, 3), True)


def test_the_end_is_that_of_the_program_whatever_it_was_when_the_checkpoint_was_written() -> None:
    broker = FakeBroker({A0: 3})
    endless = replace(READING, most=2)
    ending = replace(endless, stopping=KafkaOffsetsInitializer.latest())
    state = through_json(planner(broker, endless).plan(None, 1).state)
    given_an_end = planner(broker, ending)
    last = given_an_end.plan(state, 1)
    broker.ends = {A0: 5}
    assert (ranges(last), last.is_over) == ({"a-0": (2, 3)}, True)
    assert given_an_end.plan(state, 1) == last

    freed = planner(broker, endless).plan(through_json(last.state), 1)
    assert (ranges(freed), freed.is_over) == ({"a-0": (3, 5)}, False)


def test_an_end_that_was_reached_before_the_program_had_it_is_the_end() -> None:
    broker = FakeBroker({A0: 3})
    state = through_json(planner(broker).plan(None, 1).state)
    ending = replace(READING, stopping=KafkaOffsetsInitializer.latest())
    assert planner(broker, ending).plan(state, 1).is_over


def test_a_broker_that_never_answers_is_an_error_after_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()

    with pytest.raises(KafkaNotReachableError):
        planner(FakeBroker({}, is_away=True), clock=clock).plan(None, 1)

    assert clock.seconds == READING.patience
    assert caplog.text.count("reading waits until it can go on: It is away.") == 1


def test_a_broker_that_is_away_for_a_while_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = FakeBroker({A0: 1})
    source = planner(broker)
    state = source.plan(None, 1).state
    broker.ends[A0] = 2
    broker.is_away = True
    assert [source.plan(state, 1).pieces for _ in range(3)] == [()] * 3
    broker.is_away = False

    assert ranges(source.plan(state, 1)) == {"a-0": (1, 2)}
    assert caplog.text.count("reading waits") == caplog.text.count("answers again") == 1


@pytest.mark.parametrize(
    ("starting", "found"),
    [
        (KafkaOffsetsInitializer.earliest(), (4, 6)),
        (KafkaOffsetsInitializer.latest(), (6, 6)),
        (KafkaOffsetsInitializer.committed_offsets(NONE), None),
        (KafkaOffsetsInitializer.timestamp(5), None),
    ],
)
def test_records_that_are_gone_are_told_or_refused(
    starting: KafkaOffsetsInitializer,
    found: tuple[int, int] | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = FakeBroker({A0: 6}, {A0: 4})
    source = planner(broker, replace(READING, starting=starting))
    if found is None:
        with pytest.raises(KafkaOffsetNotFoundError, match="from offset 2, but has 4 to 6"):
            source.plan([["a", 0, 2, None]], 1)
        return
    plan = source.plan([["a", 0, 2, None]], 1)

    assert (ranges(plan), plan.state) == ({"a-0": found}, [["a", 0, 6, None, None]])
    assert f"offsets 2 to {found[0] - 1} are lost" in caplog.text


@pytest.mark.parametrize("wanted", [1, 9])
def test_an_offset_to_start_from_that_is_not_there_is_replaced_as_the_strategy_says(
    wanted: int, caplog: pytest.LogCaptureFixture
) -> None:
    begins = {}
    for strategy in (KafkaOffsetResetStrategy.EARLIEST, KafkaOffsetResetStrategy.LATEST):
        starting = KafkaOffsetsInitializer.offsets({A0: wanted}, strategy)
        source = planner(FakeBroker({A0: 6}, {A0: 4}), replace(READING, starting=starting))
        begins[strategy] = ranges(source.plan(None, 1))["a-0"][0]

    assert list(begins.values()) == [4, 6]
    assert f"a-0 has no offset {wanted}; reading begins at 4" in caplog.text
    starting = KafkaOffsetsInitializer.offsets({A0: wanted}, NONE)
    with pytest.raises(KafkaOffsetNotFoundError, match="has 4 to 6"):
        planner(FakeBroker({A0: 6}, {A0: 4}), replace(READING, starting=starting)).plan(None, 1)


def test_what_an_open_transaction_holds_up_is_waited_for_and_not_taken_for_missing() -> None:
    broker = FakeBroker({A0: 5}, open={A0: 10}, group={A0: 12}, times={(A0, 99): 12})
    for starting in (
        KafkaOffsetsInitializer.offsets({A0: 12}),
        KafkaOffsetsInitializer.committed_offsets(NONE),
        KafkaOffsetsInitializer.timestamp(99),
    ):
        broker.ends[A0] = 5
        source = planner(broker, replace(READING, starting=starting))
        first = source.plan(None, 1)
        assert (ranges(first), first.state) == ({"a-0": (12, 12)}, [["a", 0, 12, None, None]])
        assert source.plan(first.state, 1).pieces == ()
        broker.ends[A0] = 15
        assert ranges(planner(broker).plan(first.state, 1)) == {"a-0": (12, 15)}


def test_no_end_waits_for_a_transaction_that_is_open() -> None:
    broker = FakeBroker({A0: 5}, open={A0: 10}, times={(A0, 99): 12})
    for stopping in (KafkaOffsetsInitializer.latest(), KafkaOffsetsInitializer.timestamp(99)):
        plan = planner(broker, replace(READING, stopping=stopping)).plan(None, 1)
        assert (ranges(plan), plan.is_over) == ({"a-0": (0, 5)}, True)


def test_no_pattern_means_topics_of_kafka_itself() -> None:
    broker = FakeBroker({A0: 1, KafkaTopicPartition("__consumer_offsets", 0): 5})
    reading = replace(READING, subscription=Subscription(pattern=".*"))

    assert ranges(planner(broker, reading).plan(None, 1)) == {"a-0": (0, 1)}


def test_a_topic_that_was_made_anew_is_not_taken_for_the_old_one() -> None:
    with pytest.raises(KafkaOffsetNotFoundError, match="ends at 1: its topic was deleted"):
        planner(FakeBroker({A0: 1})).plan([["a", 0, 2, None]], 1)


@pytest.mark.parametrize("has_restarted", [False, True])
def test_a_topic_that_was_made_anew_is_told_by_its_id_though_it_is_longer(
    has_restarted: bool,
) -> None:
    broker, clock = FakeBroker({A0: 2}, topic_ids={"a": "1"}), Clock()
    source = planner(broker, clock=clock)
    state = source.plan(None, 1).state
    broker.ends[A0] = 9
    broker.topic_ids["a"] = "2"
    clock.rest(300)

    with pytest.raises(KafkaOffsetNotFoundError, match="from offset 2, but topic a was deleted"):
        (planner(broker) if has_restarted else source).plan(state, 1)


def test_ids_of_topics_are_asked_for_when_topics_are_looked_for_and_not_for_each_epoch() -> None:
    broker, clock = FakeBroker({A0: 2}), Clock()
    source = planner(broker, clock=clock)
    state = None
    for _ in range(3):
        broker.ends[A0] += 1
        state = source.plan(state, 1).state
    assert broker.asked_ids == 1

    clock.rest(300)
    source.plan(state, 1)
    assert broker.asked_ids == 2


def test_the_group_learns_what_is_committed_and_of_the_last_start() -> None:
    broker = FakeBroker({A0: 1})
    source = planner(broker)
    first = source.plan(None, 1)
    source.committed(first.state)
    source.committed(first.state)
    assert (broker.group, broker.commits) == ({A0: 1}, 1)

    broker.group.clear()
    again = planner(broker)
    again.plan(first.state, 1)
    assert broker.group == {A0: 1}
    silent = FakeBroker({A0: 1})
    planner(silent, replace(READING, commits=False)).plan(first.state, 1)
    assert silent.group == {}

    again.close()
    assert broker.is_closed


class TestOnlyWhatIsThere:
    """A run that is to end reads no further than partitions reach when it starts."""

    def test_is_read_in_as_many_epochs_as_it_takes(self) -> None:
        broker = FakeBroker({A0: 3, A1: 0})
        source = planner(broker, replace(READING, most=2, discovery=1))
        source.only_present()
        first = source.plan(None, 1)
        broker.ends |= {A0: 9, A1: 5, A2: 1}
        second = source.plan(through_json(first.state), 1)
        third = source.plan(through_json(second.state), 1)

        assert ranges(first) == {"a-0": (0, 2), "a-1": (0, 0)}
        assert ranges(second) == {"a-0": (2, 3)}
        assert (third.pieces, third.state, third.is_over) == ((), second.state, False)
        after = ranges(planner(broker).plan(through_json(third.state), 1))
        assert after == {"a-0": (3, 9), "a-1": (0, 5), "a-2": (0, 1)}

    def test_is_waited_for_while_kafka_does_not_answer(self) -> None:
        broker = FakeBroker({A0: 3})
        clock = Clock()
        source = planner(broker, replace(READING, most=2), clock)
        source.only_present()
        state = through_json(source.plan(None, 1).state)
        broker.is_away = True

        with pytest.raises(KafkaNotReachableError):
            source.plan(state, 1)

        assert clock.seconds == READING.patience
        broker.is_away = False
        assert ranges(source.plan(state, 1)) == {"a-0": (2, 3)}
