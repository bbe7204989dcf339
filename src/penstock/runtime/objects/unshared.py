"""Which results nobody else has: neither the function that made them nor any other kept them.

Python counts the references to an object. If each thing in a result that can be changed is referred to from where
it was found and from nowhere else, nobody can change it any more: so it may wait for others.
"""

from __future__ import annotations

from collections.abc import Collection
from sys import getrefcount
from typing import Any, Final
from weakref import getweakrefcount

from penstock.runtime.objects.harmless import PLAIN_TYPES
from penstock.runtime.objects.mutability import (
    IMMUTABLE_TYPES,
    copied_if_plain,
    copied_if_possible,
    is_immutable,
)

_OF_ARGUMENTS: Final = 2
_OF_AN_ITEM: Final = 3
_DEEPEST: Final = 20


def to_wait(result: Any, variables: int, *, may_copy: bool) -> tuple[Any, bool] | None:
    """Return what may wait in the place of a result that can be changed, and whether it is known to be plain.

    That is the result itself if nobody else has it, or else a copy. What is plain,
    `penstock.runtime.objects.harmless` says.

    Args:
        result: The result.
        variables: How many variables of callers refer to it.
        may_copy: Whether a copy will do.

    Returns:
        None if nothing will do, so that the result has to go on at once.
    """
    variables += 1
    if is_unshared(result, PLAIN_TYPES, variables):
        return result, True
    if not may_copy:
        return (result, False) if is_unshared(result, IMMUTABLE_TYPES, variables) else None
    copy = copied_if_plain(result)
    if copy is not None:
        return copy, True
    copy = copied_if_possible(result)
    return None if copy is result else (copy, False)


def is_unshared(value: Any, leaves: frozenset[type], variables: int) -> bool:
    """Whether nobody else has a list, dict, set or tuple, or anything in it that can be changed.

    Args:
        value: The value.
        leaves: The types of values that may be shared.
        variables: How many variables of callers refer to it.

    Example:
        >>> mine = [1]
        >>> is_unshared(mine, IMMUTABLE_TYPES, 1)
        True
        >>> yours = [mine]
        >>> is_unshared(yours, IMMUTABLE_TYPES, 1), is_unshared([[1]], IMMUTABLE_TYPES, 0)
        (False, True)
    """
    return (
        _ALL_REFERENCES_COUNT
        and getrefcount(value) == variables + _OF_ARGUMENTS
        and _holds_unshared_only(value, leaves, 0)
    )


def _holds_unshared_only(value: Any, leaves: frozenset[type], depth: int) -> bool:
    kind = type(value)
    if depth == _DEEPEST:
        return False
    if kind is dict:
        keys_may_be_shared = leaves.issuperset(map(type, value))
        return keys_may_be_shared and _are_unshared(value.values(), leaves, depth + 1)
    if kind is list or kind is tuple:
        return _are_unshared(value, leaves, depth + 1)
    # Of these types, only sets can be referred to weakly, which is not counted.
    return kind is set and not getweakrefcount(value) and leaves.issuperset(map(type, value))


def _are_unshared(items: Collection[Any], leaves: frozenset[type], depth: int) -> bool:
    if leaves.issuperset(map(type, items)):
        return True
    for item in items:
        if type(item) not in leaves:
            is_alone = getrefcount(item) == _OF_AN_ITEM
            if not (is_alone and _holds_unshared_only(item, leaves, depth)) and (
                not _may_be_shared(item, leaves)
            ):
                return False
    return True


def _may_be_shared(item: Any, leaves: frozenset[type]) -> bool:
    return leaves is IMMUTABLE_TYPES and is_immutable(item)


def _references(value: Any) -> int:
    return getrefcount(value)


def _all_references_count() -> bool:
    """Whether this Python counts variables and arguments as expected; others have their ways to save time."""
    mine: list[Any] = [[]]
    named: dict[int, Any] = {1: []}
    known = _references(mine)
    yours = mine
    return (
        known == 1 + _OF_ARGUMENTS
        and _references(yours) == known + 1
        and [getrefcount(item) for item in mine] == [_OF_AN_ITEM]
        and [getrefcount(item) for item in named.values()] == [_OF_AN_ITEM]
    )


_ALL_REFERENCES_COUNT: Final = _all_references_count()
