from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.epoch_record import RowNames
from penstock.common import Row
from penstock.common.rows.data_frame_row import row_factory
from penstock.runtime.state.frames import TimerPart
from penstock.runtime.state.row_names import RowsAmongKeys, in_another_order
from penstock.runtime.state.tables import TablePart
from penstock.runtime.timers.internal_timer import InternalTimer, write_timers

AB = Row(a=1, b=2)


@dataclasses.dataclass(frozen=True)
class Order:
    row: Any
    note: Any = dataclasses.field(default=None, compare=False)


def seen(*keys: Any) -> set[tuple[str, ...]]:
    rows = RowsAmongKeys("count")
    rows.see(keys)
    return {found.names for found in rows.seen}


@pytest.mark.parametrize(
    "key",
    [AB, (1, AB), (1, (AB,)), frozenset([AB]), Row(only=AB), Order(AB), Order((AB,))],
)
def test_rows_are_found_wherever_they_are_in_a_key(key: Any) -> None:
    assert seen(1, "a", key) == {("a", "b")}


def test_rows_without_names_are_noted_by_their_width_and_rows_with_the_default_names() -> None:
    assert seen(Row(1), (Row(1, 2),), Row(AB)) == {("",), ("", ""), ("a", "b")}
    assert seen(Row(f0=1), Row(f0=1, f1=2)) == {("f0",), ("f0", "f1")}


def test_default_names_are_found_where_there_were_none() -> None:
    old = frozenset(RowNames("x", "", ("",) * width) for width in (1, 2))
    for names in (("f0",), ("f0", "f1")):
        new = RowNames("x", "", names)
        assert in_another_order(old, {new}) == (new, new._replace(names=("",) * len(names)))
    for other in (("f0", "f1", "f2"), ("a", "b"), ("f1", "f0"), ("", "", "")):
        assert in_another_order(old, {RowNames("x", "", other)}) is None
    assert in_another_order(old, {RowNames("y", "", ("f0",))}) is None
    assert in_another_order(old, old) is None


def test_rows_of_data_frames_and_of_templates_have_names_too() -> None:
    assert seen(row_factory(["b", "a"])((1, 2)), Row("c", "b")(1, 2)) == {("b", "a"), ("c", "b")}


@pytest.mark.parametrize(
    "key", [1, None, "a", (1, "a"), Row(), Row(only=1), Order(1, AB), Row(1, 2)(3, 4), b""]
)
def test_other_keys_have_no_order(key: Any) -> None:
    assert not seen(key)


def part(table: str, kind: str, *keys: Any) -> TablePart:
    return TablePart(table, kind, None, [], list(keys), list(keys), are_pickled=False)


def test_keys_of_tables_maps_and_timers_are_kept() -> None:
    rows = RowsAmongKeys("count")
    rows.keep(part("value", "value", AB))
    rows.keep(part("map", "map", (1, Row(d=1, c=2)), (Row(f=1, e=2), 2)))
    timers = [(InternalTimer(1, Row(h=1, g=2), None), True)]
    rows.keep(TimerPart("timers", b"".join(write_timers(timers))))

    assert rows.kept == {
        RowNames("count", "", ("a", "b")),
        RowNames("count", "map", ("d", "c")),
        RowNames("count", "", ("f", "e")),
        RowNames("count", "", ("h", "g")),
    }
    assert not rows.seen


names = st.lists(st.sampled_from("abc"), min_size=2, max_size=3, unique=True).map(tuple)
rows = st.frozensets(st.builds(RowNames, st.sampled_from("xy"), st.sampled_from("s "), names))


@given(old=rows, new=rows)
def test_names_that_are_old_ones_in_another_order_are_found(
    old: frozenset[RowNames], new: frozenset[RowNames]
) -> None:
    due = [
        (one, other)
        for one in new - old
        for other in old
        if one[:2] == other[:2] and sorted(one.names) == sorted(other.names)
    ]
    found = in_another_order(old, new)

    assert found in due if due else found is None
