"""What can be done with a stream that is cut into windows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.environment_execution import EnvironmentExecution
from penstock.datastream.functions.aggregates import merges_as_it_adds
from penstock.datastream.functions.function_checks import check_function, check_methods
from penstock.datastream.functions.one_input import AggregateFunction, ReduceFunction
from penstock.datastream.functions.record_fields import check_field
from penstock.datastream.functions.rolling_aggregates import Aggregating, Aggregation, StreamT
from penstock.datastream.functions.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.datastream.streams.base_stream import BaseStream
from penstock.errors import InvalidArgumentError, InvalidTriggerError, TriggerCannotMergeError
from penstock.runtime.operator import StreamOperator
from penstock.runtime.output_tag import OutputTag, check_output_tag
from penstock.runtime.windows.arguments import TimeLength, millis_of
from penstock.runtime.windows.assigners.assigner import MergingWindowAssigner, WindowAssigner
from penstock.runtime.windows.evictors import Evictor
from penstock.runtime.windows.operator.window_call import (
    ApplyAllCall,
    ApplyCall,
    ProcessCall,
    WindowCall,
)
from penstock.runtime.windows.operator.window_contents import (
    AggregatedRecords,
    ListedRecords,
    ReducedRecords,
    WindowContents,
)
from penstock.runtime.windows.operator.window_sets import window_operator
from penstock.runtime.windows.triggers.trigger import Trigger

AnyWindowFunction = (
    WindowFunction[Any, Any, Any, Any]
    | AllWindowFunction[Any, Any, Any]
    | ProcessWindowFunction[Any, Any, Any, Any]
    | ProcessAllWindowFunction[Any, Any, Any]
    | Callable[..., Iterable[Any] | None]
)


class Windows(Aggregating[StreamT]):
    """A stream whose records are put into windows: what `WindowedStream` and its like have alike.

    Records are kept until the last of their windows is gone. `reduce`, `aggregate`, `sum` and their
    likes keep one value for each key and window; `apply` and `process` alone keep all records.

    Args:
        stream: The stream, by key.
        window_assigner: Says which windows a record belongs to.

    Raises:
        InvalidArgumentError: If it is no `WindowAssigner`.
    """

    _apply_call: ClassVar[type[ApplyCall] | type[ApplyAllCall]]
    _process_call: ClassVar[type[ProcessCall]]
    _arguments: ClassVar[tuple[int, int]]
    """With how many arguments `apply` and `process` of a function are called."""

    def __init__(self, stream: BaseStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise InvalidArgumentError(
                f"{window_assigner!r} is no window assigner.",
                hint="Give one of penstock.datastream.window, such as "
                "TumblingEventTimeWindows.of(Time.minutes(1)).",
            )
        self._stream = stream
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._lateness = 0
        self._late_tag: OutputTag | None = None

    @abstractmethod
    def get_execution_environment(self) -> EnvironmentExecution:
        """Return the environment of the program."""

    @abstractmethod
    def _results(
        self, name: str, operator: StreamOperator, output_type: TypeInformation | None
    ) -> StreamT:
        """Return the results of the operator of these windows."""

    def get_input_type(self) -> TypeInformation:
        """Return the declared type of the records; any object that can be pickled if there is none."""
        return self._stream.get_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set when windows fire, in place of what their assigner says.

        Args:
            trigger: Says so.

        Returns:
            This object.

        Raises:
            InvalidArgumentError: If it is no `Trigger`.
            TriggerCannotMergeError: If windows merge, as sessions do, and the trigger cannot.

        Example:
            A result for every second record, and one for what is left at the end of the window:

            >>> from penstock.common import WatermarkStrategy
            >>> from penstock.datastream.window import CountTrigger, TumblingEventTimeWindows
            >>> from penstock.testing import local_environment
            >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
            >>> strategy = strategy.with_timestamp_assigner(lambda time, _: time)
            >>> times = local_environment().from_collection([1, 2, 3, 4, 5])
            >>> timed = times.assign_timestamps_and_watermarks(strategy)
            >>> windows = timed.key_by(lambda time: "all").window(TumblingEventTimeWindows.of(10))
            >>> list(windows.trigger(CountTrigger.of(2)).sum().execute_and_collect())
            [3, 10]
        """
        if not isinstance(trigger, Trigger):
            raise InvalidArgumentError(
                f"trigger() was given {trigger!r}, which is no Trigger.",
                hint="Give one of penstock.datastream.window, such as CountTrigger.of(100).",
            )
        self._trigger = self._able_to_merge(trigger)
        return self

    def _default_trigger(self) -> Trigger[Any, Any]:
        found: Any = self._assigner.get_default_trigger(self.get_execution_environment())
        if not isinstance(found, Trigger):
            raise InvalidTriggerError(
                f"get_default_trigger of {type(self._assigner).__name__} returned {found!r}, which "
                "is no Trigger.",
                hint="Return one there, such as EventTimeTrigger.create().",
            )
        return self._able_to_merge(found)

    def _able_to_merge(self, trigger: Trigger[Any, Any]) -> Trigger[Any, Any]:
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise TriggerCannotMergeError(
                f"The windows of {self._assigner!r} merge, and {type(trigger).__name__} cannot.",
                hint="Take another trigger, or define can_merge and on_merge.",
            )
        return trigger

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Set what takes records out of a window around the call of its function.

        PyFlink has no evictors; they are Flink's. With one, all records are kept, even where they are
        reduced or aggregated: they are joined when the window fires.

        Args:
            evictor: Takes records out.

        Returns:
            This object.

        Raises:
            InvalidArgumentError: If it is no `Evictor`.

        Example:
            The sum of the last 3 records, after every second one:

            >>> from penstock.datastream.window import CountEvictor, CountTrigger, GlobalWindows
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment().from_collection([1, 2, 3, 4, 5, 6])
            >>> windows = numbers.key_by(lambda number: "all").window(GlobalWindows.create())
            >>> windows = windows.trigger(CountTrigger.of(2)).evictor(CountEvictor.of(3))
            >>> list(windows.sum().execute_and_collect())
            [3, 9, 15]
        """
        if not isinstance(evictor, Evictor):
            raise InvalidArgumentError(
                f"evictor() was given {evictor!r}, which is no Evictor.",
                hint="Give one of penstock.datastream.window, such as CountEvictor.of(100).",
            )
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: TimeLength) -> Self:
        """Set how long windows of event time stay after their end, for records that come late.

        With the default trigger each such record fires its windows again. Has no effect on windows of
        processing time.

        Args:
            time_ms: Milliseconds, or a `Time` or `Duration`. Default: 0, so that windows are gone when
                the watermark reaches their end.

        Returns:
            This object.

        Raises:
            InvalidArgumentError: If it is below 0, or no length of time.
        """
        millis = millis_of(time_ms, "The allowed lateness", InvalidArgumentError)
        if millis < 0:
            raise InvalidArgumentError(
                f"The allowed lateness is {millis} ms.", hint="Give milliseconds, at least 0."
            )
        self._lateness = millis
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send records that are late for all their windows to a side output.

        Without it they are dropped; the metric `num_late_records_dropped` counts them.

        Args:
            output_tag: Names the side output, for `get_side_output` on the results.

        Returns:
            This object.

        Raises:
            InvalidArgumentError: If it is no `OutputTag`.
        """
        hint = "Name the side output, as in OutputTag('late')."
        self._late_tag = check_output_tag(output_tag, "side_output_late_data", hint)
        return self

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: AnyWindowFunction | None = None,
        output_type: TypeInformation | None = None,
        *,
        share_panes: bool = True,
    ) -> StreamT:
        """Join the records of each window to one value, as they come.

        Args:
            reduce_function: Takes what earlier records of the window came to and the new record, and
                returns what they come to together; either may be changed and returned. Windows that
                merge, and sliding windows, also join two such values.
            window_function: Makes the results of that value, which it gets as the only input. A
                plain callable is called as `WindowFunction.apply` is. Default: the value is the result.
            output_type: The type of the results, of which they are made values. Default: that of
                the records; with a `window_function`, any.
            share_panes: Whether sliding windows reduce the records of each slide once for all windows
                that hold them, and then join what the slides come to, in the order of time: many
                times as fast where windows overlap a lot. The function has to be associative, which
                is checked on some of the records and on no others: one that is not, and passes,
                gives other results than Flink. With False each window is reduced on its own,
                record by record, as Flink does. PyFlink has no such option.

        Returns:
            The results, with the last timestamp of their window.

        Raises:
            InvalidFunctionError: If a function cannot be called so.
            NonAssociativeReduceError: While the job runs, if the function is found not to be
                associative where panes are shared.
        """
        contents = ReducedRecords(
            check_function(reduce_function, "reduce", 2, "reduce()"),
            is_associative=None if share_panes else False,
        )
        if window_function is None and output_type is None:
            return self._windowed(contents, WindowCall(), None, self._records_type)
        return self._then(contents, window_function, output_type, "reduce()")

    @property
    def _records_type(self) -> Any:
        return self._stream._transformation.output_type  # noqa: SLF001

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: AnyWindowFunction | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
        *,
        share_panes: bool | None = None,
    ) -> StreamT:
        """Add the records of each window to an accumulator, as they come.

        Args:
            aggregate_function: Makes accumulators, adds records to them, and returns what they come
                to. Windows that merge, as sessions do, merge accumulators; no others do, unless they
                share panes.
            window_function: Makes the results of what the accumulator comes to, which it gets as the
                only input. A plain callable is called as `WindowFunction.apply` is. Default: that is
                the result.
            accumulator_type: The type of the accumulators, which they are checked against when the
                window fires. Default: any.
            output_type: The type of the results, of which they are made values. Default: any.
            share_panes: Whether sliding windows add the records of each slide once for all windows that
                hold them, and then merge what the slides come to, in the order of time: many times as
                fast where windows overlap a lot. `merge` has to give the accumulator that `add` gives
                for the same records one after the other, which is checked on some of them. Default:
                only with the aggregates of `penstock.datastream.aggregates`, of which it is known. PyFlink
                has no such option.

        Returns:
            The results, with the last timestamp of their window.

        Raises:
            InvalidFunctionError: If a function cannot be called so.
            MergeMismatchError: While the job runs, if `merge` is found not to agree with `add` where the
                program says that panes are shared.

        Example:
            >>> from penstock.datastream import AggregateFunction
            >>> class Mean(AggregateFunction):
            ...     def create_accumulator(self):
            ...         return 0, 0
            ...     def add(self, value, accumulator):
            ...         return accumulator[0] + value, accumulator[1] + 1
            ...     def get_result(self, accumulator):
            ...         return accumulator[0] / accumulator[1]
            ...     def merge(self, acc_a, acc_b):
            ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment().from_collection([1, 2, 4, 5])
            >>> windows = numbers.key_by(lambda number: "all").count_window(2)
            >>> means = windows.aggregate(Mean(), lambda key, window, means: [(key, *means)])
            >>> list(means.execute_and_collect())
            [('all', 1.5), ('all', 4.5)]
        """
        check_methods(aggregate_function, ("create_accumulator",), 0, "aggregate()")
        check_methods(aggregate_function, ("add", "merge"), 2, "aggregate()")
        check_methods(aggregate_function, ("get_result",), 1, "aggregate()")
        if accumulator_type is not None and not isinstance(accumulator_type, TypeInformation):
            raise InvalidArgumentError(
                f"aggregate() was given the accumulator_type {accumulator_type!r}, which is no type "
                "information.",
                hint="Types.INT() and its likes describe a type, with the parentheses.",
            )
        is_mergeable = merges_as_it_adds(aggregate_function) and share_panes is not False
        contents = AggregatedRecords(
            aggregate_function,
            accumulator_type,
            is_mergeable=None if share_panes and not is_mergeable else is_mergeable,
        )
        return self._then(contents, window_function, output_type, "aggregate()")

    def apply(
        self, window_function: AnyWindowFunction, output_type: TypeInformation | None = None
    ) -> StreamT:
        """Make any number of results of the records of each window.

        Args:
            window_function: Takes the key, the window and its records, and returns or yields the
                results; on an `AllWindowedStream` the window and its records. A tuple of an
                `OutputTag` and a value goes to that side output.
            output_type: The type of the results, of which they are made values. Default: any.

        Returns:
            The results, with the last timestamp of their window.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
        """
        function = check_function(window_function, "apply", self._arguments[0], "apply()")
        call = self._apply_call(function)
        return self._windowed(ListedRecords(), call, output_type, output_type)

    def process(
        self, process_window_function: AnyWindowFunction, output_type: TypeInformation | None = None
    ) -> StreamT:
        """Make any number of results of the records of each window, with state.

        Args:
            process_window_function: Takes the key, a `ProcessWindowFunction.Context` and the
                records, and returns or yields the results; on an `AllWindowedStream` the context
                and the records. A tuple of an `OutputTag` and a value goes to that side output.
            output_type: The type of the results, of which they are made values. Default: any.

        Returns:
            The results, with the last timestamp of their window.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
        """
        function = check_function(
            process_window_function, "process", self._arguments[1], "process()"
        )
        call = self._process_call(function)
        return self._windowed(ListedRecords(), call, output_type, output_type)

    def _then(
        self,
        contents: WindowContents,
        window_function: Any,
        output_type: TypeInformation | None,
        operation: str,
    ) -> StreamT:
        """Return the results of a function that gets what the records were joined to."""
        call: WindowCall
        if window_function is None:
            call = WindowCall()
        elif isinstance(window_function, (ProcessWindowFunction, ProcessAllWindowFunction)):
            function = check_function(window_function, "process", self._arguments[1], operation)
            call = self._process_call(function)
        else:
            function = check_function(window_function, "apply", self._arguments[0], operation)
            call = self._apply_call(function)
        return self._windowed(contents, call, output_type, output_type)

    def _windowed(
        self,
        contents: WindowContents,
        call: WindowCall,
        checked_type: TypeInformation | None,
        output_type: TypeInformation | None,
    ) -> StreamT:
        trigger = self._trigger or self._default_trigger()
        operator = window_operator(
            self._assigner,
            trigger,
            contents,
            call,
            evictor=self._evictor,
            allowed_lateness=self._lateness,
            late_tag=self._late_tag,
            output_type=checked_type,
        )
        name = type(self._assigner).__name__
        return self._results(name, operator, output_type)

    def _aggregated(self, method: str, aggregation: type[Aggregation], field: int | str) -> StreamT:
        check_field(field, f"{method}()", self._records_type)
        contents = ReducedRecords(aggregation(field), is_associative=True)
        return self._windowed(contents, WindowCall(), None, self._records_type)
