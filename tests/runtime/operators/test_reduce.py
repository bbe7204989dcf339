from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import Harness
from tests.runtime.timers.manual_clock import ManualClock

from penstock.errors import UserFunctionError
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.state.factory import create_backend
from penstock.runtime.timestamp import MAX_TIMESTAMP

keys = st.sampled_from(["a", "b", 1, 1.0, True, None])
keyed = st.lists(st.tuples(keys, st.integers()), max_size=20)
cuts = st.lists(keyed, max_size=4)


def joined(one: Any, other: Any) -> str:
    return f"{one} {other}"


def process(harness: Harness, block: list[tuple[Any, int]], *, timed: bool = False) -> None:
    harness.process(
        [value for _, value in block],
        [10 * value for _, value in block] if timed else None,
        [key for key, _ in block],
    )


@given(cuts, st.booleans())
def test_streaming_emits_every_rolling_result_however_the_stream_is_cut(
    blocks: list[list[tuple[Any, int]]], timed: bool
) -> None:
    harness = Harness(ReduceOperator(joined))
    for block in blocks:
        process(harness, block, timed=timed)
    harness.operator.end_input()

    rolling: dict[Any, Any] = {}
    expected = []
    for block in blocks:
        for key, value in block:
            rolling[key] = joined(rolling[key], value) if key in rolling else value
            expected.append((rolling[key], 10 * value if timed else None))
    assert harness.output.records() == expected


@given(cuts)
def test_batch_emits_the_last_result_of_each_key_at_the_end(
    blocks: list[list[tuple[Any, int]]],
) -> None:
    harness = Harness(ReduceOperator(joined), batch=True)
    for block in blocks:
        process(harness, block)
    assert not harness.output.log

    harness.operator.process_watermark(MAX_TIMESTAMP)
    *results, last = harness.output.log
    harness.operator.end_input()

    assert harness.output.log == [*results, last]
    assert last == ("watermark", MAX_TIMESTAMP)
    assert {timestamp for _, timestamp in harness.output.records()} <= {MAX_TIMESTAMP}
    final: dict[Any, Any] = {}
    for block in blocks:
        for key, value in block:
            final[key] = joined(final[key], value) if key in final else value
    assert sorted(map(str, harness.output.values())) == sorted(map(str, final.values()))


def test_results_that_are_none_are_results() -> None:
    harness = Harness(ReduceOperator(lambda one, other: None))
    process(harness, [("a", 1), ("a", 2), ("a", 3)])

    assert harness.output.values() == [1, None, None]


@given(cuts)
def test_the_state_tells_what_an_epoch_changed(blocks: list[list[tuple[Any, int]]]) -> None:
    harness = Harness(ReduceOperator(joined))
    state = harness.operator.state
    before: dict[Any, Any] = {}
    for block in blocks:
        process(harness, block)
        changed = {key for key, _ in block}
        table = cast("dict[Any, Any]", state.table("reduce"))
        told = create_backend(
            "hashmap", max_parallelism=128, key_groups=range(128), clock=ManualClock()
        )
        for frame in state.changes():
            told.apply(frame)
        assert told.table("reduce") == {key: table[key] for key in changed}
        assert {key: value for key, value in table.items() if key not in changed} == {
            key: value for key, value in before.items() if key not in changed
        }
        before = dict(table)
        state.forget_changes()


def test_goes_on_from_the_state_it_is_given() -> None:
    harness = Harness(ReduceOperator(joined))
    harness.operator.state.table("reduce")["a"] = "before"
    process(harness, [("a", 1), ("b", 2)])

    assert harness.output.values() == ["before 1", 2]


def test_an_error_tells_the_record_that_was_joined() -> None:
    def fail(one: int, other: int) -> int:
        return one // other

    with pytest.raises(UserFunctionError) as raised:
        process(
            Harness(ReduceOperator(fail), name="Mine"), [("a", 1), ("b", 0), ("a", 0), ("a", 3)]
        )

    assert (raised.value.operator, raised.value.record) == ("Mine", "0")


def test_refuses_records_without_keys() -> None:
    with pytest.raises(TypeError, match="'Mine' got records without keys"):
        Harness(ReduceOperator(joined), name="Mine").process([1])


def test_is_stateful() -> None:
    assert ReduceOperator.is_stateful


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_what_was_read_from_a_file_may_be_anything(backend: str) -> None:
    harness, other = (Harness(ReduceOperator(joined), backend=backend) for _ in range(2))
    operator = cast("ReduceOperator", harness.operator)
    operator.look_at_table(sets_fixed=True)
    assert (operator.holds_fixed, operator.may_hold_kept) == (True, False)

    process(other, [("a", 1)])
    for frame in other.operator.state.changes():
        operator.state.apply(frame)
    operator.look_at_table(sets_fixed=True)
    assert (operator.holds_fixed, operator.may_hold_kept) == (False, True)

    operator.look_at_table(sets_fixed=True)
    assert not operator.holds_fixed


def test_what_may_be_anything_was_set_once_and_for_all() -> None:
    operator = cast("ReduceOperator", Harness(ReduceOperator(joined)).operator)
    operator.look_at_table(sets_fixed=False)
    operator.look_at_table(sets_fixed=True)

    assert (operator.holds_fixed, operator.may_hold_kept) == (False, False)
