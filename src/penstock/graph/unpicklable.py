"""Pickling the user's functions, and finding what makes that impossible."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any, Final

from penstock.common.typeinfo.with_article import with_article
from penstock.errors import FunctionNotSerializableError
from penstock.runtime.job_pickle import dump_code

_DEEPEST: Final = 12
_HINT: Final = (
    "Make connections, locks, files and clients in open(), not in __init__ or in the script, or give the "
    "class a __getstate__ that leaves them out. Records have to be plain data."
)
_SPARK_HINT: Final = (
    "Only the program has Spark, its functions run in workers that have none. Read what they need as a "
    "stream, with from_data_frame(), and connect or join the two."
)


def pickle_by_value(value: Any, what: str) -> bytes:
    """Pickle an operator or a function, with the code that a worker cannot import.

    Args:
        value: The operator or function.
        what: What it is, for messages.

    Raises:
        FunctionNotSerializableError: If it cannot be pickled.
    """
    try:
        return dump_code(value)
    except Exception as error:
        path, culprit, reason = _search(value, error)
        hint = _SPARK_HINT if _is_of_spark(culprit) else _HINT
        raise FunctionNotSerializableError(
            f"{what} cannot be pickled, so that no worker could run it: "
            f"{_sentence(path, culprit, reason)}",
            hint=hint,
        ) from error


def _search(value: Any, error: Exception) -> tuple[list[str], Any, Exception]:
    """Return the way to the part that cannot be pickled, the part, and what pickling it raises."""
    path: list[str] = []
    culprit = value
    for _ in range(_DEEPEST):
        if _is_of_spark(culprit):
            break
        found = _first_failing_part(culprit)
        if found is None:
            break
        name, culprit, error = found
        path += [name] if name else []
    return path, culprit, error


def _sentence(path: list[str], culprit: Any, error: Exception) -> str:
    reason = " ".join(str(error).split())
    if not path:
        return reason
    named = f"{', '.join(path)} is {with_article(type(culprit).__qualname__)}"
    if _is_of_spark(culprit):
        return f"{named}, which cannot be used in a function."
    return f"{named} ({reason})."


def _is_of_spark(value: Any) -> bool:
    """Whether a value is one of what only the driver has, as a session or a DataFrame; rows are plain data."""
    module = type(value).__module__
    return module.startswith("pyspark.") and not module.startswith("pyspark.sql.types")


def _first_failing_part(value: Any) -> tuple[str, Any, Exception] | None:
    for name, part in _parts(value):
        try:
            dump_code(part)
        except Exception as error:  # noqa: BLE001 - pickling runs the user's code
            return name, part, error
    return None


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a value is made of, with what the user calls it; our own wrappers have no name."""
    if inspect.ismethod(value):
        yield "", value.__self__
    elif inspect.isfunction(value):
        yield from _parts_of_function(value)
    elif isinstance(value, functools.partial):
        yield "", value.func
        yield from _parts(value.args)
        yield from _parts(value.keywords)
    elif isinstance(value, type):
        methods = ((name, part) for name, part in vars(value).items() if inspect.isfunction(part))
        yield from ((f"method {name!r}", part) for name, part in methods)
    elif isinstance(value, dict):
        yield from ((f"item {key!r}", part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"item {index}", part) for index, part in enumerate(value))
    else:
        is_own = type(value).__module__.startswith("penstock.")
        for name, part in getattr(value, "__dict__", {}).items():
            yield "" if is_own else f"attribute {name!r}", part
        yield "", type(value)


def _parts_of_function(function: Any) -> Iterator[tuple[str, Any]]:
    try:
        used = inspect.getclosurevars(function)
    except ValueError:  # a variable that has no value yet
        return
    yield from ((f"variable {name!r}", part) for name, part in used.nonlocals.items())
    yield from ((f"global variable {name!r}", part) for name, part in used.globals.items())
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is not parameter.empty:
            yield f"default value {name!r}", parameter.default
