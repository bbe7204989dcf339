"""What begins and ends a program is the same on both executors."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import collect
from tests.semantics.test_functions import Diary, diaries

from penstock.common import Encoder, Row, RowKind, Types, WatermarkStrategy
from penstock.common.time import Instant
from penstock.common.typeinfo import ExternalTypeInfo
from penstock.datastream.aggregates import Count
from penstock.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    StreamFormat,
    StreamingFileSink,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import UserFunctionError
from penstock.testing import local_environment

LINES = ["grün", "", " two  words\t", "last"]


def test_text_files(new_environment: NewEnvironment, tmp_path: Path) -> None:
    (tmp_path / "unix.txt").write_bytes("\n".join(LINES).encode())
    (tmp_path / "latin").write_bytes("\r\n".join([*LINES, ""]).encode("latin-1"))
    (tmp_path / "wide").write_bytes("\n".join(LINES).encode("utf-16"))
    (tmp_path / "empty").write_bytes(b"")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("1\n2\n")
    (folder / "b").write_text("3")
    (folder / "_hidden").write_text("no")
    (folder / ".hidden").write_text("no")
    env = new_environment(3)

    found = collect(
        {
            "unix": env.read_text_file(tmp_path / "unix.txt"),
            "latin": env.read_text_file(str(tmp_path / "latin"), "latin-1"),
            "wide": env.read_text_file(tmp_path / "wide", "UTF-16"),
            "empty": env.read_text_file(f"file://{tmp_path / 'empty'}"),
            "folder": env.read_text_file(folder),
        }
    )

    assert {name: Counter(lines) for name, lines in found.items()} == {
        "unix": Counter(LINES),
        "latin": Counter(LINES),
        "wide": Counter(LINES),
        "folder": Counter("123"),
    }


def test_sources_of_files(new_environment: NewEnvironment, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name, text in {"a": "1\n2\n", "deep/b": "3", "c": "", "_d": "4"}.items():
        (tmp_path / name).write_text(text)
    env = new_environment(2)
    lines_of_text = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(lines_of_text, tmp_path).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "files").map(int)

    found = collect({"lines": lines.union(env.from_collection([5]))})

    assert sorted(found["lines"]) == [1, 2, 3, 5]


def test_number_sequences(new_environment: NewEnvironment) -> None:
    env = new_environment(3)

    def numbers(first: int, last: int) -> NumberSequenceSource:
        return NumberSequenceSource(first, last)

    none = WatermarkStrategy.no_watermarks()
    found = collect(
        {
            "many": env.from_source(numbers(-5, 5000), none, "many"),
            "one": env.from_source(numbers(7, 7), none, "one"),
            "none": env.from_source(numbers(8, 7), none, "none"),
        }
    )

    assert {name: sorted(values) for name, values in found.items()} == {
        "many": list(range(-5, 5001)),
        "one": [7],
    }


def test_print(new_environment: NewEnvironment, capfd: pytest.CaptureFixture[str]) -> None:
    env = new_environment(2)
    numbers = env.from_collection(range(4))
    numbers.print("n").set_parallelism(1)
    numbers.rebalance().map(str).print()
    numbers.print_to_err("e").set_parallelism(1)

    env.execute()

    caught = capfd.readouterr()
    printed = caught.out.splitlines()
    to_err = [line for line in caught.err.splitlines() if line.startswith("e> ")]
    assert to_err == ["e> 0", "e> 1", "e> 2", "e> 3"]
    assert [line for line in printed if line.startswith("n")] == ["n> 0", "n> 1", "n> 2", "n> 3"]
    assert sorted(line for line in printed if not line.startswith("n")) == [
        "1> 0", "1> 2", "2> 1", "2> 3",
    ]  # fmt: skip


def test_rows_of_a_declared_type_are_printed_as_pyflink_does(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What PyFlink 2.3 printed is written down here."""
    parts = {
        Types.FLOAT(): 0.1,
        Types.DOUBLE(): 0.1,
        Types.BOOLEAN(): True,
        Types.BIG_DEC(): Decimal("1.50"),
        Types.SQL_DATE(): date(2020, 1, 2),
        Types.SQL_TIME(): time(1, 2, 3),
        Types.SQL_TIMESTAMP(): datetime(2020, 1, 2, 3, 4, 5, 678000),  # noqa: DTZ001
        Types.PRIMITIVE_ARRAY(Types.BYTE()): b"ab",
        Types.LIST(Types.INT()): [1, 2],
        Types.MAP(Types.STRING(), Types.INT()): {"a": 1},
        Types.ROW([Types.INT(), Types.STRING()]): Row(1, "n"),
        Types.TUPLE([Types.INT(), Types.STRING()]): (1, "t"),
        Types.BASIC_ARRAY(Types.STRING()): ["a", None],
        Types.PICKLED_BYTE_ARRAY(): {1},
        Types.INSTANT(): Instant(1, 5000000),
    }
    env = local_environment()
    numbers = env.from_collection([0])
    numbers.map(lambda _: Row(*parts.values()), Types.ROW(list(parts))).print()
    numbers.map(lambda _: Row(*[None] * len(parts)), Types.ROW(list(parts))).print()
    small = Types.ROW_NAMED(["x", "y"], [Types.DOUBLE(), Types.STRING()])
    numbers.map(lambda _: Row.of_kind(RowKind.DELETE, 1, "a"), small).print()
    numbers.map(lambda _: Row(y="b", x=2.0, z=1), ExternalTypeInfo(small)).print()
    numbers.map(lambda _: Row(x=1)).print()
    numbers.map(lambda _: None, small).print()

    env.execute()

    printed, *others = capfd.readouterr().out.splitlines()
    assert printed == (
        "+I[0.10000000149011612,0.1,True,1.50,2020-01-02,01:02:03,2020-01-02 03:04:05.678000,b'ab',"
        "[1, 2],{'a': 1},Row(f0=1, f1='n'),(1, 't'),['a', None],{1},Instant<1, 5000000>]"
    )
    assert others == [
        "+I[None,None,None,None,None,None,None,None,None,None,None,None,None,None,None]",
        "-D[1.0,a]",
        "+I[2.0,b]",
        "Row(x=1)",
        "None",
    ]


