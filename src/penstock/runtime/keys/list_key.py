"""Lists as keys: they stay lists for whoever looks at them, and cannot be changed any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from penstock.errors import InvalidKeyError


class ListKey(list[Any]):
    """A list that is a key, or part of one: equal to any list with the same items, and hashable.

    Example:
        >>> ListKey(["a", 1]) == ["a", 1], {ListKey(["a", 1]): "found"}[ListKey(["a", 1])]
        (True, 'found')
    """

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((ListKey, *self))

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return ListKey, (list(self),)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise InvalidKeyError(
            f"The key {self!r} cannot be changed.", hint="Change a copy of it: list(key)."
        )

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse


def with_lists(key: Any) -> Any:
    """Return a key with its lists as keys, also those in tuples; what holds none as it is.

    Example:
        >>> key = with_lists(("a", [1, [2]]))
        >>> key, type(key[1][1]).__name__
        (('a', [1, [2]]), 'ListKey')
    """
    if type(key) is list:
        return ListKey(map(with_lists, key))
    if isinstance(key, tuple) and (type(key) is tuple or hasattr(key, "_make")):
        items = list(map(with_lists, key))
        if any(new is not old for new, old in zip(items, key, strict=True)):
            return _like(key, items)
    return key


def _like(key: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    make: Any = getattr(type(key), "_make", tuple)
    found: tuple[Any, ...] = make(items)
    return found
