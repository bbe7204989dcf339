"""What is kept of the records of a window: the records themselves, or what they come to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from penstock.common.typeinfo.types import Types
from penstock.runtime.context import RuntimeContext
from penstock.runtime.objects.mutability import IMMUTABLE_TYPES, NO_PAIR, Kept
from penstock.runtime.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from penstock.runtime.state.tables import ABSENT, Keep, as_it_is
from penstock.runtime.user_code import UserFunction
from penstock.runtime.windows.evictors import Evictor

STATE_NAME: Final = "window-contents"
"""The name of the state in which the contents of windows are."""
PANES_NAME: Final = "window-panes"
"""The name of the state in which they are where windows share panes."""

_ANY: Final = Types.PICKLED_BYTE_ARRAY()


class WindowContents(ABC):
    """Says how the records of a window are kept, and what the function of the window is given."""

    evictor: Evictor[Any, Any] | None = None
    """What takes records out; they are kept with their timestamps then."""
    is_joinable: bool | None = False
    """Whether what some records came to may be joined with what others came to. None if nobody knows: it
    is taken to be so, and looked at."""

    def __init__(self, function: Any = None, method: str = "") -> None:
        self.function = UserFunction(function, method)

    @abstractmethod
    def descriptor(self) -> StateDescriptor:
        """Return the descriptor of the state that keeps them."""

    @abstractmethod
    def put_run(self, state: Any, keys: list[Any], values: Iterator[Any]) -> list[Any]:
        """Add records under their keys to the current namespace of that state.

        Returns:
            The keys to which timers are to be registered: all that are new there, and maybe others.
        """

    @abstractmethod
    def joined(self, records: list[Any]) -> Any:
        """Return what is kept of some records, or none."""

    @abstractmethod
    def result(self, kept: Any) -> list[Any] | None:
        """Return what the function of the window is given for what is kept; None not to call it."""

    def result_of(self, records: list[Any]) -> list[Any] | None:
        """Return what the function is given for records of which all were kept."""
        return self.result(self.joined(records))

    def records_in(self, value: Any) -> int:
        """Return how many records a value stands for."""
        return 1

    def show_calls(self) -> None:
        self.function.shows_calls = True

    def open(self, context: RuntimeContext) -> None:
        self.function.open(context)

    def close(self) -> None:
        self.function.close()


class ListedRecords(WindowContents):
    """Keeps the records."""

    def descriptor(self) -> StateDescriptor:
        return ListStateDescriptor(STATE_NAME, _ANY)

    def put_run(self, state: Any, keys: list[Any], values: Iterator[Any]) -> list[Any]:
        lists: dict[Any, list[Any]] = defaultdict(list)
        for value, key in zip(values, keys, strict=True):
            lists[key].append(value)
        extend = state.view.extend
        for key, elements in lists.items():
            extend(key, elements)
        # Whether a list is new costs more to know than a timer that is there already.
        return list(lists)

    def joined(self, records: list[Any]) -> Any:
        return records

    def result(self, kept: Any) -> list[Any] | None:
        return kept  # type: ignore[no-any-return]


class TimestampedRecords(ListedRecords):
    """Keeps the records with their timestamps, even where they are joined: when the window fires.

    Args:
        contents: Joins the records.
        evictor: Takes records out of windows.
    """

    def __init__(self, contents: WindowContents, evictor: Evictor[Any, Any]) -> None:
        self._contents = contents
        self.function = contents.function
        self.evictor = evictor

    def result(self, kept: Any) -> list[Any] | None:
        return self._contents.result_of([value for value, _ in kept])


class JoinedContents(WindowContents):
    """Keeps one value, to which records are joined."""

    @property
    @abstractmethod
    def merge(self) -> Callable[[Any, Any], Any]:
        """Joins what is kept of some records with what is kept of others."""

    @property
    def create(self) -> Callable[[], Any] | None:
        """Makes what the function, given it second, adds the first record to; None if it takes two records."""
        return None

    def put_run(self, state: Any, keys: list[Any], values: Iterator[Any]) -> list[Any]:
        entries, mark, _ = state.view
        joined, new = self.join_run(entries.get, state.hold, keys, values)
        for key, value in joined.items():
            entries[key] = value
            mark(key)
        return new

    def join_run(
        self, known: Callable[[Any, Any], Any], hold: Keep, keys: list[Any], values: Iterator[Any]
    ) -> tuple[dict[Any, Any], list[Any]]:
        """Join values by key to what is known of it, as it is held.

        Returns:
            What to hold of what that comes to, by key, and the keys of which nothing was known.
        """
        joined: dict[Any, Any] = {}
        fixed = IMMUTABLE_TYPES
        so_far, new, call, create = joined.get, [], self.function.call, self.create
        for value, key in zip(values, keys, strict=True):
            before = so_far(key, ABSENT)
            if before is ABSENT:
                before = known(key, ABSENT)
                if before is ABSENT:
                    new.append(key)
                    if create is None:
                        joined[key] = value if type(value) in IMMUTABLE_TYPES else hold(value, key)
                        continue
                    before = create()
            if type(before) is Kept:
                before = before.value()
            result = call(before, value) if create is None else call(value, before)
            if type(result) not in fixed:
                one, other = result if type(result) is tuple and len(result) == 2 else NO_PAIR
                if type(one) not in fixed or type(other) not in fixed:
                    result = hold(result, key)
            joined[key] = result
        return joined, new

    def joined(self, records: list[Any]) -> Any:
        if not records:
            return None if self.create is None else self.create()
        joined, _ = self.join_run({}.get, as_it_is, [None] * len(records), iter(records))
        return joined[None]


class ReducedRecords(JoinedContents):
    """Keeps what the records are reduced to.

    Args:
        function: A `ReduceFunction`, or a callable of two values.
        is_associative: Whether it comes to the same however records are grouped, in their order; see
            `is_joinable`.
    """

    def __init__(self, function: Any, *, is_associative: bool | None = None) -> None:
        super().__init__(function, "reduce")
        self.is_joinable = is_associative

    def descriptor(self) -> StateDescriptor:
        return ReducingStateDescriptor(STATE_NAME, self.function.function, _ANY)

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        return self.function.call

    def result(self, kept: Any) -> list[Any] | None:
        return None if kept is None else [kept]

    def result_of(self, records: list[Any]) -> list[Any] | None:
        # State that is None is no state. Here there are records, and None is what they come to.
        return [self.joined(records)] if records else None


class AggregatedRecords(JoinedContents):
    """Keeps an accumulator.

    Args:
        function: An `AggregateFunction`.
        accumulator_type: The declared type of its accumulators, or None.
        is_mergeable: Whether accumulators may be merged in place of adding their records one by one; see
            `is_joinable`. Windows that merge do so anyhow.
    """

    def __init__(
        self, function: Any, accumulator_type: Any = None, *, is_mergeable: bool | None = False
    ) -> None:
        super().__init__(function, "add")
        self.accumulator_type = accumulator_type
        self.is_joinable = is_mergeable

    def descriptor(self) -> StateDescriptor:
        return AggregatingStateDescriptor(STATE_NAME, self.function.function, _ANY)

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        return self.function.function.merge  # type: ignore[no-any-return]

    @property
    def create(self) -> Callable[[], Any]:
        return self.function.function.create_accumulator  # type: ignore[no-any-return]

    def result(self, kept: Any) -> list[Any] | None:
        if self.accumulator_type is not None:
            self.accumulator_type.check(kept, "the accumulator")
        found = self.function.function.get_result(kept)
        return None if found is None else [found]