def test_values_of_declared_types_are_printed_and_written_as_pyflink_does(
    capfd: pytest.CaptureFixture[str], new_environment: NewEnvironment, tmp_path: Path
) -> None:
    """What PyFlink 2.3 printed and wrote is written down here."""
    pair = Types.TUPLE([Types.STRING(), Types.BOOLEAN()])
    env = new_environment()
    env.set_parallelism(1)
    pairs = env.from_collection([("a", True), ("b", False)], pair)
    pairs.print("pair")
    pairs.key_by(lambda pair: pair[0]).reduce(max).print_to_err("to err")
    rows = pairs.map(lambda pair: Row(pair, None), Types.ROW([pair, Types.FLOAT()]))
    encoder = Encoder.simple_string_encoder()
    rows.sink_to(FileSink.for_row_format(f"{tmp_path}/rows", encoder).build())
    rows.add_sink(StreamingFileSink.for_row_format(f"{tmp_path}/earlier", encoder).build())
    env.from_collection([(1.5, None)]).sink_to(
        FileSink.for_row_format(f"{tmp_path}/undeclared", encoder).build()
    )

    env.execute()

    caught = capfd.readouterr()
    assert caught.out.splitlines() == ["pair> (a,true)", "pair> (b,false)"]
    to_err = [line for line in caught.err.splitlines() if line.startswith("to err")]
    assert to_err == ["to err> (a,true)", "to err> (b,false)"]
    for folder in ("rows", "earlier"):
        assert lines_in(tmp_path / folder) == ["+I[(a,true), null]", "+I[(b,false), null]"]
    assert lines_in(tmp_path / "undeclared") == ["(1.5, None)"]


def lines_in(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("part-*") if path.is_file()]
    return [line for path in files for line in path.read_text().splitlines()]


def test_functions_of_a_job_that_fails_are_closed(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    class Failing(Diary):
        def invoke(self, value: int) -> None:
            super().invoke(1 // value)

    env = new_environment()
    env.from_collection([1, 0]).add_sink(Failing(tmp_path))

    with pytest.raises(UserFunctionError):
        env.execute()

    assert diaries(tmp_path) == [["open", "1", "close"]]


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("charset", ["UTF-8", "latin-1"])
def test_nothing_is_late_in_a_folder_whose_files_are_in_another_order(
    new_environment: NewEnvironment, tmp_path: Path, charset: str, parallelism: int
) -> None:
    hours = [[*range(hour * 20_000, hour * 20_000 + 20_000)] for hour in range(4)]
    for hour, times in enumerate(hours):
        (tmp_path / f"{'bdca'[hour]}.txt").write_text("\n".join(map(str, times)))
    env = new_environment(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda time, _: time)
    read = env.read_text_file(str(tmp_path), charset).map(int)
    keyed = read.assign_timestamps_and_watermarks(strategy).key_by(lambda time: time % 3)
    counts = keyed.window(TumblingEventTimeWindows.of(20_000)).aggregate(Count())

    assert sum(counts.execute_and_collect()) == sum(map(len, hours))
