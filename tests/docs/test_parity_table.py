"""The table of PyFlink's names tells what is here, what is not, and why."""

from __future__ import annotations

from typing import Any

import pytest
from scripts import parity_table
from scripts.parity_table import (
    OTHERWISE,
    WHY,
    Name,
    differences,
    here,
    is_like,
    is_there,
    names,
    reason,
    row,
)

from penstock.datastream import DataStream
from penstock.not_here import INSTEAD


def test_a_name_is_here_partly_here_or_not_here() -> None:
    module = "penstock.datastream.data_stream"
    assert row(Name(module, "DataStream", "", ("map(func)",))) == "| `DataStream` | yes |  |"
    partly = row(Name(module, "DataStream", "", ("map(func)", "@fly(high=True)")))
    assert partly == "| `DataStream` | partly | `fly` |"
    assert row(Name(module, "SailBoat", "", ("sail()",))) == "| `SailBoat` | no |  |"
    assert row(Name("penstock.sea", "SailBoat")) == "| `SailBoat` | no |  |"
    module = "penstock.datastream.connectors.pulsar"
    assert 'spark.readStream.format("pulsar")' in row(Name(module, "PulsarSource"))
    brought = Name("penstock.datastream", "brings", "", ("DataStream", "SailBoat"))
    assert row(brought) == "| *brings from elsewhere* | partly | `SailBoat` |"


def test_a_reason_is_that_of_the_place_or_of_one_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        parity_table, "WHY", {"sea.boats": "It sank.", "sea.boats.Kayak": "Narrow."}
    )
    assert reason("sea.boats.SailBoat.Mast") == "It sank."
    assert reason("sea.boats.Kayak") == "Narrow."
    assert reason("sea") == ""


def test_what_is_here_is_not_said_to_be_missing() -> None:
    """If this fails, something that was missing is here: delete its line."""
    assert [place for place in [*INSTEAD, *WHY] if is_there(place)] == []
    assert OTHERWISE.keys() - set(differences()) == set()


def test_a_place_is_that_of_a_module_or_of_something_in_one() -> None:
    assert is_there("datastream.formats.parquet")
    assert is_there("datastream.data_stream.DataStream.map")
    assert not is_there("datastream.data_stream.DataStream.fly")
    assert not is_there("sea.boats.SailBoat")


def test_names_inside_of_classes_are_found() -> None:
    assert here(Name("penstock.datastream", "ProcessFunction.Context")) is not None
    assert here(Name("penstock.datastream.data_stream", "DataStream.map")) is DataStream.map


class Boat:
    LENGTH = 6

    def sail(self, course: int, *crew: str, speed: int = 3, own: bool = False) -> None: ...

    @staticmethod
    def built(length: int = 2 * 3) -> Any: ...

    def drift(self, *, own: bool = False) -> None: ...


@pytest.mark.parametrize(
    ("member", "is_the_same"),
    [
        ("drift()", True),
        ("drift(own)", False),
        ("@drift()", False),
        ("@built(length=3 * 2)", True),
        ("@built(length=Boat.LENGTH)", True),
        ("@built(length=7)", False),
        ("@built(width=6)", False),
        ("built(length=6)", False),
        ("sail(course, *crew)", True),
        ("sail(course, crew)", False),
        ("sink()", True),
    ],
)
def test_parameters_and_defaults_are_compared(member: str, is_the_same: bool) -> None:
    assert is_like(Boat, member, __name__) is is_the_same


def test_the_names_are_read_with_all_that_is_said_of_them() -> None:
    known = {name.place: name for name in names()}
    found = known[
        "common.restart_strategy.RestartStrategies.FailureRateRestartStrategyConfiguration"
    ]
    assert found.bases == ("RestartStrategyConfiguration",)
    assert found.members[0] == "get_max_failure_rate()"
    assert known["common.time.Time"].parameters == "(milliseconds)"
    assert known["metrics.metricbase.Distribution"].members == ("update(value)",)
