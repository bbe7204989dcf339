from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.running import collect
from tests.strategies import any_of, from_zero

from penstock.common import Row
from penstock.common.rows.data_frame_row import row_factory
from penstock.datastream import aggregates
from penstock.datastream.functions.rolling_aggregates import (
    Aggregation,
    Max,
    MaxBy,
    Min,
    MinBy,
    Sum,
)
from penstock.errors import ColumnNotFoundError, TypeMismatchError
from penstock.testing import local_environment

KINDS: dict[str, Callable[[int, int], Any]] = {
    "tuple": lambda a, b: (a, b),
    "list": lambda a, b: [a, b],
    "row": Row,
    "named row": Row("x", "y"),
    "frame row": lambda a, b: row_factory(["x", "y"])((a, b)),
    "dict": lambda a, b: {0: a, 1: b},
}


def model(method: str, pairs: list[tuple[int, int]]) -> tuple[int, int]:
    """What Flink's aggregates come to, written down as plainly as can be."""
    values = [b for _, b in pairs]
    match method:
        case "sum":
            return pairs[0][0], sum(values)
        case "min":
            return pairs[0][0], min(values)
        case "max":
            return pairs[0][0], max(values)
        case "min_by":
            return next(pair for pair in pairs if pair[1] == min(values))
        case "max_by":
            return next(pair for pair in pairs if pair[1] == max(values))
    raise AssertionError(method)


METHODS: dict[str, type[Aggregation]] = {
    "sum": Sum,
    "min": Min,
    "max": Max,
    "min_by": MinBy,
    "max_by": MaxBy,
}
pairs = st.lists(any_of(range(4), from_zero(-5, 5)), min_size=1, max_size=20)
triples = any_of(range(4), from_zero(-2, 2), range(10))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(pairs=pairs)
def test_every_result_is_that_of_the_model(kind: str, pairs: list[tuple[int, int]]) -> None:
    make = KINDS[kind]
    records = [make(*pair) for pair in pairs]
    untouched = copy.deepcopy(records)
    for method, aggregation in METHODS.items():
        reduce, known = aggregation(1).reduce, records[0]
        for count, record in enumerate(records[1:], 2):
            known = reduce(known, record)
            assert known == make(*model(method, pairs[:count])), method
        assert records == untouched, method


@given(data=st.lists(any_of("abc", range(4), from_zero(-5, 5))))
def test_keyed_streams_agree_with_the_model(data: list[tuple[str, int, int]]) -> None:
    keyed = local_environment().from_collection(data).key_by(lambda record: record[0])
    found = collect({method: getattr(keyed, method)(2) for method in METHODS})
    for method in METHODS:
        expected = []
        for index, (key, *_) in enumerate(data):
            so_far = [(a, b) for k, a, b in data[: index + 1] if k == key]
            expected.append((key, *model(method, so_far)))
        assert found[method] == expected, method


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sum", [3, 4, 9]),
        ("min", [3, 1, 1]),
        ("max", [3, 3, 5]),
        ("min_by", [3, 1, 1]),
        ("max_by", [3, 3, 5]),
    ],
)
def test_plain_numbers_are_their_own_field_0(method: str, expected: list[int]) -> None:
    keyed = local_environment().from_collection([3, 1, 5]).key_by(lambda _: 0)
    assert list(getattr(keyed, method)().execute_and_collect()) == expected


def test_a_field_by_name() -> None:
    rows = [Row(name="a", n=1), Row(name="a", n=4)]
    summed = local_environment().from_collection(rows).key_by("name").sum("n")
    assert list(summed.execute_and_collect()) == [Row(name="a", n=1), Row(name="a", n=5)]


def test_a_missing_field_names_operator_and_record() -> None:
    keyed = local_environment().from_collection([(1, 2), (3,)]).key_by(lambda _: 0)
    summed = keyed.sum(1).name("the sum")
    with pytest.raises(ColumnNotFoundError) as caught:
        list(summed.execute_and_collect())
    assert "'the sum' found no field 1 in (3,)." in str(caught.value)


def test_fields_that_cannot_be_added_name_operator_and_record() -> None:
    keyed = local_environment().from_collection([("a", 1), ("a", None)]).key_by(0)
    with pytest.raises(TypeMismatchError) as caught:
        list(keyed.sum(1).name("the sum").execute_and_collect())
    assert "Operator 'the sum' cannot join the values 1 and None of field 1: " in str(caught.value)
    assert "your function" not in str(caught.value)


@pytest.mark.parametrize(
    "aggregate", [aggregates.Sum, aggregates.Min, aggregates.Max, aggregates.Mean]
)
def test_in_windows_too(aggregate: type[aggregates.Aggregate]) -> None:
    keyed = local_environment().from_collection([("a", 1), ("a", "2")]).key_by(0).count_window(2)
    with pytest.raises(TypeMismatchError, match=r"the values .* and '2' of field 1: "):
        list(keyed.aggregate(aggregate(1)).execute_and_collect())


@given(records=st.tuples(triples, triples, triples))
def test_all_are_associative(records: tuple[tuple[int, ...], ...]) -> None:
    a, b, c = records
    for method, aggregation in METHODS.items():
        reduce = aggregation(1).reduce
        assert reduce(reduce(a, b), c) == reduce(a, reduce(b, c)), method
