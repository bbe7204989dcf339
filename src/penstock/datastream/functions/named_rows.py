"""Results of functions as rows with the field names of the declared type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from typing import Any

from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.common.types import Row, field_names_of, row_of
from penstock.errors import TypeMismatchError
from penstock.runtime.context import RuntimeContext
from penstock.runtime.function import Function
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.user_code import UserFunction, record_text


def declared_names(declared: Any) -> tuple[str, ...] | None:
    """Return the field names that a type gives to rows, or None if it gives none."""
    if not isinstance(declared, RowTypeInfo):
        return None
    row = declared.from_internal_type([None] * len(declared.get_field_types()))
    return field_names_of(row)


def name_results(function: Any, method: str, output_type: Any) -> Any:
    """Return a function that names the fields of its results, if the declared type has names.

    So `row.name` works behind it, whether the user's function returns rows, tuples or lists.

    Args:
        function: The user's function.
        method: The method an operator calls: `map`, `flat_map`, `process_element`, `apply` or
            `process`.
        output_type: The declared type of its results.
    """
    names = declared_names(output_type)
    if names is None:
        return function
    if callable(getattr(function, "on_timer", None)):
        return _NamedMethods(function, (method, "on_timer"), names)
    return _NamedResults(function, method, names)


def name_results_of(function: Any, methods: Sequence[str], output_type: Any) -> Any:
    """As `name_results`, for a function that has several methods, all with any number of results."""
    names = declared_names(output_type)
    return function if names is None else _NamedMethods(function, (*methods, "on_timer"), names)


def result_namer(output_type: Any) -> Callable[[Any], Any] | None:
    """Return what names the fields of one result, or None if the declared type gives no names."""
    names = declared_names(output_type)
    if names is None:
        return None
    return partial(named_row, names=names, where="The asynchronous function returned")


def named_row(value: Any, names: tuple[str, ...], where: str) -> Any:
    """Return a tuple, a list or a row without names as a row with names; anything else as it is.

    A row that has the same names in another order gets them in this one.

    Raises:
        TypeMismatchError: If it has not as many fields as there are names.
    """
    if isinstance(value, Row):
        own = field_names_of(value)
        if own == names or (own is not None and set(own) != set(names)):
            return value
        if own is not None:
            value = _in_order(value, names)
    elif not isinstance(value, (tuple, list)):
        return value
    if len(value) != len(names):
        raise TypeMismatchError(
            f"{where} {record_text(value)}, which has {len(value)} fields, while {len(names)} are "
            "declared.",
            hint=f"The declared fields are: {', '.join(names)}.",
        )
    row = row_of(names, tuple(value))
    if isinstance(value, Row):
        row.set_row_kind(value.get_row_kind())
    return row


def _in_order(row: Row, names: tuple[str, ...]) -> Row:
    """Return a row without names that has the values of a row with names, in their order."""
    values = row_of(None, tuple([row[name] for name in names]))
    values.set_row_kind(row.get_row_kind())
    return values


class _NamedResults(Function):
    """A function of the user whose results get field names."""

    def __init__(self, function: Any, method: str, names: tuple[str, ...]) -> None:
        self._function = UserFunction(function, method)
        self._names = names

    def open(self, runtime_context: RuntimeContext) -> None:
        self._where = f"Operator {runtime_context.get_task_name()!r} returned"
        self._call = self._function.call
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    def map(self, value: Any) -> Any:
        return self._named(self._call(value))

    def flat_map(self, value: Any) -> Iterable[Any] | None:
        results = self._call(value)
        return None if results is None else map(self._named, results)

    def process_element(self, *arguments: Any) -> Iterable[Any] | None:
        results = self._call(*arguments)
        return None if results is None else map(self._named_unless_aside, results)

    apply = process_element
    process = process_element

    def clear(self, context: Any) -> None:
        clear = getattr(self._function.function, "clear", None)
        if clear is not None:
            clear(context)

    def _named(self, value: Any) -> Any:
        return named_row(value, self._names, self._where)

    def _named_unless_aside(self, value: Any) -> Any:
        return named_unless_aside(value, self._names, self._where)


class _NamedMethods(Function):
    """A function of the user with several methods whose results get field names.

    It has those of the methods that the function has.
    """

    def __init__(self, function: Any, methods: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._function = function
        self._methods = methods
        self._names = names

    def open(self, runtime_context: RuntimeContext) -> None:
        self._where = f"Operator {runtime_context.get_task_name()!r} returned"
        UserFunction(self._function, "").open(runtime_context)

    def close(self) -> None:
        UserFunction(self._function, "").close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._methods:
            raise AttributeError(name)
        method = getattr(self._function, name)

        @wraps(method)
        def named(*arguments: Any) -> Iterable[Any] | None:
            results = method(*arguments)
            if results is None:
                return None
            return (named_unless_aside(value, self._names, self._where) for value in results)

        return named


def named_unless_aside(value: Any, names: tuple[str, ...], where: str) -> Any:
    """As `named_row`, but leave what goes to a side output as it is."""
    if type(value) is tuple and len(value) == 2 and isinstance(value[0], OutputTag):
        return value
    return named_row(value, names, where)
