from __future__ import annotations

import threading
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream, SourceFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import NumberSequenceSource
from penstock.errors import (
    ColumnNotFoundError,
    FunctionNotSerializableError,
    InvalidArgumentError,
    InvalidParallelismError,
    SourceNotReadableError,
    TypeMismatchError,
    UnsupportedOperationError,
    UnsupportedTypeError,
)
from penstock.graph.source_descriptions import FrameSource, TextFileSource
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.planned.source_function import SourceContext
from penstock.testing import local_environment

NO_WATERMARKS = WatermarkStrategy.no_watermarks()


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return local_environment(parallelism=2)


def node_of(stream: DataStream) -> StreamNode:
    stream.print()
    (node,) = stream.get_execution_environment().get_stream_graph().sources
    return node


def results(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


def test_a_collection_is_read_in_order_by_one_subtask(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(iter([3, 1, 2]))
    node = node_of(stream)
    assert (node.name, node.parallelism, node.is_bounded) == ("Source: Collection Source", 1, True)
    assert results(stream.map(str).set_parallelism(1)) == ["3", "1", "2"]
    with pytest.raises(InvalidParallelismError, match="is not parallel"):
        stream.set_parallelism(2)


def test_a_collection_is_copied_at_once(env: StreamExecutionEnvironment) -> None:
    values = [1]
    stream = env.from_collection(values)
    values.append(2)
    assert results(stream) == [1]


def test_what_a_collection_holds_is_copied_at_once(env: StreamExecutionEnvironment) -> None:
    elements: list[Any] = [[1], {"a": [1]}, Row([1]), ([1], 1)]
    inner = [elements[0], elements[1]["a"], elements[2][0], elements[3][0]]
    rows = env.from_collection([[elements[0]]], Types.ROW([Types.PICKLED_BYTE_ARRAY()]))
    stream = env.from_collection(elements)
    for one in inner:
        one.append(5)
    assert results(rows) == [Row(f0=[1])]
    assert results(stream) == [[1], {"a": [1]}, Row([1]), ([1], 1)]


def test_what_cannot_be_copied_is_refused_when_the_program_runs(
    env: StreamExecutionEnvironment,
) -> None:
    stream = env.from_collection([[1], threading.Lock()])
    with pytest.raises(FunctionNotSerializableError, match="item 1 is a lock"):
        stream.execute_and_collect()


def test_an_empty_collection_ends(env: StreamExecutionEnvironment) -> None:
    assert results(env.from_collection([]).key_by(int).sum()) == []


@pytest.mark.parametrize("wrong", [None, 3])
def test_a_collection_can_be_iterated_over(env: StreamExecutionEnvironment, wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="is no collection"):
        env.from_collection(wrong)


def test_elements_are_checked(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(TypeMismatchError, match="Element 1 of the collection"):
        env.from_collection([1, "two"], Types.INT())
    with pytest.raises(InvalidArgumentError, match="is no type information"):
        env.from_collection([1], int)  # type: ignore[arg-type]


@pytest.mark.parametrize("element", [("a", 1), ["a", 1], Row("a", 1)])
def test_elements_of_a_row_type_become_rows(env: StreamExecutionEnvironment, element: Any) -> None:
    types = [Types.STRING(), Types.INT()]
    (named,) = results(env.from_collection([element], Types.ROW_NAMED(["x", "y"], types)))
    assert named == Row(x="a", y=1)
    (plain,) = results(env.from_collection([element], Types.ROW(types)))
    assert plain == Row(f0="a", f1=1)


def test_a_source_is_named_and_typed(env: StreamExecutionEnvironment) -> None:
    stream = env.from_source(NumberSequenceSource(1, 10), NO_WATERMARKS, "numbers")
    node = node_of(stream)
    assert (node.name, node.parallelism, node.is_bounded) == ("Source: numbers", 2, True)
    assert stream.get_type() == Types.LONG()
    typed = env.from_source(NumberSequenceSource(1, 2), NO_WATERMARKS, "n", Types.INT())
    assert typed.get_type() == Types.INT()
    assert sorted(results(stream)) == [*range(1, 11)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (([1], NO_WATERMARKS, "n"), r"\[1\], which is no Source"),
        ((NumberSequenceSource(1, 2), None, "n"), "None, which is no WatermarkStrategy"),
        ((NumberSequenceSource(1, 2), NO_WATERMARKS, ""), "as the name of the source"),
        ((NumberSequenceSource(1, 2), NO_WATERMARKS, None), "as the name of the source"),
    ],
)
def test_what_is_no_source_is_refused(
    env: StreamExecutionEnvironment, arguments: tuple[Any, ...], expected: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=expected):
        env.from_source(*arguments)


def frame(*, streaming: bool) -> Any:
    def field(name: str, kind: str) -> Any:
        data_type = SimpleNamespace(typeName=lambda: kind, simpleString=lambda: kind)
        return SimpleNamespace(name=name, dataType=data_type)

    fields = [field("origin", "string"), field("delay", "double"), field("tags", "array")]
    return SimpleNamespace(isStreaming=streaming, schema=SimpleNamespace(fields=fields))


@pytest.mark.parametrize("streaming", [True, False])
def test_a_data_frame_ends_unless_it_streams(
    env: StreamExecutionEnvironment, streaming: bool
) -> None:
    source = frame(streaming=streaming)
    node = node_of(env.from_data_frame(source, source_name="flights"))
    assert isinstance(node.source, FrameSource)
    assert node.source.frame is source
    assert (node.name, node.is_bounded, node.parallelism) == ("Source: flights", not streaming, 2)


def test_the_columns_of_a_data_frame_are_known_early(env: StreamExecutionEnvironment) -> None:
    stream = env.from_data_frame(frame(streaming=False))
    assert stream.get_name() == "DataFrame"
    assert stream.get_type() == Types.ROW_NAMED(
        ["origin", "delay", "tags"],
        [Types.STRING(), Types.DOUBLE(), Types.PICKLED_BYTE_ARRAY()],
    )
    stream.key_by("origin").sum("delay")
    with pytest.raises(ColumnNotFoundError, match="origni"):
        stream.key_by("origni")


def test_what_is_no_data_frame_is_refused(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(InvalidArgumentError, match="a list, which is no Spark DataFrame"):
        env.from_data_frame([1])


def test_a_data_frame_needs_spark(env: StreamExecutionEnvironment) -> None:
    env.from_data_frame(frame(streaming=False)).print()
    with pytest.raises(UnsupportedOperationError, match="Source: DataFrame"):
        env.execute()


def test_lines_of_a_text_file(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes("grün\nblau\n\n".encode("latin-1"))
    stream = env.read_text_file(file, "latin-1")
    node = node_of(stream)
    assert node.source == TextFileSource(str(file), "latin-1")
    assert (node.name, node.is_bounded) == ("Source: Text File Source", True)
    assert stream.get_type() == Types.STRING()
    assert results(stream) == ["grün", "blau", ""]


def test_an_empty_folder_has_no_lines(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    assert results(env.read_text_file(str(tmp_path)).key_by(str).reduce(max)) == []


def test_a_text_file_that_is_not_there(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.read_text_file(tmp_path / "none.txt").print()
    with pytest.raises(SourceNotReadableError, match=r"none\.txt"):
        env.execute()


@pytest.mark.parametrize("arguments", [(None,), (3,), ("file", "no such charset")])
def test_what_is_no_text_file_is_refused(
    env: StreamExecutionEnvironment, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot work"):
        env.read_text_file(*arguments)


def test_a_socket_is_a_stream_and_read_by_one_subtask(env: StreamExecutionEnvironment) -> None:
    stream = env.socket_text_stream("localhost", 9999)
    node = node_of(stream)
    assert (node.name, node.parallelism, node.is_bounded) == ("Source: Socket Stream", 1, False)
    assert stream.get_type() == Types.STRING()


@pytest.mark.parametrize(
    "arguments",
    [
        ("", 1),
        (None, 1),
        ("h", 0),
        ("h", 65_536),
        ("h", "80"),
        ("h", 80, ""),
        ("h", 80, b"\n"),
        ("h", 80, "\n", "often"),
    ],
)
def test_what_is_no_socket_is_refused(
    env: StreamExecutionEnvironment, arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(InvalidArgumentError, match=r"is no (host|port|delimiter|number)"):
        env.socket_text_stream(*arguments)


def test_the_default_environment_reads_files_too(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration().set_string("execution.target", "local")
    )
    (tmp_path / "a.txt").write_text("x\n")
    assert results(env.read_text_file(tmp_path)) == ["x"]


def test_what_a_source_reads_is_made_of_its_declared_type(env: StreamExecutionEnvironment) -> None:
    pair = Types.ROW_NAMED(["name", "price"], [Types.STRING(), Types.DOUBLE()])
    rows = env.add_source(Feed(("pen", 2)), "feed", pair)
    assert results(rows.map(lambda row: row.price)) == [2.0]

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Decimals())
    numbers = env.from_source(NumberSequenceSource(1, 2), strategy, "n", Types.BIG_DEC())
    assert sorted(results(numbers)) == [Decimal(1), Decimal(2)]

    with pytest.raises(TypeMismatchError, match="'Source: feed' is no String: 1, an int"):
        results(env.add_source(Feed("a", 1), "feed", Types.STRING()))
    with pytest.raises(TypeMismatchError, match="'Source: n' is no String: 1, an int"):
        results(env.from_source(NumberSequenceSource(1, 1), NO_WATERMARKS, "n", Types.STRING()))
    not_one: Any = int
    with pytest.raises(UnsupportedTypeError, match="cannot be the type of the records of a source"):
        env.from_source(NumberSequenceSource(1, 1), NO_WATERMARKS, "n", not_one)


class Feed(SourceFunction):
    def __init__(self, *values: Any) -> None:
        self._values = values

    def run(self, ctx: SourceContext) -> None:
        for value in self._values:
            ctx.collect(value)

    def cancel(self) -> None: ...


class Decimals(TimestampAssigner):
    def extract_timestamp(self, value: Decimal, record_timestamp: int | None) -> int:
        return int(value.scaleb(3))


def test_what_is_no_source_function_is_refused(env: StreamExecutionEnvironment) -> None:
    not_one: Any = [1, 2]
    with pytest.raises(InvalidArgumentError, match="is no SourceFunction"):
        env.add_source(not_one)
