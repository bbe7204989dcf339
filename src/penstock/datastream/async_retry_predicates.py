"""Predicates for retry strategies, and when a server wants to be asked again."""

from __future__ import annotations

from penstock.datastream.functions.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
    retry_after_header,
)

__all__ = [
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
    "retry_after_header",
]
