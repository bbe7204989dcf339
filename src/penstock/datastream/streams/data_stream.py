"""Streams of records, with keys and without, and what they are in windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn, Self, overload

from penstock.common.typeinfo.composite_typeinfo import TupleTypeInfo
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream.functions.function_checks import check_function, key_function
from penstock.datastream.functions.keyed_functions import AsProcessFunction, may_have_state
from penstock.datastream.functions.one_input import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.datastream.functions.record_fields import Projection, check_field
from penstock.datastream.functions.rolling_aggregates import Aggregating, Aggregation
from penstock.datastream.streams.cache import StreamCache
from penstock.datastream.streams.partitioning import Partitioning
from penstock.datastream.streams.stream_outputs import StreamOutputs
from penstock.datastream.streams.two_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    CoGroupedWindows,
    ConnectedStreams,
    IntervalJoin,
    JoinedWindows,
    TwoStreams,
)
from penstock.datastream.windows.operations import Windows
from penstock.errors import InvalidArgumentError, InvalidFunctionError, UnsupportedOperationError
from penstock.graph.transformation import (
    OperatorTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)
from penstock.runtime.exchange.partitioners import (
    BroadcastPartitioner,
    KeyGroupStreamPartitioner,
    StreamPartitioner,
)
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import (
    FilterOperator,
    FlatMapOperator,
    FunctionOperator,
    MapOperator,
)
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator, ReduceWithStateOperator
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.output_tag import OutputTag, check_output_tag
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.assigners.count_windows import count_windows
from penstock.runtime.windows.operator.window_call import (
    ApplyAllCall,
    ApplyCall,
    ProcessAllCall,
    ProcessCall,
)

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment


class DataStream(Partitioning, StreamOutputs):
    """A stream of records, and what can be done with it.

    Streams come from a `StreamExecutionEnvironment` and from operations on other streams. Nothing runs
    until the environment executes the program.

    Records are any Python objects. They pass from one chained operator to the next as they are: a function
    may change a record that it was given, and whoever kept that before it sees the change. To cross to
    another subtask records are pickled.

    Functions are plain callables, generators where there can be several results, or objects of the
    classes in `penstock.datastream.functions`. What they raise ends the job with a
    `UserFunctionError` that names the operator and the record.

    Where the type of results is declared (`output_type`), each is made a value of exactly that type if it is equal to
    one: `True` or `1.0` becomes the int `1`, a tuple a row with the declared names. Any other ends the job with a
    `TypeMismatchError`. What a side output gets, the type of its tag is declared for. Results that go on as they came,
    as of `filter`, keep their type and are not looked at.

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

    _environment: StreamExecutionEnvironment
    _is_keyed = False

    def __init__(
        self, environment: StreamExecutionEnvironment, transformation: Transformation
    ) -> None:
        super().__init__(environment, transformation)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment of the program."""
        return self._environment

    def _transform(
        self,
        name: str,
        operator: StreamOperator,
        output_type: TypeInformation | None,
        second: DataStream | None = None,
        *,
        converts: bool = True,
    ) -> DataStream:
        """Return the results of an operator on this stream, and on a second one if it has two inputs.

        Unless they are of their type anyhow, they are made values of it.
        """
        if converts:
            operator.result_type = _check_type(output_type)
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

    def _passed_on(self, name: str, operator: StreamOperator) -> DataStream:
        """Return the results of an operator that are of the same type as the records of this stream."""
        return self._transform(name, operator, self._transformation.output_type, converts=False)

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
        operator = self._calling(MapOperator, function)
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
        operator = self._calling(FlatMapOperator, function)
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
        return self._passed_on("Filter", operator)

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
        operator = kind(function)
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
        timed = self._passed_on("Timestamps/Watermarks", operator)
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
                equal in every process: numbers, strings, bytes, dates, enums, and tuples, lists,
                frozen dataclasses and rows of those. A list that is a key cannot be changed.
            key_type: The type of the keys, which they are checked against. A key stays as it is: state is found that
                was kept for it before its type was declared. Default: any.

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
        key = key_function(key_selector, "key_by()", self._transformation.output_type)
        partitioner = KeyGroupStreamPartitioner(key, _check_type(key_type))
        return KeyedStream(self._environment, self._partition(partitioner))

    def _partition(self, partitioner: StreamPartitioner) -> PartitionTransformation:
        return PartitionTransformation(
            id=self._environment.transformations.next_id(),
            name="Partition",
            inputs=(self._transformation,),
            parallelism=self._transformation.parallelism,
            output_type=self._transformation.output_type,
            partitioner=partitioner,
        )

    def _partitioned(self, partitioner: StreamPartitioner, method: str) -> Self:
        return type(self)(self._environment, self._partition(partitioner))

    @overload
    def broadcast(self) -> DataStream: ...
    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Send each record to all subtasks.

        Args:
            broadcast_state_descriptor: Names a broadcast state that the records are to change, in a
                function of this stream and of another one. Default: none.
            *other_broadcast_state_descriptors: Name more of them.

        Returns:
            The stream, partitioned. If states are named, it can only be connected with another
            stream.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key, or the entries of a state
                are to expire.
            InvalidArgumentError: If a descriptor is no `MapStateDescriptor`, or two have one name.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment(parallelism=2).from_collection([1, 2])
            >>> sorted(numbers.broadcast().map(lambda number: number).execute_and_collect())
            [1, 1, 2, 2]
        """
        stream = self._partitioned(BroadcastPartitioner(), "broadcast")
        if broadcast_state_descriptor is None:
            return stream
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        return BroadcastStream(stream, descriptors)

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
            _check_other_stream(self, stream, "union()")
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

    def cache(self) -> CachedDataStream:
        """Keep the records of this stream for later executions of the environment, in BATCH mode.

        The first job that computes them and finishes writes them, with their timestamps, below
        `execution.checkpointing.dir`, or else to a folder for temporary files of this machine. Jobs that are
        started later read them there, and run nothing that is before this stream. They stay until
        `CachedDataStream.invalidate` is called, or the environment is closed.

        Returns:
            The stream of these records.

        Raises:
            UnsupportedOperationError: If the stream is keyed, or a union or partitioning of others; on execution, if
                it is not in BATCH mode.

        Example:
            >>> from penstock.datastream import RuntimeExecutionMode
            >>> from penstock.testing import local_environment
            >>> env = local_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
            >>> squares = env.from_collection([1, 2, 3]).map(lambda number: number**2).cache()
            >>> list(squares.map(lambda square: square + 1).execute_and_collect())  # computes squares
            [2, 5, 10]
            >>> list(squares.map(lambda square: -square).execute_and_collect())  # reads them
            [-1, -4, -9]
        """
        if not isinstance(self._transformation, (OperatorTransformation, SideOutputTransformation)):
            raise UnsupportedOperationError(
                "cache() was called on a stream that is only a view of others: it comes from a key_by, a "
                "partitioning, a union or a cache.",
                hint="Call it on the stream before, or on the one after the next operation.",
            )
        return CachedDataStream(self._environment, self._environment.cache(self._transformation))

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...
    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...
    def connect(
        self, ds: DataStream | BroadcastStream
    ) -> ConnectedStreams | BroadcastConnectedStream:
        """Let the records of this stream and of another one go to one function.

        The two may hold different kinds of records. A stream may be connected with itself.

        Args:
            ds: The other stream, of the same program; or what `broadcast(descriptor)` returned.

        Returns:
            The two, for a function that has a method for each.

        Raises:
            InvalidArgumentError: If it is no stream, or belongs to another environment.

        Example:
            >>> from penstock.datastream import CoFlatMapFunction
            >>> class Either(CoFlatMapFunction):
            ...     def flat_map1(self, value):
            ...         yield "left", value
            ...     def flat_map2(self, value):
            ...         yield "right", value
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> both = env.from_collection([1]).connect(env.from_collection([2]))
            >>> sorted(both.flat_map(Either()).execute_and_collect())
            [('left', 1), ('right', 2)]
        """
        if isinstance(ds, BroadcastStream):
            _check_other_stream(self, ds.input_stream, "connect()")
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        return ConnectedStreams(self, _check_other_stream(self, ds, "connect()"))

    def join(self, other_stream: DataStream) -> TwoStreams[JoinedWindows]:
        """Join this stream with another one: pairs of records with one key and one window.

        PyFlink has no joins of streams; this is Flink's.

        Args:
            other_stream: The other stream, of the same program.

        Returns:
            The two: `.where(key).equal_to(key).window(assigner).apply(function)`.

        Raises:
            InvalidArgumentError: If it is no stream, or belongs to another environment.

        Example:
            >>> from penstock.common import Time, WatermarkStrategy
            >>> from penstock.datastream.window import TumblingEventTimeWindows
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
            >>> def timed(*events):
            ...     return env.from_collection(events).assign_timestamps_and_watermarks(strategy)
            >>> clicks, sales = timed(("ann", 100), ("bob", 1200)), timed(("ann", 900), ("bob", 300))
            >>> joined = (
            ...     clicks.join(sales)
            ...     .where(lambda click: click[0])
            ...     .equal_to(lambda sale: sale[0])
            ...     .window(TumblingEventTimeWindows.of(Time.seconds(1)))
            ...     .apply(lambda click, sale: (click, sale))
            ... )
            >>> list(joined.execute_and_collect())
            [(('ann', 100), ('ann', 900))]
        """
        return TwoStreams(self, _check_other_stream(self, other_stream, "join()"), JoinedWindows)

    def co_group(self, other_stream: DataStream) -> TwoStreams[CoGroupedWindows]:
        """Bring together what this stream and another one have of each key and window.

        Other than in a join, the function also sees keys that only one of the two has. PyFlink has
        no joins of streams; this is Flink's.

        Args:
            other_stream: The other stream, of the same program.

        Returns:
            The two: `.where(key).equal_to(key).window(assigner).apply(function)`.

        Raises:
            InvalidArgumentError: If it is no stream, or belongs to another environment.

        Example:
            >>> from penstock.datastream.window import CountTrigger, GlobalWindows
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> left, right = env.from_collection([1, 2, 3]), env.from_collection([5])
            >>> grouped = (
            ...     left.co_group(right)
            ...     .where(lambda number: number % 2)
            ...     .equal_to(lambda number: number % 2)
            ...     .window(GlobalWindows.create())
            ...     .trigger(CountTrigger.of(3))
            ...     .apply(lambda ones, others: [(sorted(ones), sorted(others))])
            ... )
            >>> list(grouped.execute_and_collect())
            [([1, 3], [5])]
        """
        return TwoStreams(
            self, _check_other_stream(self, other_stream, "co_group()"), CoGroupedWindows
        )

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Put all records of the stream into windows, in one subtask.

        That subtask gets every record, so this does not grow with the cluster: prefer windows by key
        (`key_by(...).window(...)`) where there is a key.

        Args:
            window_assigner: Says which windows a record belongs to.

        Returns:
            The stream, to be told what to do with the windows.

        Raises:
            InvalidArgumentError: If it is no `WindowAssigner`.
        """
        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Put all records of the stream into windows of a number of records, in one subtask.

        PyFlink does not have it; see `KeyedStream.count_window`, whose windows these are.

        Args:
            size: How many records a window has, at least 1.
            slide: How many records after one window the next starts. Default: 0, for `size`.

        Returns:
            The stream, to be told what to do with the windows.

        Raises:
            InvalidWindowError: If the size is below 1, or the slide below 0.
        """
        return self.window_all(count_windows(size, slide))

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
        operator = MapOperator(Projection(field_indexes))
        return self._transform("Projection", operator, output_type, converts=False)

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
        self._declare_side(self._transformation.operator, output_tag)
        return DataStream(self._environment, transformation)

    def _declare_side(self, operator: StreamOperator, tag: OutputTag) -> None:
        """Have values of a side output made such of the type that its tag declares."""
        declared = _check_type(tag.type_info)
        if declared is None:
            return
        known = operator.side_types.get(tag.tag_id, declared)
        if repr(known) != repr(declared):  # equal row types may differ in names
            raise InvalidArgumentError(
                f"get_side_output({tag.tag_id!r}) was given the type {declared!r}, and {known!r} before.",
                hint="Use one OutputTag for a side output.",
            )
        operator.side_types = {**operator.side_types, tag.tag_id: declared}


