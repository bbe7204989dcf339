"""Functions of keyed streams that may have state: called as process functions are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from penstock.datastream.functions.one_input import KeyedProcessFunction
from penstock.runtime.context import RuntimeContext
from penstock.runtime.function import Function
from penstock.runtime.user_code import UserFunction


def may_have_state(function: Any) -> bool:
    """Whether a function has an `open`, in which it may make states."""
    if inspect.isroutine(function) or inspect.isclass(function):
        return False
    return getattr(type(function), "open", None) not in {None, Function.open}


class AsProcessFunction(KeyedProcessFunction):
    """A map, flat map or filter function, called as a process function: so the key is known to its states.

    Args:
        function: The function.
        method: Its method: `map`, `flat_map` or `filter`.
    """

    def __init__(self, function: Any, method: str) -> None:
        self._function = UserFunction(function, method)
        self._method = method

    def open(self, runtime_context: RuntimeContext) -> None:
        """See `Function.open`."""
        self._results = _RESULTS[self._method]
        self._call = self._function.call
        self._function.open(runtime_context)

    def close(self) -> None:
        """See `Function.close`."""
        self._function.close()

    def process_element(
        self, value: Any, ctx: KeyedProcessFunction.Context
    ) -> Iterable[Any] | None:
        """See `KeyedProcessFunction.process_element`."""
        return self._results(value, self._call(value))


_RESULTS: dict[str, Callable[[Any, Any], Iterable[Any] | None]] = {
    "map": lambda _, answer: (answer,),
    "flat_map": lambda _, answer: answer,
    "filter": lambda value, answer: (value,) if answer else None,
}
