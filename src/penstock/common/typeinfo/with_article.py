"""The names of types in sentences."""

from __future__ import annotations

from typing import Final

_VOWELS: Final = "AEIOUaeiou"
_SPELLED_WITH_A_VOWEL: Final = "FHLMNRSX"


def with_article(name: str) -> str:
    """Return a name behind its indefinite article.

    Args:
        name: The name, as of a type.

    Example:
        >>> [with_article(name) for name in ("lock", "Obj", "RLock", "Row")]
        ['a lock', 'an Obj', 'an RLock', 'a Row']
    """
    is_spelled = name[:2].isupper() and name[0] in _SPELLED_WITH_A_VOWEL
    return f"an {name}" if is_spelled or name[:1] in _VOWELS else f"a {name}"
