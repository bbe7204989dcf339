"""Joining two streams by key and window."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from penstock.common.typeinfo import TypeInformation
from penstock.datastream.co_functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.datastream.function_checks import check_function
from penstock.datastream.key_selection import Key, key_function
from penstock.datastream.window_functions import WindowFunction
from penstock.runtime.context import RuntimeContext
from penstock.runtime.mutability import are_immutable, given, kept
from penstock.runtime.operators.map import MapOperator
from penstock.runtime.user_code import UserFunction
from penstock.runtime.windowing.arguments import TimeLength
from penstock.runtime.windowing.assigner import WindowAssigner
from penstock.runtime.windowing.evictor import Evictor
from penstock.runtime.windowing.trigger import Trigger

if TYPE_CHECKING:
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.stream import DataStream

Tagged = tuple[int, Any]
"""A record of either stream: 0 for the first or 1 for the second, and the record."""


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

    def _apply(self, function: _BothSides, output_type: TypeInformation | None) -> DataStream:
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
            return self._apply(_FlatJoin(function, "join"), output_type)
        if inspect.isgeneratorfunction(function):
            return self._apply(
                _FlatJoin(check_function(function, "flat_map", 2, "apply()"), "join"), output_type
            )
        checked = check_function(function, "join", 2, "apply()")
        return self._apply(_Join(checked, "join"), output_type)


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
        return self._apply(_CoGroup(checked, "co_group"), output_type)


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
        return EqualTo(both.key_by(_KeyOfTagged(self._first_key, key)), self._windows)


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


class _Tag:
    """Puts the number of its stream before a record."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(self, value: Any) -> Tagged:
        return self._number, value


class _KeyOfTagged:
    """Takes the key from a record of either stream."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self._keys = first, second

    def __call__(self, tagged: Tagged) -> Any:
        return self._keys[tagged[0]](tagged[1])


def _tagged(stream: DataStream, number: int) -> DataStream:
    """Return a stream with its number before each record, in the chain of the operator that makes it."""
    tagged = stream._transform("Tag", MapOperator(_Tag(number)), None)  # noqa: SLF001
    tagged._transformation.parallelism = stream._transformation.parallelism  # noqa: SLF001
    return tagged


class _BothSides(WindowFunction[Any, Any, Any, Any]):
    """Calls a function of the user with what both streams have of a window.

    Args:
        function: The function.
        method: Its method.
    """

    def __init__(self, function: Any, method: str) -> None:
        self._function = UserFunction(function, method)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._call = self._function.call
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[Tagged]) -> Iterable[Any] | None:
        sides: tuple[list[Any], list[Any]] = ([], [])
        for number, value in inputs:
            sides[number].append(value)
        return self._results(*sides)

    @abstractmethod
    def _results(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """Return the results of a window."""


def _pairs(first: list[Any], second: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield all pairs, each of records of its own if they can be changed."""
    if are_immutable(first) and are_immutable(second):
        return product(first, second)
    held = product(list(map(kept, first)), list(map(kept, second)))
    return ((given(one), given(other)) for one, other in held)


class _Join(_BothSides):
    """One result for each pair."""

    def _results(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        return (self._call(one, other) for one, other in _pairs(first, second))


class _FlatJoin(_BothSides):
    """Any number of results for each pair."""

    def _results(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        for one, other in _pairs(first, second):
            yield from self._call(one, other) or ()


class _CoGroup(_BothSides):
    """Any number of results for all records."""

    def _results(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        return self._call(first, second)  # type: ignore[no-any-return]
