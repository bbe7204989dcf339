"""Two streams together: connected, with broadcast state, or joined."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from penstock.common.time import Duration, Time
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.functions.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.datastream.functions.co_functions import (
    AsCoProcessFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    FlatJoinFunction,
    JoinFunction,
    KeyedCoProcessFunction,
    ProcessJoinFunction,
)
from penstock.datastream.functions.function_checks import (
    Key,
    check_function,
    check_methods,
    key_function,
)
from penstock.datastream.functions.one_input import KeySelector
from penstock.datastream.windows.join_functions import (
    BothSides,
    CoGrouped,
    FlatJoinedPairs,
    JoinedPairs,
    KeyOfTagged,
    Tag,
)
from penstock.errors import InvalidArgumentError, InvalidFunctionError, UnsupportedOperationError
from penstock.runtime.operators.broadcast_process import (
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
from penstock.runtime.operators.co_process import CoProcessOperator, KeyedCoProcessOperator
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.operators.interval_join import IntervalJoinOperator
from penstock.runtime.output_tag import OutputTag, check_output_tag
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.runtime.windows.arguments import TimeLength
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.evictors import Evictor
from penstock.runtime.windows.triggers.trigger import Trigger

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream, KeyedStream

_CO_METHODS: Final = ("process_element1", "process_element2")
_BROADCAST_METHODS: Final = ("process_element", "process_broadcast_element")
_TAG_HINT: Final = "Give the tag of the side output: OutputTag('late')."

Length = Duration | Time | timedelta | str | int


class ConnectedStreams:
    """Two streams whose records go to one function, which has a method for each.

    The records of each stream keep their order; between the two there is none. If both streams come by
    key, records with equal keys come to the same place, and the function may keep state that both
    see. The watermark is the lesser of the two; a stream that is idle is left out.

    In BATCH mode the keyed inputs come last, key by key, and within a key by timestamp.

    Args:
        stream1: The first stream.
        stream2: The second stream.

    Example:
        >>> from penstock.datastream import CoMapFunction
        >>> class Text(CoMapFunction):
        ...     def map1(self, value):
        ...         return f"number {value}"
        ...     def map2(self, value):
        ...         return f"word {value}"
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> both = env.from_collection([1, 2]).connect(env.from_collection(["one"]))
        >>> sorted(both.map(Text()).execute_and_collect())
        ['number 1', 'number 2', 'word one']
    """

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: Callable[[Any], Any] | KeySelector | int | str,
        key_selector2: Callable[[Any], Any] | KeySelector | int | str,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Bring records with equal keys together, in one subtask, whichever stream they are of.

        Args:
            key_selector1: Tells the key of a record of the first stream, as `DataStream.key_by` takes it.
            key_selector2: Tells the key of a record of the second stream.
            key_type: The type of the keys, which they are checked against. Default: any.

        Returns:
            The two streams, keyed.

        Raises:
            InvalidFunctionError: If a key selector cannot be called so.
            ColumnNotFoundError: If records of a stream's declared type have no such field.
        """
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Make one result of each record, or none: None is not emitted.

        Args:
            func: Has a method for each stream.
            output_type: The type of the results. Default: any.

        Returns:
            The results, with their records' timestamps.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
        """
        check_methods(func, ("map1", "map2"), 1, "map()")
        return self._transform("Co-Map", AsCoProcessFunction(func, "map"), output_type)

    def flat_map(
        self, func: CoFlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Make any number of results of each record.

        Args:
            func: Has a method for each stream.
            output_type: The type of the results. Default: any.

        Returns:
            The results, with their records' timestamps.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
        """
        check_methods(func, ("flat_map1", "flat_map2"), 1, "flat_map()")
        return self._transform("Co-Flat Map", AsCoProcessFunction(func, "flat_map"), output_type)

    def process(
        self,
        func: CoProcessFunction | KeyedCoProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each record, for the main output and for side outputs.

        Args:
            func: Has a method for each stream.
            output_type: The type of the results in the main output. Default: any.

        Returns:
            The main output; `get_side_output` gives the others.

        Raises:
            InvalidFunctionError: If the function cannot be called so, or needs keys and a stream has
                none.
        """
        check_methods(func, _CO_METHODS, 2, "process()")
        if isinstance(func, KeyedCoProcessFunction) and not self._is_keyed:
            raise InvalidFunctionError(
                f"process() was given {type(func).__name__}, a KeyedCoProcessFunction, for streams of "
                "which not both come by key.",
                hint="Call key_by() on the connected streams first, or derive it from "
                "CoProcessFunction.",
            )
        name = "Co-Keyed-Process" if self._is_keyed else "Co-Process"
        return self._transform(name, func, output_type)

    @property
    def _is_keyed(self) -> bool:
        return _is_keyed(self.stream1) and _is_keyed(self.stream2)

    def _transform(
        self, name: str, function: Any, output_type: TypeInformation | None
    ) -> DataStream:
        kind = KeyedCoProcessOperator if self._is_keyed else CoProcessOperator
        operator = kind(function)
        return self.stream1._transform(  # noqa: SLF001
            name, operator, output_type, second=self.stream2
        )


def _is_keyed(stream: DataStream) -> bool:
    """Whether the records of a stream come by key."""
    return stream._is_keyed  # noqa: SLF001


class BroadcastStream:
    """A stream whose records go to every subtask, to change broadcast state there.

    It is made by `DataStream.broadcast`, and all that can be done with it is to connect it with
    another stream.

    Args:
        input_stream: The stream.
        broadcast_state_descriptors: Name the broadcast states.

    Raises:
        InvalidArgumentError: If one is no `MapStateDescriptor`, or two have one name.
        UnsupportedOperationError: If the values of one are to expire.
    """

    def __init__(
        self,
        input_stream: DataStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = tuple(broadcast_state_descriptors)
        check_broadcast_states(self.broadcast_state_descriptors, "broadcast()")


class BroadcastConnectedStream:
    """A stream, keyed or not, and one that is broadcast beside it.

    Within an epoch, so within a bounded job, all that is broadcast comes before the other stream's
    records, and in the same order in every subtask. Where an epoch ends depends on what input is there:
    a rule rules the records of its own epoch and of those that follow.

    Args:
        non_broadcast_stream: The stream.
        broadcast_stream: The one that is broadcast.
        broadcast_state_descriptors: Name the broadcast states.

    Example:
        >>> from penstock.common import Types
        >>> from penstock.datastream import BroadcastProcessFunction, MapStateDescriptor
        >>> names = MapStateDescriptor("names", Types.LONG(), Types.STRING())
        >>> class Named(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield ctx.get_broadcast_state(names).get(value) or value
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(names).put(*value)
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> known = env.from_collection([(1, "one"), (2, "two")]).broadcast(names)
        >>> named = env.from_collection([2, 3, 1]).connect(known).process(Named())
        >>> list(named.execute_and_collect())
        ['two', 3, 'one']
    """

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = tuple(broadcast_state_descriptors)

    def process(
        self,
        func: BroadcastProcessFunction | KeyedBroadcastProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each record, for the main output and for side outputs.

        Args:
            func: A `KeyedBroadcastProcessFunction` if the stream is keyed, else a
                `BroadcastProcessFunction`.
            output_type: The type of the results in the main output. Default: any.

        Returns:
            The main output; `get_side_output` gives the others.

        Raises:
            InvalidFunctionError: If the function cannot be called so, or is of the other kind.
        """
        check_methods(func, _BROADCAST_METHODS, 2, "process()")
        keyed = _is_keyed(self.non_broadcast_stream)
        wrong = BroadcastProcessFunction if keyed else KeyedBroadcastProcessFunction
        if isinstance(func, wrong):
            raise InvalidFunctionError(
                f"process() was given {type(func).__name__}, a {wrong.__name__}, for a stream "
                f"{'with' if keyed else 'without'} keys.",
                hint="With key_by() it is a KeyedBroadcastProcessFunction, without it a "
                "BroadcastProcessFunction.",
            )
        name = "Co-Process-Broadcast-Keyed" if keyed else "Co-Process-Broadcast"
        kind = KeyedBroadcastProcessOperator if keyed else BroadcastProcessOperator
        operator = kind(func, self.broadcast_state_descriptors)
        return self.non_broadcast_stream._transform(  # noqa: SLF001
            name, operator, output_type, second=self.broadcast_stream.input_stream
        )


def check_broadcast_states(descriptors: Sequence[Any], operation: str) -> None:
    """Make sure that these can be the broadcast states of one operator.

    Args:
        descriptors: What the user gave.
        operation: What the user called, for messages.

    Raises:
        InvalidArgumentError: If one is no `MapStateDescriptor`, or two have one name.
        UnsupportedOperationError: If the values of one are to expire.
    """
    for descriptor in descriptors:
        _check_broadcast_state(descriptor, operation)
    names = [descriptor.name for descriptor in descriptors]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(
            f"{operation} was given two states of one name: {', '.join(map(repr, names))}.",
            hint="Give each state a name of its own.",
        )


def _check_broadcast_state(descriptor: Any, operation: str) -> None:
    if not isinstance(descriptor, MapStateDescriptor):
        raise InvalidArgumentError(
            f"{operation} was given {descriptor!r}, which is no MapStateDescriptor.",
            hint="Broadcast state is a map: MapStateDescriptor('rules', Types.STRING(), Types.LONG()).",
        )
    if descriptor.ttl_config is not None:
        raise UnsupportedOperationError(
            f"The entries of the broadcast state {descriptor.name!r} are to expire. Each subtask would "
            "forget them at another time.",
            hint="Do without enable_time_to_live(), and broadcast what is to be removed.",
        )


class IntervalJoin:
    """Two keyed streams that are to be joined: say how near their records must be with `between`.

    PyFlink has no interval join; this is Flink's.

    Args:
        left: The stream on which `interval_join` was called.
        right: The other stream.
    """

    def __init__(self, left: KeyedStream, right: KeyedStream) -> None:
        self._left = left
        self._right = right

    def between(self, lower_bound: Length, upper_bound: Length) -> IntervalJoined:
        """Say how much later than a left record a right one may be; less than 0 is earlier.

        Both bounds belong to the interval, if nothing else is said.

        Args:
            lower_bound: The least difference: a `Duration`, a `Time`, a timedelta or milliseconds.
            upper_bound: The greatest difference.

        Returns:
            The join, to be given a function.

        Raises:
            InvalidDurationError: If one of them does not say how long a time is.
            InvalidArgumentError: If the lower bound is above the upper one.
        """
        lower, upper = (Duration.of(bound).to_millis() for bound in (lower_bound, upper_bound))
        if lower > upper:
            raise InvalidArgumentError(
                f"The interval of a join cannot reach from {lower} ms to {upper} ms.",
                hint="Give the lower bound first: between(Time.minutes(-5), Time.minutes(5)).",
            )
        return IntervalJoined(self._left, self._right, lower, upper)


class IntervalJoined:
    """Two keyed streams, joined where their records have one key and are near each other in time.

    All pairs are found whose left record has a timestamp t and whose right record has one from
    t + lower bound to t + upper bound. Each pair is given to the function once, whichever record comes
    first, and wherever epochs are cut. A record is kept until the watermark says that no partner comes
    any more.

    A record whose timestamp is less than the watermark is late: it finds no partners, and goes to a
    side output if one is given for its side. Else it is dropped, and counted in the metric
    `num_late_records_dropped`.

    Args:
        left: The one stream.
        right: The other.
        lower_bound: The lower bound in milliseconds.
        upper_bound: The upper bound in milliseconds.

    Example:
        >>> from penstock.common import Time, WatermarkStrategy
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
        >>> strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
        >>> def by_name(events):
        ...     stream = env.from_collection(events).assign_timestamps_and_watermarks(strategy)
        ...     return stream.key_by(lambda event: event[0])
        >>> orders = by_name([("ann", 1000), ("bob", 2000), ("ann", 9000)])
        >>> payments = by_name([("ann", 1500), ("bob", 8000)])
        >>> near = orders.interval_join(payments).between(Time.seconds(0), Time.seconds(5))
        >>> list(near.process(lambda order, payment, ctx: [(order, payment)]).execute_and_collect())
        [(('ann', 1000), ('ann', 1500))]
    """

    def __init__(
        self, left: KeyedStream, right: KeyedStream, lower_bound: int, upper_bound: int
    ) -> None:
        self._left = left
        self._right = right
        self._lower = lower_bound
        self._upper = upper_bound
        self._lower_exclusive = False
        self._upper_exclusive = False
        self._left_late: str | None = None
        self._right_late: str | None = None

    def lower_bound_exclusive(self) -> Self:
        """Leave the lower bound itself out of the interval.

        Returns:
            This object.
        """
        self._lower_exclusive = True
        return self

    def upper_bound_exclusive(self) -> Self:
        """Leave the upper bound itself out of the interval.

        Returns:
            This object.
        """
        self._upper_exclusive = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> Self:
        """Send late records of the left stream to a side output of the result.

        Args:
            output_tag: Names the side output.

        Returns:
            This object.

        Raises:
            InvalidArgumentError: If it is no `OutputTag`.
        """
        tag = check_output_tag(output_tag, "side_output_left_late_data", _TAG_HINT)
        self._left_late = tag.tag_id
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> Self:
        """Send late records of the right stream to a side output of the result.

        Args:
            output_tag: Names the side output.

        Returns:
            This object.

        Raises:
            InvalidArgumentError: If it is no `OutputTag`.
        """
        tag = check_output_tag(output_tag, "side_output_right_late_data", _TAG_HINT)
        self._right_late = tag.tag_id
        return self

    def process(
        self,
        func: ProcessJoinFunction | Callable[[Any, Any, Any], Iterable[Any] | None],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each pair, for the main output and for side outputs.

        Args:
            func: Takes a left record, a right record and a `ProcessJoinFunction.Context`, and returns
                or yields the results.
            output_type: The type of the results in the main output. Default: any.

        Returns:
            The main output, with the later timestamp of each pair; `get_side_output` gives the others.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
            InvalidArgumentError: If the bounds leave nothing between them.
        """
        lower = self._lower + self._lower_exclusive
        upper = self._upper - self._upper_exclusive
        if lower > upper:
            raise InvalidArgumentError(
                f"No time lies between {self._lower} ms and {self._upper} ms, exclusively: the join "
                "would never give anything.",
                hint="Let the bounds be inclusive, or farther apart.",
            )
        function = check_function(func, "process_element", 3, "process()")
        operator = IntervalJoinOperator(
            function,
            lower=lower,
            upper=upper,
            late_tags=(self._left_late, self._right_late),
        )
        return self._left._transform(  # noqa: SLF001
            "Interval Join", operator, output_type, second=self._right
        )


class _Windows:
    """Two streams that are cut into windows together, still to be given a function.

    Records that are too late for their windows are dropped, and counted in the metric
    `num_late_records_dropped`. Triggers, evictors and assigners that look at records see pairs of 0 or 1,
    for the first or the second stream, and the record.

    Args:
        stream: The records of both, by key.
        window_assigner: Says which windows a record belongs to.

    Raises:
        InvalidArgumentError: If it is no `WindowAssigner`.
    """

    def __init__(self, stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        self._windows = stream.window(window_assigner)

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set when windows fire, in place of what their assigner says; see `WindowedStream.trigger`.

        Args:
            trigger: Says so.

        Returns:
            This object.
        """
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Set what takes records out of a window; see `WindowedStream.evictor`.

        Args:
            evictor: Takes records out.

        Returns:
            This object.
        """
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: TimeLength) -> Self:
        """Set how long windows stay after their end; see `WindowedStream.allowed_lateness`.

        Args:
            time_ms: Milliseconds, or a `Time` or `Duration`. Default: 0.

        Returns:
            This object.
        """
        self._windows.allowed_lateness(time_ms)
        return self

    def _apply(self, function: BothSides, output_type: TypeInformation | None) -> DataStream:
        return self._windows.apply(function, output_type)


class JoinedWindows(_Windows):
    """Two streams, joined where their records have one key and one window."""

    def apply(
        self,
        function: JoinFunction | FlatJoinFunction | Callable[[Any, Any], Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make results of each pair of records with one key and one window.

        Args:
            function: Takes a record of the first stream and one of the second, and returns the result.
                A `FlatJoinFunction` or a generator may give any number of them.
            output_type: The type of the results. Default: any.

        Returns:
            The results, with the last timestamp of their window.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
        """
        if isinstance(function, FlatJoinFunction):
            check_function(function.join, "flat_map", 2, "apply()")
            return self._apply(FlatJoinedPairs(function, "join"), output_type)
        if inspect.isgeneratorfunction(function):
            return self._apply(
                FlatJoinedPairs(check_function(function, "flat_map", 2, "apply()"), "join"),
                output_type,
            )
        checked = check_function(function, "join", 2, "apply()")
        return self._apply(JoinedPairs(checked, "join"), output_type)


class CoGroupedWindows(_Windows):
    """Two streams, whose records of one key and one window come together, if there are any."""

    def apply(
        self,
        function: CoGroupFunction | Callable[[Any, Any], Iterable[Any] | None],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make results of all records of a key and a window.

        Args:
            function: Takes the records of the first stream and those of the second, of which one may be
                empty, and returns or yields the results.
            output_type: The type of the results. Default: any.

        Returns:
            The results, with the last timestamp of their window.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
        """
        checked = check_function(function, "co_group", 2, "apply()")
        return self._apply(CoGrouped(checked, "co_group"), output_type)


_WindowsT = TypeVar("_WindowsT", bound=_Windows)


class TwoStreams(Generic[_WindowsT]):
    """Two streams that are to be brought together by key and window.

    Args:
        first: The first stream.
        second: The second stream.
        windows: What they are when they are cut into windows.
    """

    def __init__(self, first: DataStream, second: DataStream, windows: type[_WindowsT]) -> None:
        self._first = first
        self._second = second
        self._windows = windows

    def where(self, key_selector: Key) -> Where[_WindowsT]:
        """Say what the key of a record of the first stream is.

        Args:
            key_selector: As `DataStream.key_by` takes it.

        Returns:
            The streams, to be told the same of the second one.

        Raises:
            InvalidFunctionError: If the key selector cannot be called so.
            ColumnNotFoundError: If records of the stream's declared type have no such field.
        """
        key = key_function(key_selector, "where()", _declared(self._first))
        return Where(self._first, self._second, key, self._windows)


class Where(Generic[_WindowsT]):
    """Two streams of which the key of the first is known.

    Args:
        first: The first stream.
        second: The second stream.
        first_key: Takes the key from a record of the first stream.
        windows: What they are when they are cut into windows.
    """

    def __init__(
        self,
        first: DataStream,
        second: DataStream,
        first_key: Callable[[Any], Any],
        windows: type[_WindowsT],
    ) -> None:
        self._first = first
        self._second = second
        self._first_key = first_key
        self._windows = windows

    def equal_to(self, key_selector: Key) -> EqualTo[_WindowsT]:
        """Say what the key of a record of the second stream is.

        Args:
            key_selector: As `DataStream.key_by` takes it.

        Returns:
            The streams, to be cut into windows.

        Raises:
            InvalidFunctionError: If the key selector cannot be called so.
            ColumnNotFoundError: If records of the stream's declared type have no such field.
        """
        key = key_function(key_selector, "equal_to()", _declared(self._second))
        both = _tagged(self._first, 0).union(_tagged(self._second, 1))
        return EqualTo(both.key_by(KeyOfTagged(self._first_key, key)), self._windows)


class EqualTo(Generic[_WindowsT]):
    """Two streams of which both keys are known.

    Args:
        stream: The records of both, by key.
        windows: What they are when they are cut into windows.
    """

    def __init__(self, stream: KeyedStream, windows: type[_WindowsT]) -> None:
        self._stream = stream
        self._windows = windows

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> _WindowsT:
        """Put the records of both streams into windows.

        Args:
            window_assigner: Says which windows a record belongs to.

        Returns:
            The streams, to be given a function.

        Raises:
            InvalidArgumentError: If it is no `WindowAssigner`.
        """
        return self._windows(self._stream, window_assigner)


def _declared(stream: DataStream) -> Any:
    return stream._transformation.output_type  # noqa: SLF001


def _tagged(stream: DataStream, number: int) -> DataStream:
    """Return a stream with its number before each record, in the chain of the operator that makes it."""
    tagged = stream._transform("Tag", MapOperator(Tag(number)), None)  # noqa: SLF001
    transformation = tagged._operator("join()")  # noqa: SLF001
    transformation.parallelism = stream._transformation.parallelism  # noqa: SLF001
    transformation.is_internal = True
    return tagged
