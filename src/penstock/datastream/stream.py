"""Streams of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.common.execution_config import ExecutionConfig
from penstock.common.typeinfo import TupleTypeInfo, TypeInformation, Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream.connecting import Connecting, check_other_stream
from penstock.datastream.function_checks import check_function
from penstock.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
)
from penstock.datastream.key_selection import key_function
from penstock.datastream.named_rows import declared_names, name_results
from penstock.datastream.operator_settings import StreamSettings
from penstock.datastream.partitioning import Partitioning
from penstock.datastream.record_fields import Projection, check_field
from penstock.datastream.stream_outputs import StreamOutputs
from penstock.datastream.windowing import Windowing
from penstock.errors import InvalidArgumentError, InvalidFunctionError, UnsupportedOperationError
from penstock.graph.transformation import (
    OperatorTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.filter import FilterOperator
from penstock.runtime.operators.flat_map import FlatMapOperator
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.map import MapOperator
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.output_tag import OutputTag, check_output_tag
from penstock.runtime.partitioners import KeyGroupStreamPartitioner, StreamPartitioner

if TYPE_CHECKING:
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment


class DataStream(StreamSettings, Partitioning, Connecting, Windowing, StreamOutputs):
    """A stream of records, and what can be done with it.

    Streams come from a `StreamExecutionEnvironment` and from operations on other streams. Nothing runs
    until the environment executes the program.

    Records are any Python objects. They pass from one chained operator to the next as they are: a function
    may change a record that it was given, and whoever kept that before it sees the change. To cross to
    another subtask records are pickled.

    Functions are plain callables, generators where there can be several results, or objects of the
    classes in `penstock.datastream.functions`. What they raise ends the job with a
    `UserFunctionError` that names the operator and the record.

    Declared types (`output_type`) describe the results and are not checked. Only a row type with
    field names does more: it names the fields of results that are tuples, lists or rows without
    names, and gives rows with these names the order of the type.

    Args:
        environment: The program.
        transformation: What makes the stream.

    Example:
        >>> from penstock.testing import local_environment
        >>> words = local_environment().from_collection(["to", "be", "or", "not", "to", "be"])
        >>> counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
        >>> list(counts.execute_and_collect())
        [('to', 1), ('be', 1), ('or', 1), ('not', 1), ('to', 2), ('be', 2)]
    """

    _is_keyed = False

    def __init__(
        self, environment: StreamExecutionEnvironment, transformation: Transformation
    ) -> None:
        super().__init__(transformation)
        self._environment = environment

    def get_type(self) -> TypeInformation:
        """Return the declared type of the records; any object that can be pickled if there is none."""
        return self._transformation.output_type or Types.PICKLED_BYTE_ARRAY()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment of the program."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """Return the settings of the program."""
        return self._environment.get_config()

    def _transform(
        self,
        name: str,
        operator: StreamOperator,
        output_type: TypeInformation | None,
        second: DataStream | None = None,
    ) -> DataStream:
        """Return the results of an operator on this stream, and on a second one if it has two inputs."""
        streams = (self,) if second is None else (self, second)
        transformation = OperatorTransformation(
            id=self._environment.transformations.next_id(),
            name=name,
            inputs=tuple(stream._transformation for stream in streams),  # noqa: SLF001
            operator=operator,
            is_keyed=self._is_keyed,
            output_type=_check_type(output_type),
        )
        return DataStream(self._environment, self._environment.transformations.add(transformation))

    def _calling(self, kind: type[FunctionOperator], function: Any) -> StreamOperator:
        """Return the operator of a kind that calls a function, here without keys."""
        return kind(function)

    def map(
        self,
        func: Callable[[Any], Any] | MapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make one result of each record.

        Args:
            func: Takes a record and returns the result, which may be None.
            output_type: The type of the results. Default: any.

        Returns:
            The results, with their records' timestamps.

        Raises:
            InvalidFunctionError: If the function cannot be called so.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment().from_collection([1, 2, 3])
            >>> list(numbers.map(lambda number: number * number).execute_and_collect())
            [1, 4, 9]
        """
        function = check_function(func, "map", 1, "map()")
        operator = self._calling(MapOperator, name_results(function, "map", output_type))
        return self._transform("Map", operator, output_type)

    def flat_map(
        self,
        func: Callable[[Any], Iterable[Any] | None] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each record.

        Args:
            func: Takes a record and returns or yields the results; None stands for none.
            output_type: The type of the results. Default: any.

        Returns:
            The results, with their records' timestamps.

        Raises:
            InvalidFunctionError: If the function cannot be called so.

        Example:
            >>> from penstock.testing import local_environment
            >>> lines = local_environment().from_collection(["to be", "or not"])
            >>> list(lines.flat_map(str.split).execute_and_collect())
            ['to', 'be', 'or', 'not']
        """
        function = check_function(func, "flat_map", 1, "flat_map()")
        operator = self._calling(FlatMapOperator, name_results(function, "flat_map", output_type))
        return self._transform("Flat Map", operator, output_type)

    def filter(self, func: Callable[[Any], Any] | FilterFunction) -> DataStream:
        """Keep the records for which a function returns true.

        Args:
            func: Takes a record and returns whether it stays.

        Returns:
            The records that stay.

        Raises:
            InvalidFunctionError: If the function cannot be called so.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment().from_collection([1, 2, 3, 4])
            >>> list(numbers.filter(lambda number: number % 2 == 0).execute_and_collect())
            [2, 4]
        """
        operator = self._calling(FilterOperator, check_function(func, "filter", 1, "filter()"))
        return self._transform("Filter", operator, self._transformation.output_type)

    def process(
        self,
        func: Callable[[Any, Any], Iterable[Any] | None] | ProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each record, for the main output and for side outputs.

        Args:
            func: Takes a record and a `ProcessFunction.Context`, and returns or yields the results. A
                tuple of an `OutputTag` and a value goes to that side output.
            output_type: The type of the results in the main output. Default: any.

        Returns:
            The main output; `get_side_output` gives the others.

        Raises:
            InvalidFunctionError: If the function cannot be called so, or needs a keyed stream.

        Example:
            >>> from penstock.datastream import OutputTag
            >>> from penstock.testing import local_environment
            >>> short = OutputTag("short")
            >>> def split(word, ctx):
            ...     yield word if len(word) > 2 else (short, word)
            >>> words = local_environment().from_collection(["to", "be", "not"]).process(split)
            >>> list(words.get_side_output(short).execute_and_collect())
            ['to', 'be']
        """
        if isinstance(func, KeyedProcessFunction):
            raise InvalidFunctionError(
                f"process() was given {type(func).__name__}, a KeyedProcessFunction, on a stream "
                "without keys.",
                hint="Call key_by() first, or derive it from ProcessFunction.",
            )
        return self._process("Process", func, output_type)

    def _process(self, name: str, func: Any, output_type: TypeInformation | None) -> DataStream:
        function = check_function(func, "process_element", 2, "process()")
        kind = KeyedProcessOperator if self._is_keyed else ProcessOperator
        operator = kind(name_results(function, "process_element", output_type))
        return self._transform(name, operator, output_type)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Give records event timestamps, and the stream watermarks, in place of those it had.

        The operator has the parallelism that its input has here, whatever the environment's is, so that
        records come to it in the order in which they are made.

        Args:
            watermark_strategy: Says how.

        Returns:
            The same records, with timestamps.

        Raises:
            InvalidArgumentError: If it is no `WatermarkStrategy`.

        Example:
            >>> from penstock.common import WatermarkStrategy
            >>> from penstock.testing import local_environment
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> strategy = strategy.with_timestamp_assigner(lambda event, _: event)
            >>> times = local_environment().from_collection([1000, 2000])
            >>> def with_time(event, ctx):
            ...     yield event, ctx.timestamp()
            >>> timed = times.assign_timestamps_and_watermarks(strategy).process(with_time)
            >>> list(timed.execute_and_collect())
            [(1000, 1000), (2000, 2000)]
        """
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise InvalidArgumentError(
                f"assign_timestamps_and_watermarks() was given {watermark_strategy!r}, which is no "
                "WatermarkStrategy.",
                hint="For instance: WatermarkStrategy.for_monotonous_timestamps()"
                ".with_timestamp_assigner(lambda event, _: event.time).",
            )
        interval = self.get_execution_config().get_auto_watermark_interval()
        operator = TimestampsAndWatermarksOperator(watermark_strategy, interval)
        timed = self._transform("Timestamps/Watermarks", operator, self._transformation.output_type)
        # In other subtasks records would come out of order, and be late.
        timed._transformation.parallelism = self._transformation.parallelism  # noqa: SLF001
        return timed

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector | int | str,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """Bring records with equal keys together, in one subtask.

        On a keyed stream: give the records other keys, in place of those they have.

        Args:
            key_selector: Takes a record and returns its key. Or the position of a field, or its name,
                as in Java's `keyBy`: of tuples, lists, rows, dicts, and of objects by attribute. A field
                of tuples or of a DataFrame's rows is read faster than by a function. A key must be
                hashable, and equal in every process: numbers, strings, bytes, dates, enums, and tuples,
                frozen dataclasses and rows of those.
            key_type: The type of the keys; a description only. Default: any.

        Returns:
            The stream, keyed.

        Raises:
            InvalidFunctionError: If the key selector cannot be called so.
            ColumnNotFoundError: If records of the stream's declared type have no such field.

        Example:
            >>> from penstock.testing import local_environment
            >>> sales = local_environment().from_collection([("pen", 2), ("ink", 9), ("pen", 3)])
            >>> list(sales.key_by(0).sum(1).execute_and_collect())
            [('pen', 2), ('ink', 9), ('pen', 5)]
        """
        from penstock.datastream.keyed_stream import KeyedStream  # derived from this class

        _check_type(key_type)
        key = key_function(key_selector, "key_by()", self._transformation.output_type)
        return KeyedStream(self._environment, self._partition(KeyGroupStreamPartitioner(key)))

    def _partition(self, partitioner: StreamPartitioner) -> PartitionTransformation:
        return PartitionTransformation(
            id=self._environment.transformations.next_id(),
            name="Partition",
            inputs=(self._transformation,),
            parallelism=self._transformation.parallelism,
            output_type=self._transformation.output_type,
            partitioner=partitioner,
        )

    def _partitioned(self, partitioner: StreamPartitioner, method: str) -> DataStream:
        return DataStream(self._environment, self._partition(partitioner))

    def union(self, *streams: DataStream) -> DataStream:
        """Put streams together: all records of this one and of the others.

        A stream that is given several times brings its records as often. Between streams there is
        no order.

        Args:
            *streams: The other streams, of the same program.

        Returns:
            The streams as one.

        Raises:
            InvalidArgumentError: If one is no stream, or belongs to another environment.

        Example:
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> both = env.from_collection([1, 2]).union(env.from_collection([3]))
            >>> sorted(both.execute_and_collect())
            [1, 2, 3]
        """
        for stream in streams:
            check_other_stream(self, stream, "union()")
        inputs = tuple(stream._transformation for stream in (self, *streams))  # noqa: SLF001
        types = {repr(read.output_type) for read in inputs}  # equal row types may differ in names
        transformation = UnionTransformation(
            id=self._environment.transformations.next_id(),
            name="Union",
            inputs=inputs,
            parallelism=inputs[0].parallelism,
            output_type=inputs[0].output_type if len(types) == 1 else None,
        )
        return DataStream(self._environment, transformation)

    def project(self, *field_indexes: int | str) -> DataStream:
        """Keep some fields of each record, in a new order.

        Tuples and lists become tuples; rows stay rows, with the names of the fields that stay.

        Args:
            *field_indexes: The positions of the fields, from 0; or their names, which PyFlink does
                not take.

        Returns:
            The records with those fields.

        Raises:
            InvalidArgumentError: If no field is given.
            ColumnNotFoundError: If records of the stream's declared type have no such field. If none
                is declared, the job fails with it.

        Example:
            >>> from penstock.testing import local_environment
            >>> records = local_environment().from_collection([("a", 1, True), ("b", 2, False)])
            >>> list(records.project(2, 0).execute_and_collect())
            [(True, 'a'), (False, 'b')]
        """
        if not field_indexes:
            raise InvalidArgumentError(
                "project() was given no field.", hint="Name those to keep: project(0, 2)."
            )
        declared = self._transformation.output_type
        for field in field_indexes:
            check_field(field, "project()", declared)
        output_type = None
        if isinstance(declared, TupleTypeInfo):
            types = declared.get_field_types()
            output_type = Types.TUPLE([types[int(index)] for index in field_indexes])
        return self._transform("Projection", MapOperator(Projection(field_indexes)), output_type)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """Return a side output of the operator.

        Args:
            output_tag: The tag under which the process function emits.

        Returns:
            The records that were emitted with an equal tag.

        Raises:
            InvalidArgumentError: If it is no `OutputTag`.
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        hint = "Give the tag that the process function emits with."
        check_output_tag(output_tag, "get_side_output", hint)
        if not isinstance(self._transformation, OperatorTransformation):
            raise UnsupportedOperationError(
                f"get_side_output({output_tag.tag_id!r}) was called on a stream that is not the "
                "output of an operator.",
                hint="Call it on what process() returned.",
            )
        transformation = SideOutputTransformation(
            id=self._environment.transformations.next_id(),
            name="Side Output",
            inputs=(self._transformation,),
            parallelism=self._transformation.parallelism,
            tag=output_tag,
            output_type=output_tag.type_info,
        )
        stream = DataStream(self._environment, transformation)
        if declared_names(output_tag.type_info) is None:
            return stream
        named = stream.map(_identity, output_tag.type_info)
        named._transformation.parallelism = transformation.parallelism  # noqa: SLF001
        return named


def _identity(value: Any) -> Any:
    return value


def _check_type(type_info: Any) -> TypeInformation | None:
    if type_info is None or isinstance(type_info, TypeInformation):
        return type_info
    raise InvalidArgumentError(
        f"{type_info!r} is no type information.",
        hint="Types.INT() and its likes describe a type, with the parentheses.",
    )
