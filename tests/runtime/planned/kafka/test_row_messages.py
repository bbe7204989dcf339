from __future__ import annotations

import pyarrow as pa

from penstock.runtime.planned.kafka.row_messages import COLUMNS, messages_of


def test_rows_have_the_methods_of_the_client_s_messages() -> None:
    headers = [[{"key": "h", "value": b"1"}, {"key": "n", "value": None}], None]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    columns = [
        pa.array(["t", "t"]),
        pa.array([0, 1]),
        pa.array([5, 6]),
        pa.array([0, -1]),
        pa.array([77, -1]),
        pa.array([b"k", None]),
        pa.array([b"v", None]),
        pa.array(headers, kind),
    ]
    rows = pa.StructArray.from_arrays(columns, COLUMNS)
    first, second = messages_of(rows)
    assert (first.topic(), first.partition(), first.offset()) == ("t", 0, 5)
    assert (first.key(), first.value(), first.timestamp()) == (b"k", b"v", (1, 77))
    assert first.headers() == [("h", b"1"), ("n", None)]
    assert (second.key(), second.value(), second.headers()) == (None, None, None)
    # As confluent-kafka says that there is no timestamp.
    assert second.timestamp()[0] == 0
    assert [one.headers() for one in messages_of(rows.slice(1))] == [None]
    without = pa.StructArray.from_arrays(columns[:-1], COLUMNS[:-1])
    assert [(one.offset(), one.headers()) for one in messages_of(without)] == [(5, None), (6, None)]
