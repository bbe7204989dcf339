"""The ways in which a stream is brought together with another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, overload

from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from penstock.datastream.connected_streams import ConnectedStreams
    from penstock.datastream.stream import DataStream
    from penstock.datastream.window_join import CoGroupedWindows, JoinedWindows, TwoStreams


class Connecting:
    """The ways in which a stream is brought together with another one."""

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
        from penstock.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
        from penstock.datastream.connected_streams import ConnectedStreams

        stream = cast("DataStream", self)
        if isinstance(ds, BroadcastStream):
            check_other_stream(stream, ds.input_stream, "connect()")
            return BroadcastConnectedStream(stream, ds, ds.broadcast_state_descriptors)
        return ConnectedStreams(stream, check_other_stream(stream, ds, "connect()"))

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
        from penstock.datastream.window_join import JoinedWindows, TwoStreams

        stream = cast("DataStream", self)
        return TwoStreams(stream, check_other_stream(stream, other_stream, "join()"), JoinedWindows)

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
        from penstock.datastream.window_join import CoGroupedWindows, TwoStreams

        stream = cast("DataStream", self)
        return TwoStreams(
            stream, check_other_stream(stream, other_stream, "co_group()"), CoGroupedWindows
        )


def check_other_stream(stream: DataStream, other: Any, operation: str) -> DataStream:
    """Return another stream, sure to be one of the same program.

    Args:
        stream: A stream.
        other: What the user gave.
        operation: What the user called, for messages.

    Raises:
        InvalidArgumentError: If it is no stream, or belongs to another environment.
    """
    from penstock.datastream.stream import DataStream

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
