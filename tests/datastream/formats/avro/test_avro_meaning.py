from __future__ import annotations

from typing import Any

import fastavro

from penstock.datastream.formats.avro.avro_meaning import as_meant

AT = {"type": "long", "logicalType": "timestamp-millis"}


def event(kind: Any, name: str = "Event") -> dict[str, Any]:
    fields = [{"name": "at", "type": kind}, {"name": "next", "type": ["null", name]}]
    return {"type": "record", "name": name, "fields": fields}


def kinds_as_meant(written: Any, read: Any) -> list[Any]:
    """Return the types of the fields of a writer's record, and make sure that they were not changed in it."""
    written, before = fastavro.parse_schema(written), str(fastavro.parse_schema(written))
    found = as_meant(written, fastavro.parse_schema(read))
    assert str(written) == before
    return [field["type"] for field in found["fields"]]


def test_records_may_contain_themselves_and_have_other_namespaces() -> None:
    assert kinds_as_meant(event("long"), event(AT, "bank.Event")) == [AT, ["null", "Event"]]
    assert kinds_as_meant(event(AT, "a.E"), event("long", "b.E")) == [
        {"type": "long"},
        ["null", "a.E"],
    ]


def test_of_a_union_the_branch_of_the_same_kind_is_meant() -> None:
    assert kinds_as_meant(event(["string", "long"]), event(["null", AT, "string"]))[0] == [
        "string",
        AT,
    ]


def test_what_the_reader_has_not_or_has_of_another_kind_stays() -> None:
    date = {"type": "int", "logicalType": "date"}
    assert kinds_as_meant(event(date), event(AT))[0] == date
    assert kinds_as_meant(event(AT), event({**AT, "logicalType": "timestamp-micros"}))[0] == AT
    other = {"type": "record", "name": "Event", "fields": [{"name": "other", "type": "long"}]}
    assert kinds_as_meant(event(AT), other)[0] == AT
