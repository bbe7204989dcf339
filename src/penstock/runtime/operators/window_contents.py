"""What is kept of the records of a window: the records themselves, or what they come to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar, Final

from penstock.common.typeinfo import Types
from penstock.runtime.context import RuntimeContext
from penstock.runtime.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from penstock.runtime.user_code import UserFunction

STATE_NAME: Final = "window-contents"
"""The name of the state in which the contents of windows are."""
PANES_NAME: Final = "window-panes"
"""The name of the state in which they are where windows share panes."""


class WindowContents(ABC):
    """Says how the records of a window are kept, and what the function of the window is given."""

    are_partial: ClassVar[bool] = False
    """Whether records come as `Partial`s, each of which stands for several."""

    what_is_kept: str
    """What that is, in words that checkpoints hold too: they must not change."""

    @abstractmethod
    def descriptor(self) -> StateDescriptor:
        """Return the descriptor of the state that keeps them."""

    @abstractmethod
    def result(self, kept: Any) -> list[Any] | None:
        """Return what the function of the window is given for what is kept; None not to call it.

        Raises:
            TypeMismatchError: If what is kept is not of the type declared for it.
        """

    @abstractmethod
    def result_of_records(self, records: list[Any]) -> list[Any] | None:
        """Return what the function is given for these records, where all of them were kept."""

    def show_calls(self) -> None:  # noqa: B027 - only functions are called
        """See `StreamOperator.show_calls`."""

    def open(self, context: RuntimeContext) -> None:  # noqa: B027 - only functions are opened
        """Get ready."""

    def close(self) -> None:  # noqa: B027 - only functions are closed
        """Let go of what `open` made ready."""


class ListedRecords(WindowContents):
    """Keeps the records."""

    what_is_kept = "with their records"

    def descriptor(self) -> StateDescriptor:
        return ListStateDescriptor(STATE_NAME, Types.PICKLED_BYTE_ARRAY())

    def result(self, kept: Any) -> list[Any] | None:
        return kept or None

    def result_of_records(self, records: list[Any]) -> list[Any] | None:
        return records


class ReducedRecords(WindowContents):
    """Keeps what the records are reduced to.

    Args:
        function: A `ReduceFunction`, or a callable of two values.
        is_associative: Whether it comes to the same however records are grouped, in their order. None
            if nobody knows: it is taken to be so, and looked at.
    """

    what_is_kept = "with what their records are reduced to"

    def __init__(self, function: Any, *, is_associative: bool | None = None) -> None:
        self.function = UserFunction(function, "reduce")
        self.is_associative = is_associative

    def descriptor(self) -> StateDescriptor:
        return ReducingStateDescriptor(
            STATE_NAME, self.function.function, Types.PICKLED_BYTE_ARRAY()
        )

    def result(self, kept: Any) -> list[Any] | None:
        return None if kept is None else [kept]

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        """Joins what is kept of some records with what is kept of others."""
        return self.function.call

    def result_of_records(self, records: list[Any]) -> list[Any] | None:
        return [reduce(self.function.call, records)] if records else None

    def show_calls(self) -> None:
        self.function.shows_calls = True

    def open(self, context: RuntimeContext) -> None:
        self.function.open(context)

    def close(self) -> None:
        self.function.close()


class AggregatedRecords(WindowContents):
    """Keeps an accumulator.

    Args:
        function: An `AggregateFunction`.
        accumulator_type: The declared type of its accumulators, or None.
        is_mergeable: Whether accumulators may be merged in place of adding their records one by one. None
            if the user says so: it is taken to be so, and looked at. Windows that merge do so anyhow.

    Attributes:
        accumulator_type: The same.
    """

    what_is_kept = "with accumulators"

    def __init__(
        self,
        function: Any,
        accumulator_type: Any = None,
        *,
        is_mergeable: bool | None = False,
    ) -> None:
        self.function = UserFunction(function, "add")
        self.accumulator_type = accumulator_type
        self.is_mergeable = is_mergeable

    def descriptor(self) -> StateDescriptor:
        return AggregatingStateDescriptor(
            STATE_NAME, self.function.function, Types.PICKLED_BYTE_ARRAY()
        )

    def result(self, kept: Any) -> list[Any] | None:
        if self.accumulator_type is not None:
            self.accumulator_type.check(kept, "the accumulator")
        found = self.function.function.get_result(kept)
        return None if found is None else [found]

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        """Joins what is kept of some records with what is kept of others."""
        merge: Callable[[Any, Any], Any] = self.function.function.merge
        return merge

    def single(self, record: Any) -> Any:
        """Return the accumulator of one record."""
        function = self.function.function
        return function.add(record, function.create_accumulator())

    def result_of_records(self, records: list[Any]) -> list[Any] | None:
        function = self.function.function
        accumulator = function.create_accumulator()
        for record in records:
            accumulator = function.add(record, accumulator)
        return self.result(accumulator)

    def open(self, context: RuntimeContext) -> None:
        self.function.open(context)

    def close(self) -> None:
        self.function.close()


class JoinedRecords(WindowContents):
    """Keeps what the records are joined to, which come joined in part: as `Partial`s.

    Args:
        contents: Keeps the same where records come one by one.
    """

    are_partial = True

    def __init__(self, contents: ReducedRecords | AggregatedRecords) -> None:
        self.contents = contents
        self.what_is_kept = contents.what_is_kept

    def descriptor(self) -> StateDescriptor:
        return self.contents.descriptor()

    def result(self, kept: Any) -> list[Any] | None:
        return self.contents.result(kept)

    def result_of_records(self, records: list[Any]) -> list[Any] | None:
        return self.result(reduce(self.contents.merge, [value for _, value in records]))

    def show_calls(self) -> None:
        self.contents.show_calls()

    def open(self, context: RuntimeContext) -> None:
        self.contents.open(context)

    def close(self) -> None:
        self.contents.close()