class KeyedStream(DataStream, Aggregating[DataStream]):
    """A stream in which records with equal keys come together, in one subtask.

    All operations of a `DataStream` are here too, except those that would send the records
    elsewhere. `key_by` on a keyed stream gives the records other keys.

    What `reduce` and the aggregates know of each key is state: it stays from epoch to epoch. In
    STREAMING mode they emit the new result for every record; in BATCH mode each key's final result,
    once, with the last timestamp there is, 2**63 - 1. Windows behind it by another time need
    `assign_timestamps_and_watermarks` on the results.

    Args:
        environment: The program.
        transformation: What makes the stream.

    Example:
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment().from_collection([1, 2, 3, 4])
        >>> sums = numbers.key_by(lambda number: number % 2).sum()
        >>> list(sums.execute_and_collect())
        [1, 2, 4, 6]
    """

    class AccumulateType(Enum):
        """The aggregates of one field. PyFlink has their names here."""

        MIN = 1
        MAX = 2
        MIN_BY = 3
        MAX_BY = 4
        SUM = 5

    _is_keyed = True

    def _partitioned(self, partitioner: StreamPartitioner, method: str) -> NoReturn:
        raise UnsupportedOperationError(
            f"{method}() was called on a keyed stream, whose partitioning is that by key.",
            hint="Call it on the stream before key_by(), or after the next operation.",
        )

    def _calling(self, kind: type[FunctionOperator], function: Any) -> StreamOperator:
        """Return the operator of a kind that calls a function, with the key if it may have state."""
        if may_have_state(function):
            return KeyedProcessOperator(AsProcessFunction(function, kind.method))
        return kind(function)

    def process(
        self,
        func: Callable[[Any, Any], Iterable[Any] | None] | KeyedProcessFunction | ProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each record, for the main output and for side outputs.

        Args:
            func: Takes a record and a `KeyedProcessFunction.Context`, which knows the key, and returns
                or yields the results. A tuple of an `OutputTag` and a value goes to that side output.
            output_type: The type of the results in the main output. Default: any.

        Returns:
            The main output; `get_side_output` gives the others.

        Raises:
            InvalidFunctionError: If the function cannot be called so.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment().from_collection([1, 2, 3])
            >>> def with_key(number, ctx):
            ...     yield ctx.get_current_key(), number
            >>> keyed = numbers.key_by(lambda number: number % 2).process(with_key)
            >>> list(keyed.execute_and_collect())
            [(1, 1), (0, 2), (1, 3)]
        """
        return self._process("KEYED PROCESS", func, output_type)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Join each record with those of another keyed stream that have its key and are near it in time.

        PyFlink has no interval join; this is Flink's.

        Args:
            other_stream: The other stream, of the same program.

        Returns:
            The two streams, to be told how near the records must be: see `IntervalJoined`.

        Raises:
            InvalidArgumentError: If it is no keyed stream, or belongs to another environment.
        """
        if not isinstance(other_stream, KeyedStream):
            raise InvalidArgumentError(
                f"interval_join() was given {other_stream!r}, which is no keyed stream.",
                hint="Call key_by() on both streams: a.key_by(f).interval_join(b.key_by(g)).",
            )
        _check_other_stream(self, other_stream, "interval_join()")
        return IntervalJoin(self, other_stream)

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Put the records of each key into windows.

        Args:
            window_assigner: Says which windows a record belongs to: see
                `penstock.datastream.window`.

        Returns:
            The stream, to be told what to do with the windows.

        Raises:
            InvalidArgumentError: If it is no `WindowAssigner`.

        Example:
            >>> from penstock.common import Time, WatermarkStrategy
            >>> from penstock.datastream.window import TumblingEventTimeWindows
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> strategy = strategy.with_timestamp_assigner(lambda sale, _: sale[2])
            >>> sales = [("pen", 2, 100), ("ink", 9, 300), ("pen", 3, 900), ("pen", 1, 1200)]
            >>> from penstock.testing import local_environment
            >>> timed = local_environment().from_collection(sales)
            >>> timed = timed.assign_timestamps_and_watermarks(strategy)
            >>> windows = timed.key_by(0).window(TumblingEventTimeWindows.of(Time.seconds(1)))
            >>> list(windows.sum(1).execute_and_collect())
            [('pen', 5, 100), ('ink', 9, 300), ('pen', 1, 1200)]
        """
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Put the records of each key into windows of a number of records.

        As in PyFlink, a window fires when it is full, so the first result comes with the first
        `size` records of a key; unlike there, it is gone then. Java's `countWindow(size, slide)`
        has a result after every `slide` records, of fewer records at first. Who wants that writes
        `window(GlobalWindows.create()).evictor(CountEvictor.of(size))` and
        `.trigger(CountTrigger.of(slide))`.

        Args:
            size: How many records a window has, at least 1.
            slide: How many records after one window the next starts. Default: 0, for `size`.

        Returns:
            The stream, to be told what to do with the windows.

        Raises:
            InvalidWindowError: If the size is below 1, or the slide below 0.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment().from_collection([1, 2, 3, 4, 5, 6])
            >>> sums = numbers.key_by(lambda number: "all").count_window(4, 2).sum()
            >>> list(sums.execute_and_collect())
            [10, 18]
        """
        return WindowedStream(self, count_windows(size, slide))

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Join the records of each key, one after the other, to one value.

        Args:
            func: Takes what the earlier records of a key came to and the new record, and returns what
                they come to together. The first record of a key stands for itself. Either argument
                may be changed and returned.

        Returns:
            In STREAMING mode the new value for every record, in BATCH mode the last one of each key,
            whose records are then joined in the order of their timestamps.

        Raises:
            InvalidFunctionError: If the function cannot be called so.

        Example:
            >>> from penstock.testing import local_environment
            >>> words = local_environment().from_collection(["a", "b", "aa", "bb"])
            >>> joined = words.key_by(lambda word: word[0]).reduce(lambda a, b: f"{a} {b}")
            >>> list(joined.execute_and_collect())
            ['a', 'b', 'a aa', 'b bb']
        """
        function = check_function(func, "reduce", 2, "reduce()")
        kind = ReduceWithStateOperator if may_have_state(function) else ReduceOperator
        return self._reduced("Keyed Reduce", kind(function))

    def _reduced(self, name: str, operator: ReduceOperator) -> DataStream:
        return self._passed_on(name, operator)

    def _aggregated(
        self, method: str, aggregation: type[Aggregation], field: int | str
    ) -> DataStream:
        check_field(field, f"{method}()", self._transformation.output_type)
        operator = ReduceOperator(aggregation(field), shows_keys=False)
        return self._reduced("Keyed Aggregation", operator)


class _WindowsOfStream(Windows[DataStream]):
    """A stream by key whose records are put into windows.

    Args:
        keyed_stream: The stream.
        window_assigner: Says which windows a record belongs to.
    """

    def __init__(
        self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        super().__init__(keyed_stream, window_assigner)
        self._keyed_stream = keyed_stream

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment of the program."""
        return self._keyed_stream.get_execution_environment()

    def _results(
        self, name: str, operator: StreamOperator, output_type: TypeInformation | None
    ) -> DataStream:
        # The operator does so itself, and tells the window.
        return self._keyed_stream._transform(  # noqa: SLF001
            name, operator, output_type, converts=False
        )


class WindowedStream(_WindowsOfStream):
    """A stream by key whose records are put into windows, each key having windows of its own.

    Args:
        keyed_stream: The stream.
        window_assigner: Says which windows a record belongs to.

    Raises:
        InvalidArgumentError: If it is no `WindowAssigner`.

    Example:
        >>> from penstock.common import Time, WatermarkStrategy
        >>> from penstock.datastream import OutputTag
        >>> from penstock.datastream.window import TumblingEventTimeWindows
        >>> late = OutputTag("late")
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
        >>> strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
        >>> from penstock.testing import local_environment
        >>> events = local_environment().from_collection([("a", 100), ("a", 900), ("a", 1500)])
        >>> counts = (
        ...     events.assign_timestamps_and_watermarks(strategy)
        ...     .key_by(lambda event: event[0])
        ...     .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        ...     .side_output_late_data(late)
        ...     .apply(lambda key, window, events: [(key, window.start, len(events))])
        ... )
        >>> list(counts.execute_and_collect())
        [('a', 0, 2), ('a', 1000, 1)]
    """

    _apply_call = ApplyCall
    _process_call = ProcessCall
    _arguments = (3, 3)


class AllWindowedStream(_WindowsOfStream):
    """A stream whose records are put into windows, all of them in one subtask.

    Args:
        data_stream: The stream.
        window_assigner: Says which windows a record belongs to.

    Raises:
        InvalidArgumentError: If it is no `WindowAssigner`.

    Example:
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment(parallelism=2).from_collection([1, 2, 3, 4])
        >>> joined = numbers.count_window_all(4).apply(lambda window, inputs: [sorted(inputs)])
        >>> list(joined.execute_and_collect())
        [[1, 2, 3, 4]]
    """

    _apply_call = ApplyAllCall
    _process_call = ProcessAllCall
    _arguments = (2, 2)

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        partition = data_stream._partition(KeyGroupStreamPartitioner(_one_key))  # noqa: SLF001
        keyed = KeyedStream(data_stream.get_execution_environment(), partition)
        super().__init__(keyed, window_assigner)

    def _results(
        self, name: str, operator: StreamOperator, output_type: TypeInformation | None
    ) -> DataStream:
        return super()._results(name, operator, output_type).force_non_parallel()


class CachedDataStream(DataStream):
    """A stream whose records are kept for later executions: what `DataStream.cache` returns.

    Settings are those of the stream that is cached: here they are refused.

    Args:
        environment: The program.
        cache: What keeps the records.
    """

    def __init__(self, environment: StreamExecutionEnvironment, cache: StreamCache) -> None:
        super().__init__(environment, cache.transformation)
        self._cache = cache

    def invalidate(self) -> None:
        """Forget the records that are kept: they are computed again by the next job that needs them."""
        self._cache.invalidate()


def _one_key(_: Any) -> int:
    return 0


def _check_other_stream(stream: DataStream, other: Any, operation: str) -> DataStream:
    """Return another stream, sure to be one of the same program.

    Args:
        stream: A stream.
        other: What the user gave.
        operation: What the user called, for messages.

    Raises:
        InvalidArgumentError: If it is no stream, or belongs to another environment.
    """
    if not isinstance(other, DataStream):
        raise InvalidArgumentError(
            f"{operation} was given {other!r}, which is no stream.",
            hint="Give streams of the same environment: a.union(b, c), a.connect(b).",
        )
    if other.get_execution_environment() is not stream.get_execution_environment():
        raise InvalidArgumentError(
            f"{operation} was given a stream of another environment.",
            hint="Make all streams of a program from one StreamExecutionEnvironment.",
        )
    return other


def _check_type(type_info: Any) -> TypeInformation | None:
    if type_info is None or isinstance(type_info, TypeInformation):
        return type_info
    raise InvalidArgumentError(
        f"{type_info!r} is no type information.",
        hint="Types.INT() and its likes describe a type, with the parentheses.",
    )
