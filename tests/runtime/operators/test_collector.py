from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import CollectingOutput

from penstock.runtime.exchange.elements import BLOCK_SIZE
from penstock.runtime.operators.collector import Collector
from penstock.runtime.output_tag import OutputTag

LATE, ODD = OutputTag("late"), OutputTag("odd")
results = st.integers() | st.tuples(st.sampled_from([LATE, ODD]), st.integers())
calls = st.tuples(st.lists(results, max_size=4), st.none() | st.integers(0, 9))


@given(st.lists(st.lists(calls, max_size=5), max_size=4))
def test_sorts_results_by_their_tags(runs: list[list[Any]]) -> None:
    output = CollectingOutput()
    collector = Collector(output)
    expected: dict[str | None, list[Any]] = {None: [], "late": [], "odd": []}
    for run in runs:
        for found, timestamp in run:
            collector.collect(iter(found), timestamp)
            for result in found:
                tag, value = (None, result) if isinstance(result, int) else result
                expected[getattr(tag, "tag_id", None)].append((value, timestamp))
        collector.flush()
        for tag, records in expected.items():
            assert output.records(tag) == records


def test_keeps_everything_until_it_is_flushed_or_a_block_is_full() -> None:
    output = CollectingOutput()
    collector = Collector(output)
    collector.collect([*range(BLOCK_SIZE - 1), (LATE, 1)], 5)
    assert output.log == []
    collector.collect([0, 0], 5)
    assert [len(block) for block in output.blocks()] == [BLOCK_SIZE]
    collector.collect([(LATE, 1)] * BLOCK_SIZE, 5)
    assert [len(block) for block in output.blocks("late")] == [BLOCK_SIZE]
    collector.flush()
    collector.flush()
    assert [len(block) for block in output.blocks()] == [BLOCK_SIZE, 1]
    assert [len(block) for block in output.blocks("late")] == [BLOCK_SIZE, 1]


def test_has_timestamps_only_where_a_record_has_one() -> None:
    output = CollectingOutput()
    collector = Collector(output)
    collector.collect([1, (LATE, 2)], None)
    collector.flush()
    collector.collect([1], None)
    collector.collect([2], 7)
    collector.flush()

    assert [block.timestamps for block in output.blocks()] == [None, [None, 7]]
    assert [block.timestamps for block in output.blocks("late")] == [None]
