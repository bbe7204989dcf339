from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.rows.data_frame_row import row_factory
from penstock.common.time import Instant
from penstock.common.types import Row
from penstock.runtime.exchange.arrow_rows import rows_to_table

SCHEMA = pa.schema([("b", pa.int64()), ("a", pa.string())])
FORMS: dict[str, Any] = {
    "tuple": lambda b, a: (b, a),
    "list": lambda b, a: [b, a],
    "dict": lambda b, a: {"a": a, "b": b},
    "dict with more": lambda b, a: {"a": a, "b": b, "c": 0},
    "row with names": lambda b, a: Row(a=a, b=b),
    "row without names": Row,
    "row of a data frame": lambda b, a: row_factory(["a", "b"])((a, b)),
}


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.text(st.characters(codec="utf-8")),
            st.sampled_from(sorted(FORMS)),
        )
    )
)
def test_columns_hold_the_fields_of_rows_of_all_forms(content: list[Any]) -> None:
    table = rows_to_table([FORMS[form](b, a) for b, a, form in content], SCHEMA)

    assert table.schema == SCHEMA
    assert table.to_pydict() == {
        "b": [b for b, _, _ in content],
        "a": [a for _, a, _ in content],
    }


@pytest.mark.parametrize("values", [[1, 2, None], []])
def test_plain_values_fill_a_single_column(values: list[Any]) -> None:
    table = rows_to_table(values, pa.schema([("n", pa.int64())]))

    assert table.to_pydict() == {"n": values}


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([(1, "a"), (2,)], ValueError),
        ([(1,)], ValueError),
        ([(1, "a", 2)], ValueError),
        ([{"b": 1}], KeyError),
        ([("x", "a")], pa.ArrowException),
        ([(1, 2)], (pa.ArrowException, TypeError)),
    ],
)
def test_refuses_rows_of_another_form(rows: list[Any], error: Any) -> None:
    with pytest.raises(error):
        rows_to_table(rows, SCHEMA)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, "a"), (2,)], r"^\(2,\) has 1 values, not 2\.$"),
        ([(1, "a", 2)], r"^\(1, 'a', 2\) has 3 values, not 2\.$"),
        (["ab"], r"^'ab' has 1 values, not 2\.$"),
        ([(1, 2)], "^column 'a': "),
    ],
)
def test_says_which_row_or_column_does_not_fit(rows: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rows_to_table(rows, SCHEMA)


class TestIntegers:
    @pytest.mark.parametrize("value", [1.5, -0.25, Decimal("1.5"), np.float64(1.5)])
    @pytest.mark.parametrize("kind", [pa.int64(), pa.int8()])
    def test_are_not_made_from_fractions(self, value: Any, kind: pa.DataType) -> None:
        with pytest.raises(pa.ArrowException, match=r"column 'n': .*1?\.2?5.* is no whole number"):
            rows_to_table([1, None, value], pa.schema([("n", kind)]))

    def test_are_not_made_from_fractions_in_lists_and_structs(self) -> None:
        inner = pa.list_(pa.struct([("cents", pa.int64())]))
        with pytest.raises(pa.ArrowException, match=r"column 'cents': 1\.5 is no whole number"):
            rows_to_table([([{"cents": 1.5}],)], pa.schema([("n", inner)]))

    @pytest.mark.parametrize("value", [2.0, Decimal(2), np.int32(2)])
    def test_are_made_from_other_whole_numbers(self, value: Any) -> None:
        table = rows_to_table([value, None], pa.schema([("n", pa.int64())]))

        assert table.to_pydict() == {"n": [2, None]}


class TestTimestamps:
    BERLIN = pa.schema([("t", pa.timestamp("us", tz="Europe/Berlin"))])

    def instants(self, values: list[Any]) -> list[Any]:
        column = rows_to_table(values, self.BERLIN)["t"].cast(pa.timestamp("us", tz="UTC"))
        return [value.as_py() for value in column]

    def test_without_zone_are_of_the_zone_of_the_column(self) -> None:
        summer, winter = datetime(2025, 7, 1, 12), datetime(2025, 1, 1, 12)  # noqa: DTZ001

        assert self.instants([None, summer, winter]) == [
            None,
            datetime(2025, 7, 1, 10, tzinfo=UTC),
            datetime(2025, 1, 1, 11, tzinfo=UTC),
        ]

    def test_that_come_twice_or_never_are_the_earliest(self) -> None:
        twice, never = datetime(2025, 10, 26, 2, 30), datetime(2025, 3, 30, 2, 30)  # noqa: DTZ001

        assert self.instants([twice, never]) == [
            datetime(2025, 10, 26, 0, 30, tzinfo=UTC),
            datetime(2025, 3, 30, 0, 59, 59, 999999, tzinfo=UTC),
        ]

    def test_with_zone_keep_their_instant(self) -> None:
        moment = datetime(2025, 7, 1, 12, tzinfo=timezone(timedelta(hours=5)))

        assert self.instants([moment, None]) == [moment, None]

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_may_be_instants(self, unit: Any) -> None:
        kind = pa.timestamp(unit, "UTC")
        instants = [Instant(5, 0), None, Instant(-1, 999_999_999)]
        found = rows_to_table([(at,) for at in instants], pa.schema([("at", kind)]))["at"]
        nanos = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
        counts = [at.value for at in found.cast(kind)]
        assert counts == [5 * 10**9 // nanos, None, -1]
        with pytest.raises(pa.ArrowInvalid, match="datetime beside Instant"):
            rows_to_table([(Instant(5, 0),), (datetime(2020, 1, 1),)], pa.schema([("at", kind)]))  # noqa: DTZ001

    def test_of_a_column_without_zone_stay_as_they_are(self) -> None:
        moment = datetime(2025, 7, 1, 12)  # noqa: DTZ001
        table = rows_to_table([moment], pa.schema([("t", pa.timestamp("us"))]))

        assert table.to_pydict() == {"t": [moment]}
