"""How a key is taken from a record: what `key_by` and its like are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.functions.function_checks import check_function, plain_callable
from penstock.datastream.functions.one_input import KeySelector
from penstock.datastream.functions.record_fields import FieldKey, check_field

Key = KeySelector | Callable[[Any], Any] | int | str
"""A function of a record, or the position or name of a field."""


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
