"""The table of PyFlink's names tells what is here, and what is not."""

from __future__ import annotations

from scripts.parity_table import Name, here, names, row

from penstock.datastream import DataStream


def test_a_name_is_here_partly_here_or_not_here() -> None:
    module = "penstock.datastream.data_stream"
    assert row(Name(module, "DataStream", ("map",))) == "| `DataStream` | yes |  |"
    assert row(Name(module, "DataStream", ("map", "fly"))) == "| `DataStream` | partly | `fly` |"
    assert row(Name(module, "SailBoat", ("sail",))) == "| `SailBoat` | no | |"
    assert row(Name("penstock.sea", "SailBoat", ())) == "| `SailBoat` | no | |"


def test_names_inside_of_classes_and_functions_are_found() -> None:
    assert here(Name("penstock.datastream", "ProcessFunction.Context", ())) is not None
    assert here(Name("penstock.datastream.data_stream", "DataStream.map()", ())) is DataStream.map


def test_the_heart_of_the_api_is_here() -> None:
    wanted = {"penstock.datastream.window", "penstock.datastream.state"}
    known = [name for name in names() if name.module in wanted and name.members]
    assert len(known) > 50
    missing = {name.name for name in known if here(name) is None}
    assert missing <= {"Min", "WindowOperationDescriptor"}
