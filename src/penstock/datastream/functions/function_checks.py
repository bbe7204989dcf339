"""Checking the user's functions, keys among them, where the program is built, not where it runs."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.functions.one_input import KeySelector
from penstock.datastream.functions.record_fields import FieldKey, check_field
from penstock.errors import InvalidFunctionError
from penstock.runtime.context import RuntimeContext
from penstock.runtime.function import Function
from penstock.runtime.user_code import UserFunction, record_text

Key = KeySelector | Callable[[Any], Any] | int | str
"""A function of a record, or the position or name of a field."""

_YIELDING = (
    "flat_map",
    "flat_map1",
    "flat_map2",
    "process_element",
    "process_element1",
    "process_element2",
    "process_broadcast_element",
    "co_group",
    "apply",
    "process",
)


def check_function(function: Any, method: str, arguments: int, operation: str) -> Any:
    """Return a user's function, sure to be callable as the operation will call it.

    A `Function` is called by its method; whatever else is callable is called itself, even if it has
    a method of that name.

    Args:
        function: What the user gave.
        method: The method that is called if it is a `Function`.
        arguments: The number of arguments it is called with.
        operation: What the user called, for messages.

    Raises:
        InvalidFunctionError: If it cannot be called so.
    """
    _check_is_no_class(function, operation)
    by_method = getattr(function, method, None)
    is_plain = callable(function) and not isinstance(function, Function)
    target = function if is_plain else by_method
    if not callable(target):
        raise InvalidFunctionError(
            f"{operation} was given {record_text(function)}, which cannot be called.",
            hint=f"Give a callable, or an object with a method {method}.",
        )
    _check_kind(target, method, operation)
    _check_arguments(target, arguments, operation)
    if is_plain and (isinstance(function, type) or callable(by_method)):
        return function.__call__  # nobody shall take its methods for those of a Function
    return function


def check_methods(function: Any, methods: Sequence[str], arguments: int, operation: str) -> None:
    """Make sure that a function with several methods can be called as the operation will call it.

    Args:
        function: What the user gave.
        methods: The methods that are called.
        arguments: The number of arguments each is called with.
        operation: What the user called, for messages.

    Raises:
        InvalidFunctionError: If it cannot be called so.
    """
    _check_is_no_class(function, operation)
    for method in methods:
        target = getattr(function, method, None)
        if not callable(target):
            raise InvalidFunctionError(
                f"{operation} was given {record_text(function)}, which has no method {method}.",
                hint=f"Give an object with the methods {' and '.join(methods)}.",
            )
        _check_kind(target, method, operation)
        _check_arguments(target, arguments, operation)


def _check_is_no_class(function: Any, operation: str) -> None:
    if isinstance(function, type) and issubclass(function, Function):
        name = function.__name__
        raise InvalidFunctionError(
            f"{operation} was given the class {name}, not an object of it.",
            hint=f"Write {name}() in place of {name}.",
        )


def _check_kind(target: Any, method: str, operation: str) -> None:
    code = target if inspect.isroutine(target) else getattr(target, "__call__", target)  # noqa: B004
    if inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code):
        raise InvalidFunctionError(
            f"{operation} was given {_name(target)}, which is asynchronous: nobody would await it.",
            hint="Give a function that is not async.",
        )
    if method not in _YIELDING and inspect.isgeneratorfunction(code):
        raise InvalidFunctionError(
            f"{operation} was given {_name(target)}, which is a generator: its result would be the "
            "generator, not what that yields.",
            hint="Return the result, or use flat_map or process for several results.",
        )


def _check_arguments(target: Any, arguments: int, operation: str) -> None:
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return  # functions written in C often do not tell
    try:
        signature.bind(*range(arguments))
    except TypeError as error:
        count = "one argument" if arguments == 1 else f"{arguments} arguments"
        raise InvalidFunctionError(
            f"{operation} calls its function with {count}, which {_name(target)}{signature} does "
            f"not take: {error}.",
            hint=f"Give a function of {count}.",
        ) from None


def _name(target: Any) -> str:
    return str(getattr(target, "__qualname__", type(target).__qualname__))


def plain_callable(function: Any, method: str) -> Callable[..., Any]:
    """Return one callable for a checked function that is not the function of an operator.

    Key selectors and partitioners belong to edges. One that has an `open` of its own is opened before
    its first call in a process.
    """
    user_function = UserFunction(function, method)
    opens = getattr(type(function), "open", None)
    if inspect.isroutine(function) or opens in {None, Function.open}:
        return user_function.call
    return _OpenedBeforeUse(user_function)


class _OpenedBeforeUse:
    """Opens a copy of a function before its first call.

    Args:
        function: The function.
    """

    def __init__(self, function: UserFunction) -> None:
        self._function = function
        self._call: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._call is None:
            opened = copy.copy(self._function.function)
            opened.open(RuntimeContext(task_name=type(opened).__name__))
            self._call = UserFunction(opened, self._function.method).call
        return self._call(*arguments)

    def __reduce__(self) -> tuple[type[_OpenedBeforeUse], tuple[UserFunction]]:
        return _OpenedBeforeUse, (self._function,)


def key_function(
    key_selector: Key, operation: str, declared: TypeInformation | None = None
) -> Callable[[Any], Any]:
    """Return a plain function that takes the key from a record.

    Args:
        key_selector: What the user gave.
        operation: What the user called, for messages.
        declared: The declared type of the records, if there is one.

    Raises:
        InvalidFunctionError: If the key selector cannot be called so.
        ColumnNotFoundError: If records of the declared type have no such field.
    """
    if isinstance(key_selector, (int, str)):
        check_field(key_selector, operation, declared)
        return FieldKey(key_selector)
    return plain_callable(check_function(key_selector, "get_key", 1, operation), "get_key")
