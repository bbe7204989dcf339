"""Calling the function of a window that fires."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from penstock.runtime.context import RuntimeContext
from penstock.runtime.user_code import UserFunction


class WindowCall:
    """Calls the function of a window; without one, as here, the contents of the window are the results."""

    method: ClassVar[str] = ""
    has_window_state: ClassVar[bool] = False
    """Whether the function may keep state of single windows, and is told when one is gone."""

    def __init__(self, function: Any = None) -> None:
        self.function = UserFunction(function, self.method)

    def open(self, context: RuntimeContext) -> None:
        self._call = self.function.call
        self.function.open(context)

    def close(self) -> None:
        self.function.close()

    def results(self, key: Any, context: Any, values: list[Any]) -> Iterable[Any] | None:
        """Return the results for the contents of the window that a `WindowContext` is about."""
        return values

    def clear(self, context: Any) -> None:
        """Tell the function that a window is gone."""


class ApplyCall(WindowCall):
    """Calls a `WindowFunction`."""

    method = "apply"

    def results(self, key: Any, context: Any, values: list[Any]) -> Iterable[Any] | None:
        return self._call(key, context.current, values)  # type: ignore[no-any-return]


class ApplyAllCall(ApplyCall):
    """Calls an `AllWindowFunction`."""

    def results(self, key: Any, context: Any, values: list[Any]) -> Iterable[Any] | None:
        return self._call(context.current, values)  # type: ignore[no-any-return]


class ProcessCall(WindowCall):
    """Calls a `ProcessWindowFunction`."""

    method = "process"
    has_window_state = True

    def results(self, key: Any, context: Any, values: list[Any]) -> Iterable[Any] | None:
        return self._call(key, context, values)  # type: ignore[no-any-return]

    def clear(self, context: Any) -> None:
        if (clear := getattr(self.function.function, "clear", None)) is not None:
            clear(context)


class ProcessAllCall(ProcessCall):
    """Calls a `ProcessAllWindowFunction`."""

    def results(self, key: Any, context: Any, values: list[Any]) -> Iterable[Any] | None:
        return self._call(context, values)  # type: ignore[no-any-return]
