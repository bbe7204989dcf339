from __future__ import annotations

from typing import Any

import cloudpickle
import pytest

from penstock.common import Types
from penstock.datastream.connectors.spark import SparkSink
from penstock.errors import InvalidArgumentError


def test_a_sink_says_where_its_rows_go() -> None:
    sink = SparkSink("csv", schema="word string", path="counts", options={"header": "true"})
    assert (sink.format, sink.schema, sink.mode) == ("csv", "word string", "append")
    assert (sink.path, sink.table, sink.options) == ("counts", None, {"header": "true"})


def test_every_stream_gets_an_operator_of_its_own() -> None:
    sink = SparkSink(schema=Types.ROW_NAMED(["word"], [Types.STRING()]), table="counts")
    one, other = sink.create_operator(), sink.create_operator()
    assert one is not other
    assert one.sink is sink
    assert one.schema is sink.schema
    cloudpickle.dumps(one)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"schema": None}, "needs the schema"),
        ({"schema": ""}, "needs the schema"),
        ({"schema": "a int", "mode": "upsert"}, "'upsert' is no mode"),
        ({"schema": "a int", "path": "p", "table": "t"}, "to a path or to a table"),
    ],
)
def test_what_cannot_be_written_is_refused_at_once(
    arguments: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=expected):
        SparkSink(**arguments)


def test_the_schema_is_given_by_name() -> None:
    with pytest.raises(TypeError):
        SparkSink("csv", "word string")  # type: ignore[call-arg]
