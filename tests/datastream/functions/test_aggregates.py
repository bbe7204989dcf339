"""Aggregates that say what they compute, record by record."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from penstock.common import Row
from penstock.datastream.aggregates import Aggregate, Aggregates, Count, Max, Mean, Min, Sum
from penstock.errors import ColumnNotFoundError, InvalidArgumentError
from penstock.runtime.columnar.aggregate import ColumnAggregate

NAN = float("nan")


def result(aggregate: Any, *values: Any) -> Any:
    accumulator = aggregate.create_accumulator()
    for value in values:
        accumulator = aggregate.add((value,), accumulator)
    return aggregate.get_result(accumulator)


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [(Sum(0), 6), (Count(), 4), (Count(0), 3), (Mean(0), 2.0), (Min(0), 1), (Max(0), 3)],
)
def test_leaves_out_none(aggregate: Aggregate, expected: Any) -> None:
    assert result(aggregate, 2, None, 1, 3) == expected


@pytest.mark.parametrize("aggregate", [Sum(0), Mean(0), Min(0), Max(0)])
def test_is_none_without_a_value(aggregate: Aggregate) -> None:
    assert result(aggregate, None, None) is None
    assert result(Aggregates(it=aggregate), None) == Row(it=None)


@pytest.mark.parametrize("values", [(NAN, 1.0, 2.0), (1.0, NAN, 2.0), (1.0, 2.0, NAN)])
def test_nan_is_more_than_any_number(values: tuple[float, ...]) -> None:
    assert result(Min(0), *values) == 1.0
    assert math.isnan(result(Max(0), *values))


@pytest.mark.parametrize("aggregate", [Sum(0), Count(), Count(0), Mean(0), Min(0), Max(0)])
def test_merges_as_it_adds(aggregate: Aggregate) -> None:
    values = [4, None, 1, 7]
    for cut in range(len(values) + 1):
        parts = [aggregate.create_accumulator(), aggregate.create_accumulator()]
        for index, value in enumerate(values):
            parts[index >= cut] = aggregate.add((value,), parts[index >= cut])
        assert aggregate.get_result(aggregate.merge(*parts)) == result(aggregate, *values)


def test_names_the_results_in_the_order_of_the_aggregates() -> None:
    found = result(pickle.loads(pickle.dumps(Aggregates(total=Sum(0), least=Min(0)))), 3, 1)
    assert found.as_dict() == {"total": 4, "least": 1}
    assert list(found) == [4, 1]


def test_says_what_it_computes() -> None:
    assert Sum("a").column_aggregates == (ColumnAggregate("sum", "a"),)
    assert Aggregates(n=Count(), m=Mean(1)).column_aggregates == (
        ColumnAggregate("count", None),
        ColumnAggregate("mean", 1),
    )


def test_says_nothing_of_a_class_of_the_users() -> None:
    class Product(Sum):
        def _joined(self, one: Any, other: Any) -> Any:
            return one * other

    assert Product(0).column_aggregates == ()
    assert Aggregates(n=Count(), product=Product(0)).column_aggregates == ()

    class Rounded(Aggregates):
        def get_result(self, accumulator: Any) -> Row:
            return Row(*(round(value, -1) for value in super().get_result(accumulator)))

    assert Rounded(n=Count()).column_aggregates == ()


def test_refuses_what_is_no_field() -> None:
    with pytest.raises(InvalidArgumentError):
        Sum(-1)
    with pytest.raises(InvalidArgumentError):
        Aggregates()
    with pytest.raises(InvalidArgumentError):
        Aggregates(total="amount")  # type: ignore[arg-type]


def test_names_a_field_that_is_not_there() -> None:
    with pytest.raises(ColumnNotFoundError, match="'price'"):
        Sum("price").add(Row(amount=1), None)
