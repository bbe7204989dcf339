"""Joining two keyed streams by how near their records are in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from penstock.common.time import Duration, Time
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.co_functions import ProcessJoinFunction
from penstock.datastream.function_checks import check_function
from penstock.datastream.named_rows import name_results
from penstock.datastream.output_tag import OutputTag
from penstock.errors import InvalidArgumentError
from penstock.runtime.operators.interval_join import IntervalJoinOperator
from penstock.runtime.output_tag import check_output_tag

if TYPE_CHECKING:
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.stream import DataStream

_TAG_HINT: Final = "Give the tag of the side output: OutputTag('late')."

Length = Duration | Time | timedelta | str | int


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
            name_results(function, "process_element", output_type),
            lower=lower,
            upper=upper,
            late_tags=(self._left_late, self._right_late),
        )
        return self._left._transform(  # noqa: SLF001
            "Interval Join", operator, output_type, second=self._right
        )
