"""What is kept of the records of a window where they come joined in part, from columns."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final

from penstock.runtime.state.descriptors import StateDescriptor
from penstock.runtime.state.tables import Keep
from penstock.runtime.windows.operator.window_contents import JoinedContents, ReducedRecords
from penstock.runtime.windows.operator.window_operator import WindowOperator

_VALUE: Final = attrgetter("value")


class PartialRecords(JoinedContents):
    """Keeps what the records are joined to, which come as `Partial`s, each of which stands for several.

    Args:
        contents: Keeps the same where records come one by one.
    """

    is_joinable = True

    def __init__(self, contents: JoinedContents) -> None:
        self._contents = contents
        self.function = contents.function

    def descriptor(self) -> StateDescriptor:
        return self._contents.descriptor()

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        return self._contents.merge

    def join_run(
        self, known: Callable[[Any, Any], Any], hold: Keep, keys: list[Any], values: Iterator[Any]
    ) -> tuple[dict[Any, Any], list[Any]]:
        merging = ReducedRecords(self.merge)
        return merging.join_run(known, hold, keys, map(_VALUE, values))

    def result(self, kept: Any) -> list[Any] | None:
        return self._contents.result(kept)

    def records_in(self, value: Any) -> int:
        return value.records  # type: ignore[no-any-return]


def on_partials(operator: WindowOperator) -> WindowOperator:
    """Return a prototype like one whose records come one by one, for records that come as `Partial`s."""
    assert isinstance(operator.contents, JoinedContents)
    changed = copy.copy(operator)
    changed.contents = PartialRecords(operator.contents)
    return changed
