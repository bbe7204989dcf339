"""Checking asynchronous functions where the program is built, not where it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.datastream.function import Function
from penstock.errors import InvalidFunctionError
from penstock.runtime.async_io.forms import can_bind, is_async
from penstock.runtime.user_code import record_text

_METHOD = "async_invoke"


def check_async_function(function: Any, operation: str) -> Any:
    """Return a user's function, sure to be callable as an asynchronous operator will call it.

    Args:
        function: What the user gave.
        operation: What the user called, for messages.

    Raises:
        InvalidFunctionError: If it cannot be called so.
    """
    if isinstance(function, type):
        raise InvalidFunctionError(
            f"{operation} was given the class {function.__name__}, not an object of it.",
            hint=f"Write {function.__name__}() in place of {function.__name__}.",
        )
    by_method = getattr(function, _METHOD, None)
    target = by_method if callable(by_method) else function
    if not callable(target) or (isinstance(function, Function) and target is function):
        raise InvalidFunctionError(
            f"{operation} was given {record_text(function)}, which is neither an AsyncFunction nor "
            "callable.",
            hint=f"Give an async def, or an object with a method {_METHOD}.",
        )
    _check_kind(target, operation)
    timeout = getattr(function, "timeout", None)
    if target is by_method and callable(timeout) and is_async(timeout):
        raise InvalidFunctionError(
            f"{operation} was given {type(function).__name__}, whose timeout() is async: nobody would "
            "wait for it.",
            hint="Have timeout() return its results at once.",
        )
    return function


def _check_kind(target: Callable[..., Any], operation: str) -> None:
    name = getattr(target, "__qualname__", type(target).__qualname__)
    if inspect.isasyncgenfunction(target) or inspect.isgeneratorfunction(target):
        raise InvalidFunctionError(
            f"{operation} was given {name}, which yields its results one by one.",
            hint="Return a list of results.",
        )
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return  # functions written in C often do not tell
    if not can_bind(signature, 1) and not can_bind(signature, 2):
        raise InvalidFunctionError(
            f"{operation} calls its function with a record, or with a record and a ResultFuture, and "
            f"{name}{signature} takes neither.",
            hint="Give a function of one argument.",
        )
