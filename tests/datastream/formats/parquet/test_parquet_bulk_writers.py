from __future__ import annotations

import datetime
import io
import logging
import pickle
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import BulkWriterFactory, Configuration, Instant, Row, Types
from penstock.datastream.formats.parquet import ParquetBulkWriters
from penstock.errors import InvalidArgumentError

ROWS = Types.ROW_NAMED(["id", "at"], [Types.LONG(), Types.SQL_TIMESTAMP()])
AT = datetime.datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001


def written(factory: BulkWriterFactory, rows: list[Any]) -> io.BytesIO:
    file = io.BytesIO()
    writer = pickle.loads(pickle.dumps(factory)).create(file)
    for row in rows:
        writer.add_element(row)
    writer.finish()
    return file


def table(factory: BulkWriterFactory, rows: list[Any]) -> pa.Table:
    return pq.read_table(written(factory, rows))


def config(**settings: str) -> Configuration:
    found = Configuration()
    for key, value in settings.items():
        found.set_string(key.replace("__", "."), value)
    return found


def test_timestamps_are_as_the_clock_reads_or_points_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    plain = table(ParquetBulkWriters.for_row_type(ROWS), [(1, AT)])
    in_utc = table(ParquetBulkWriters.for_row_type(ROWS, utc_timestamp=True), [(1, AT)])
    assert plain["at"].to_pylist() == [AT]
    assert in_utc["at"].to_pylist() == [AT.replace(tzinfo=datetime.UTC)]


def test_timestamps_in_lists_and_rows_are_points_in_time_too() -> None:
    inner = Types.ROW_NAMED(["at"], [Types.SQL_TIMESTAMP()])
    rows = Types.ROW_NAMED(
        ["list", "row", "map"],
        [
            Types.LIST(Types.SQL_TIMESTAMP()),
            inner,
            Types.MAP(Types.STRING(), Types.SQL_TIMESTAMP()),
        ],
    )
    factory = ParquetBulkWriters.for_row_type(rows, utc_timestamp=True)
    found = table(factory, [([AT], Row(AT), {"a": AT})]).to_pylist()
    later = AT.replace(tzinfo=datetime.UTC)
    assert found == [{"list": [later], "row": {"at": later}, "map": [("a", later)]}]


def test_instants_are_points_in_time() -> None:
    rows = Types.ROW_NAMED(["at"], [Types.INSTANT()])
    found = table(ParquetBulkWriters.for_row_type(rows), [(Instant(5, 120_000_999),), (None,)])
    assert found["at"].to_pylist() == [
        datetime.datetime(1970, 1, 1, 0, 0, 5, 120_000, tzinfo=datetime.UTC),
        None,
    ]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({}, "SNAPPY"),
        ({"parquet__compression": "zstd"}, "ZSTD"),
        ({"parquet__compression": "UNCOMPRESSED"}, "UNCOMPRESSED"),
        ({"my__own": "x"}, "SNAPPY"),
    ],
)
def test_settings_of_hadoop_choose_the_compression(
    setting: dict[str, str], expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(ParquetBulkWriters.for_row_type(ROWS, config(**setting)), [(1, AT)])
    assert pq.read_metadata(file).row_group(0).column(0).compression == expected
    assert caplog.records == []


def test_settings_of_hadoop_choose_dictionaries() -> None:
    files = [
        written(
            ParquetBulkWriters.for_row_type(ROWS, config(parquet__enable__dictionary=value)),
            [(1, AT)],
        )
        for value in ("true", "false")
    ]
    columns = [pq.read_metadata(file).row_group(0).column(0) for file in files]
    assert [column.has_dictionary_page for column in columns] == [True, False]


def test_a_setting_without_effect_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        factory = ParquetBulkWriters.for_row_type(ROWS, config(parquet__block__size="1"))
        assert table(factory, [(1, AT)]).num_rows == 1
    said = [record.getMessage() for record in caplog.records]
    assert (
        len([text for text in said if "'parquet.block.size' has no effect on files" in text]) == 1
    )


@pytest.mark.parametrize(
    ("key", "value"), [("parquet__compression", "x"), ("parquet__page__size", "x")]
)
def test_a_setting_that_is_none_is_refused(key: str, value: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"'{value}' is no value for"):
        ParquetBulkWriters.for_row_type(ROWS, config(**{key: value}))


def test_rows_are_taken_by_name_or_by_position() -> None:
    rows = [{"at": AT, "id": 1}, Row(at=AT, id=1), Row(f0=1, f1=AT), Row(1, AT), (1, AT), [1, AT]]
    found = table(ParquetBulkWriters.for_row_type(ROWS, row_group_size=2), rows)
    assert found.to_pylist() == [{"id": 1, "at": AT}] * len(rows)


def test_a_row_that_is_none_is_an_error() -> None:
    factory = ParquetBulkWriters.for_row_type(ROWS)
    for row in [(1,), Row(id=1), {"id": 1}, ("a", AT)]:
        with pytest.raises(InvalidArgumentError, match="rows that are not of its schema"):
            written(factory, [row])


def test_a_factory_tells_its_columns() -> None:
    assert ParquetBulkWriters.for_row_type(ROWS).get_row_type() == ROWS
