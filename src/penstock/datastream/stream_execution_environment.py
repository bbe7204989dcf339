"""The context in which a program is built and executed."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable
from typing import Any

from penstock.common.configuration.configuration import Configuration
from penstock.common.io import InputFormat
from penstock.common.typeinfo.type_information import (
    TypeInformation,
    require_type_information,
)
from penstock.common.typeinfo.types import Types
from penstock.common.typeinfo.with_article import with_article
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream.connectors.base import Source
from penstock.datastream.environment_execution import EnvironmentExecution
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.streams.operator_settings import check_configuration
from penstock.errors import ColumnNotFoundError, InvalidArgumentError
from penstock.executors.targets import described_frame, is_session
from penstock.graph.source_descriptions import FrameSource, TextFileSource
from penstock.graph.transformation import OperatorTransformation
from penstock.runtime.exchange.elements import Block
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.planned.planned_source import PlannedSource
from penstock.runtime.planned.socket_text import SocketText
from penstock.runtime.planned.source_function import FunctionSource, SourceFunction
from penstock.runtime.source import CollectionSource, NativeSource

__all__ = ["StreamExecutionEnvironment"]


class StreamExecutionEnvironment(EnvironmentExecution):
    """The context in which a program is built and executed.

    Streams begin here: `from_collection`, `from_source`, `from_data_frame`, `read_text_file`,
    `socket_text_stream`, `create_input`, `add_source`. `execute` runs everything that was built since the last execution.

    Args:
        configuration: The settings.
        engine: The SparkSession to run on; None to use the one there is, or to build one.

    Attributes:
        transformations: What the next execution runs.

    Example:
        >>> from penstock.common import Configuration
        >>> configuration = Configuration().set_string("execution.target", "local")
        >>> env = StreamExecutionEnvironment.get_execution_environment(configuration)
        >>> end = env.set_parallelism(1).from_collection(["hello", "world"]).map(str.upper).print()
        >>> result = env.execute("greeting")
        HELLO
        WORLD
    """

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, *, spark: Any = None
    ) -> StreamExecutionEnvironment:
        """Return a new environment.

        Args:
            configuration: The settings; they are copied. Default: none.
            spark: The SparkSession to run on. Default: the one that exists when the program is
                executed; if there is none, one is built.

        Returns:
            The environment.

        Raises:
            InvalidArgumentError: If one of the two is none.

        Example:
            >>> StreamExecutionEnvironment.get_execution_environment().is_chaining_enabled()
            True
        """
        if spark is not None and not is_session(spark):
            raise InvalidArgumentError(
                f"spark is {with_article(type(spark).__name__)}, not a SparkSession.",
                hint="Give SparkSession.builder.getOrCreate(), or leave it out.",
            )
        if configuration is not None:
            check_configuration(configuration, "get_execution_environment()")
        return StreamExecutionEnvironment(Configuration(configuration), spark)

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """Begin a stream with the elements of a collection, in order.

        The source is bounded and has the parallelism 1. The elements are copied from the collection
        at once, with all that can be changed in them, and travel with the program: for much data, use a file or a DataFrame.

        Args:
            collection: The elements.
            type_info: Their type: each is made a value of exactly that, as tuples become rows. Default: any.

        Returns:
            The stream.

        Raises:
            InvalidArgumentError: If it is no collection.
            TypeMismatchError: If an element is not of the type.

        Example:
            >>> from penstock.common import Types
            >>> from penstock.testing import local_environment
            >>> people = local_environment().from_collection(
            ...     [("Ann", 42), ("Bob", 7)],
            ...     type_info=Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()]),
            ... )
            >>> list(people.map(lambda person: person.name).execute_and_collect())
            ['Ann', 'Bob']
        """
        if not isinstance(collection, Iterable):
            raise InvalidArgumentError(
                f"from_collection() was given {collection!r}, which is no collection.",
                hint="Give a list, or whatever can be iterated over.",
            )
        elements = list(collection)
        if type_info is not None:
            elements = _typed(elements, type_info)
        source = CollectionSource(Block(elements).copied_if_possible().values)
        return self._read("Collection Source", source, type_info, is_parallel=False)

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Begin a stream with a source.

        Args:
            source: A source of `penstock.datastream.connectors`, such as `NumberSequenceSource`.
            watermark_strategy: How the stream knows of event time: `WatermarkStrategy.no_watermarks()`
                if it does not need to.
            source_name: The name that plans, metrics and messages show.
            type_info: The type of the records: each is made a value of exactly that. Default: what the source
                says.

        Returns:
            The stream.

        Raises:
            InvalidArgumentError: If one of the arguments is none.
            UnsupportedTypeError: If the type is none.

        Example:
            >>> from penstock.common import WatermarkStrategy
            >>> from penstock.datastream.connectors.number_seq import NumberSequenceSource
            >>> from penstock.testing import local_environment
            >>> env = local_environment(parallelism=2)
            >>> numbers = env.from_source(
            ...     NumberSequenceSource(1, 4), WatermarkStrategy.no_watermarks(), "numbers"
            ... )
            >>> sorted(numbers.execute_and_collect())
            [1, 2, 3, 4]
        """
        for argument, kind in ((source, Source), (watermark_strategy, WatermarkStrategy)):
            if not isinstance(argument, kind):
                raise InvalidArgumentError(
                    f"from_source() was given {argument!r}, which is no {kind.__name__}.",
                    hint="For instance: from_source(NumberSequenceSource(1, 10), "
                    "WatermarkStrategy.no_watermarks(), 'numbers').",
                )
        if not isinstance(source_name, str) or not source_name:
            raise InvalidArgumentError(
                f"from_source() was given {source_name!r} as the name of the source.",
                hint="Give a string that is not empty.",
            )
        return self._read(
            source_name,
            source.description(),
            type_info or source.produced_type,
            is_bounded=source.is_bounded,
            strategy=watermark_strategy,
            converts=type_info is not None,
        )

    def from_data_frame(
        self,
        df: Any,
        *,
        source_name: str = "DataFrame",
        watermark_strategy: WatermarkStrategy | None = None,
        split_column: str | None = None,
        is_sorted: bool = False,
    ) -> DataStream:
        """Begin a stream with the rows of a Spark DataFrame, bounded or streaming.

        Each row is a `Row` whose fields are read by name, as `row.origin` or `row["origin"]`, or by
        position. Rows cannot be changed; `Row(**row.as_dict())` makes one that can.

        The rows of a DataFrame come in no order of time: Spark packs files into partitions by their size, and
        joins and caches order rows as suits them. So watermarks wait, wherever in the program they are made:
        those of a bounded frame for its end, so that no row is late and windows give what they give in BATCH
        mode; those of a streaming frame for the end of each epoch, so that no row is late because of others
        that Spark read together with it.

        Args:
            df: The DataFrame.
            source_name: The name that plans, metrics and messages show.
            watermark_strategy: How the stream knows of event time. Default: no watermarks.
            split_column: The column that names the split of a row, such as `partition` of a Kafka
                source: each split has a watermark generator of its own, and a split that falls
                behind, or is read by another task, makes no record late. The rows of each split are
                taken to come by time; watermarks of a bounded frame wait all the same. Default: all
                rows are of one split.
            is_sorted: True if rows come by time, as those of a bounded frame do after `orderBy`: watermarks
                then go by its rows as they come. What is not sorted then may be late. Default: False.

        Returns:
            The stream; bounded unless the frame is a streaming one.

        Raises:
            InvalidArgumentError: If it is no Spark DataFrame.
            ColumnNotFoundError: If it has no column of the split column's name.
        """
        described = described_frame(df)
        if described is None:
            raise InvalidArgumentError(
                f"from_data_frame() was given {with_article(type(df).__name__)}, which is no Spark "
                "DataFrame.",
                hint="spark.createDataFrame(...) makes one of pandas and Arrow data.",
            )
        columns = described.row_type.get_field_names()
        if split_column is not None and split_column not in columns:
            raise ColumnNotFoundError(
                f"from_data_frame() was told that {split_column!r} names the splits, but the frame has "
                "no such column.",
                hint=f"Its columns are: {', '.join(columns)}.",
            )
        return self._read(
            source_name,
            FrameSource(df, split_column, is_sorted, described.kinds),
            described.row_type,
            is_bounded=described.is_bounded,
            strategy=watermark_strategy,
        )

    def read_text_file(
        self, path: str | os.PathLike[str], charset_name: str = "UTF-8"
    ) -> DataStream:
        """Begin a stream with the lines of a text file, without their ends.

        The source is bounded. The file is read when the program is executed; `execute` raises
        `SourceNotReadableError` if it cannot be.

        Args:
            path: The file, or a folder whose files are read. All workers must reach it.
            charset_name: The encoding.

        Returns:
            The stream of lines.

        Raises:
            InvalidArgumentError: If the path is none, or there is no such encoding.
        """
        try:
            place = os.fspath(path)
            codecs.lookup(charset_name)
        except (TypeError, LookupError) as error:
            raise InvalidArgumentError(
                f"read_text_file({path!r}, {charset_name!r}) cannot work: {error}.",
                hint="Give a path, and an encoding as 'UTF-8'.",
            ) from error
        return self._read("Text File Source", TextFileSource(place, charset_name), Types.STRING())

    def socket_text_stream(
        self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0
    ) -> DataStream:
        """Begin a stream with the lines that come from a socket, as from `nc -lk 9999`.

        The driver reads them, as UTF-8. The source has the parallelism 1, and ends when the other side closes the
        connection. It is for trying things out. As long as the driver lives, each line comes once, whatever fails;
        one that was read and not committed when the driver dies is lost, for a socket cannot give it again.

        Args:
            hostname: The host to connect to.
            port: The port, from 1 to 65535.
            delimiter: What ends a line. With the default a carriage return before it is no part of the line.
            max_retry: How often to connect again when the other side has closed the connection, or refuses it:
                half a second later each time. Below 0 for as often as it takes, so that the stream never ends.
                Default: not at all.

        Returns:
            The stream of lines, without their ends.

        Raises:
            InvalidArgumentError: If one of the arguments is none.
        """
        if not isinstance(hostname, str) or not hostname:
            raise InvalidArgumentError(
                f"{hostname!r} is no host.", hint="For instance: 'localhost'."
            )
        if not isinstance(port, int) or not 1 <= port <= 65_535:
            raise InvalidArgumentError(
                f"{port!r} is no port.", hint="A port is a whole number from 1 to 65535."
            )
        if not isinstance(delimiter, str) or not delimiter:
            raise InvalidArgumentError(
                f"{delimiter!r} is no delimiter.", hint="Give the text that ends a line, as '\\n'."
            )
        if not isinstance(max_retry, int):
            raise InvalidArgumentError(
                f"{max_retry!r} is no number of retries.",
                hint="Give a whole number; -1 tries again for ever.",
            )
        source = SocketText(hostname, port, delimiter, max_retry)
        return self._read(
            "Socket Stream", source, Types.STRING(), is_bounded=False, is_parallel=False
        )

    def create_input(
        self, input_format: InputFormat, type_info: TypeInformation | None = None
    ) -> DataStream:
        """Begin a bounded stream with the records of an input format, such as `AvroInputFormat`.

        Args:
            input_format: The format, which knows its files.
            type_info: The type of the records. Default: what the format says.

        Returns:
            The stream.

        Raises:
            InvalidArgumentError: If it is no input format.
        """
        if not isinstance(input_format, InputFormat):
            raise InvalidArgumentError(
                f"create_input() was given {input_format!r}, which is no InputFormat.",
                hint="For instance: create_input(AvroInputFormat('/data/in', schema)).",
            )
        kind = type_info or input_format.get_produced_type()
        return self._read("Custom Source", input_format.description(), kind)

    def add_source(
        self,
        source_func: SourceFunction | Source,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Begin a stream with what a function of your own collects on the driver: see `SourceFunction`.

        Args:
            source_func: The function; or a source, such as a `FlinkKafkaConsumer`, which is read as by `from_source`
                without watermarks.
            source_name: The name that plans, metrics and messages show.
            type_info: The type of the records: each is made a value of exactly that, as tuples become rows.
                Default: any, or what the source says.

        Returns:
            The stream. That of a function has parallelism 1, and ends when the function returns.

        Raises:
            InvalidArgumentError: If it is neither a `SourceFunction` nor a source.
            UnsupportedTypeError: If the type is none.
        """
        if isinstance(source_func, Source):
            return self._read(
                source_name,
                source_func.description(),
                type_info or source_func.produced_type,
                is_bounded=source_func.is_bounded,
                converts=type_info is not None,
            )
        if not isinstance(source_func, SourceFunction):
            raise InvalidArgumentError(
                f"add_source() was given {source_func!r}, which is no SourceFunction.",
                hint="Derive a class from SourceFunction that defines run(self, ctx) and cancel(self), and give an "
                "object of it.",
            )
        source = FunctionSource(source_func, f"Source: {source_name}")
        return self._read(
            source_name,
            source,
            type_info,
            is_bounded=False,
            is_parallel=False,
            converts=type_info is not None,
        )

    def _read(
        self,
        name: str,
        source: Any,
        output_type: TypeInformation | None,
        *,
        is_bounded: bool = True,
        is_parallel: bool = True,
        strategy: WatermarkStrategy | None = None,
        converts: bool = False,
    ) -> DataStream:
        own = source if isinstance(source, (NativeSource, PlannedSource)) else None
        has_splits = (isinstance(source, FrameSource) and source.split_column is not None) or (
            isinstance(source, PlannedSource) and source.has_splits
        )
        interval = self.get_config().get_auto_watermark_interval()
        operator = SourceOperator(own, strategy, interval, has_splits=has_splits)
        if converts:
            require_type_information([output_type], "the records of a source")
            operator.result_type = output_type
        transformation = OperatorTransformation(
            id=self.transformations.next_id(),
            name=f"Source: {name}",
            operator=operator,
            source=source,
            is_bounded=is_bounded,
            parallelism=None if is_parallel else 1,
            is_parallelism_fixed=not is_parallel,
            output_type=output_type,
        )
        return DataStream(self, transformation)


def _typed(elements: list[Any], type_info: TypeInformation) -> list[Any]:
    if not isinstance(type_info, TypeInformation):
        raise InvalidArgumentError(
            f"{type_info!r} is no type information.",
            hint="Types.INT() and its likes describe a type, with the parentheses.",
        )
    return [
        type_info.convert(element, f"Element {index} of the collection")
        for index, element in enumerate(elements)
    ]
