"""Which windows a key has where windows merge, and in which window's state their contents are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from penstock.runtime.state.states import KeyedMapState
from penstock.runtime.windowing.assigner import MergingWindowAssigner

Merge = Callable[[Any, list[Any], Any, list[Any]], None]
"""Takes the merged window, the windows that became it, the window in whose state its contents are to be,
and the windows whose state is to be moved there."""


class MergingWindowSet:
    """The windows of the current key, each with the window in whose state its contents are.

    So contents need not move when a window grows: the new window takes over the state of one of those
    that became it.

    Args:
        assigner: Says which windows merge.
        state: Where the set lives between records.
    """

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], state: KeyedMapState) -> None:
        self._assigner = assigner
        self._state = state
        self._persistent = dict(state.items())
        self._mapping = dict(self._persistent)

    def state_window(self, window: Any) -> Any:
        """Return the window in whose state the contents of a window are; None for no such window."""
        return self._mapping.get(window)

    def retire(self, window: Any) -> None:
        """Forget a window."""
        self._mapping.pop(window, None)

    def add(self, window: Any, merge: Merge) -> Any:
        """Add a window, and merge it with those that are there.

        Args:
            window: The window.
            merge: Called for each group of windows that become one, unless the result is one of them
                and the others had no contents.

        Returns:
            The window that the new one has become part of, or is.
        """
        if window in self._mapping:
            return window
        groups = _Groups()
        self._assigner.merge_windows([*self._mapping, window], groups)
        result = window
        for merged, result_of_group in groups.found:
            if window in merged:
                result = result_of_group
            self._merge(result_of_group, [part for part in merged if part != window], merge)
        if result is window and window not in self._mapping:
            self._mapping[window] = window
        return result

    def _merge(self, result: Any, merged: list[Any], merge: Merge) -> None:
        known = [part for part in merged if part in self._mapping]
        if not known:
            self._mapping.setdefault(result, result)
            return
        target, *others = [self._mapping.pop(part) for part in known]
        self._mapping[result] = target
        if known != [result]:
            merge(result, known, target, others)

    def persist(self) -> None:
        """Write the set back."""
        for window in self._persistent.keys() - self._mapping.keys():
            self._state.remove(window)
        for window, state_window in self._mapping.items():
            if self._persistent.get(window) != state_window:
                self._state.put(window, state_window)
        self._persistent = dict(self._mapping)


class _Groups(MergingWindowAssigner.MergeCallback[Any]):
    """Remembers which windows become one."""

    def __init__(self) -> None:
        self.found: list[tuple[Collection[Any], Any]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((list(dict.fromkeys(to_be_merged)), merge_result))
