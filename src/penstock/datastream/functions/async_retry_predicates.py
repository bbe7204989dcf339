"""Predicates for retry strategies, and when a server wants to be asked again."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import Any

__all__ = [
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
    "retry_after_header",
]


def empty_result_predicate(result: list[Any]) -> bool:
    """Return whether a call had no results.

    Args:
        result: The list of results.

    Example:
        >>> empty_result_predicate([])
        True
    """
    return not result


def has_exception_predicate(error: Exception) -> bool:
    """Return whether a call raised at all: every error is worth another attempt.

    Args:
        error: What it raised.

    Example:
        >>> has_exception_predicate(ConnectionResetError())
        True
    """
    return isinstance(error, Exception)


def exception_type_predicate(error: Exception, expected_error_type: type[Exception]) -> bool:
    """Return whether a call raised an error of a type.

    Args:
        error: What it raised.
        expected_error_type: The type, or one that it is derived from.

    Example:
        >>> from functools import partial
        >>> is_lost = partial(exception_type_predicate, expected_error_type=ConnectionError)
        >>> is_lost(ConnectionResetError())
        True
    """
    return isinstance(error, expected_error_type)


def retry_after_header(outcome: Any) -> int | None:
    """Return how long an HTTP server wants to be left alone, in milliseconds; None if it does not say.

    For `AsyncOptions.retry_after`. It reads the header `Retry-After`, in seconds or as a date, of an
    object that has `headers`, or whose `response` has. The errors of aiohttp, httpx and requests do.
    Not in PyFlink.

    Args:
        outcome: What the attempt raised or returned.

    Example:
        >>> class TooManyRequests(Exception):
        ...     headers = {"Retry-After": "3"}
        >>> retry_after_header(TooManyRequests())
        3000
    """
    headers = getattr(outcome, "headers", None)
    if headers is None:
        headers = getattr(getattr(outcome, "response", None), "headers", None)
    read: Any = getattr(headers, "get", None)
    if read is None or (text := read("Retry-After")) is None:
        return None
    try:
        return max(0, round(_seconds(text) * 1000))
    except (TypeError, ValueError, OverflowError):
        return None


def _seconds(text: Any) -> float:
    try:
        return float(text)
    except ValueError:
        return parsedate_to_datetime(text).timestamp() - time.time()
