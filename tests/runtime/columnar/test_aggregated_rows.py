"""What Spark made of records is read as Python would have computed it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastream.aggregates import Sum
from penstock.errors import UnsupportedOperationError
from penstock.runtime.columnar.aggregate import ColumnAggregate
from penstock.runtime.columnar.aggregated_rows import (
    HALF,
    AggregatedBlock,
    given_accumulators,
    given_partials,
)
from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.exchange.elements import Partial
from penstock.runtime.windows.operator.window_contents import AggregatedRecords

CONTENTS = AggregatedRecords(Sum("amount"))


def plan_of(*aggregates: ColumnAggregate, is_single: bool = False) -> ColumnPlan:
    fields = tuple(None if it.field is None else str(it.field) for it in aggregates)
    return ColumnPlan("item", fields, aggregates, CONTENTS, is_single)


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), min_size=1, max_size=5))
def test_halves_come_to_the_sum(groups: list[list[int]]) -> None:
    highs = [sum(number >> HALF for number in group) if group else None for group in groups]
    lows = [
        sum(number & ((1 << HALF) - 1) for number in group) if group else None for group in groups
    ]
    columns = [pa.array(map(len, groups)), pa.array(highs, pa.int64()), pa.array(lows, pa.int64())]
    rows = pa.StructArray.from_arrays(columns, ["record_count", "0_high", "0_low"])
    plan = plan_of(ColumnAggregate("sum", "amount"), is_single=True)
    assert given_accumulators(rows, plan) == [sum(group) if group else None for group in groups]


def test_each_aggregate_has_its_columns() -> None:
    columns = {
        "group_key": ["tea", None],
        "time_in_pane": [0, 60],
        "record_count": [3, 2],
        "1_sum": [5, None],
        "2_count": [2, 0],
        "3_min": [-1, None],
        "4_sum": [1.5, None],
        "4_count": [2, 0],
    }
    rows = pa.StructArray.from_arrays(list(map(pa.array, columns.values())), list(columns))
    plan = plan_of(
        ColumnAggregate("count", None),
        ColumnAggregate("sum", "small"),
        ColumnAggregate("count", "small"),
        ColumnAggregate("min", "small"),
        ColumnAggregate("mean", "real"),
    )
    block = given_partials(rows, plan)
    assert block.values == [
        Partial(3, (3, 5, 2, -1, (1.5, 2))),
        Partial(2, (2, None, 0, None, None)),
    ]
    assert (block.timestamps, block.keys) == ([0, 60], ["tea", None])


def test_so_many_records_that_a_half_may_have_overflowed() -> None:
    rows = pa.StructArray.from_arrays(
        [pa.array([1 << 31]), pa.array([0]), pa.array([0])], ["record_count", "0_high", "0_low"]
    )
    with pytest.raises(UnsupportedOperationError, match="2,147,483,648 records in one pane"):
        given_accumulators(rows, plan_of(ColumnAggregate("sum", "amount"), is_single=True))


def test_an_aggregated_block_knows_how_many_records_it_stands_for() -> None:
    columns = [pa.array(["a", "b"]), pa.array([0, 10]), pa.array([4, 5])]
    block = AggregatedBlock(
        pa.StructArray.from_arrays(columns, ["group_key", "time_in_pane", "record_count"])
    )
    assert (len(block), block.record_count, block.timestamps) == (2, 9, [0, 10])
