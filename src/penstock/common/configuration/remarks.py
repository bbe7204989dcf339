"""What is said of a setting: that it changes nothing here, or that its key may be a typing mistake."""

from __future__ import annotations

import functools
from typing import Any, Final

from penstock.common.configuration.flink_keys import flink_keys
from penstock.common.configuration.options import (
    OPEN_PREFIXES,
    OPTIONS,
    OPTIONS_BY_EVERY_KEY,
    WITHOUT_EFFECT,
)
from penstock.errors import UnknownConfigurationKeyError

__all__ = ["check_key", "say_once"]

_ALIKE: Final = 0.9
"""How much of two keys has to be the same for one to be taken for the other, mistyped; see `difflib`."""
_said: Final[set[str]] = set()


def check_key(key: str, text: str, *, is_strict: bool) -> None:
    """Say what there is to say about a key, once in each process.

    Args:
        key: The key.
        text: The text of its value.
        is_strict: Whether a typing mistake is an error.

    Raises:
        UnknownConfigurationKeyError: If it seems to be one, and that is an error.
    """
    option = OPTIONS_BY_EVERY_KEY.get(key)
    if option is not None:
        if option.key in WITHOUT_EFFECT and option.parse(text) != option.default:
            say_once(key, _without_effect(key, option.description))
        return
    if key.startswith(OPEN_PREFIXES):
        return
    known = flink_keys().find(key)
    if known is not None:
        if not known.is_default(text):
            say_once(key, _without_effect(key, known.instead))
        return
    similar = _nearest(key)
    if similar is None:
        return
    message = f"There is no configuration key {key!r}."
    if is_strict:
        hint = (
            f"Did you mean {similar!r}? If the key is your own, set configuration.strict to false."
        )
        raise UnknownConfigurationKeyError(message, hint=hint)
    say_once(key, f"{message} Did you mean {similar!r}? It is kept as your own.")


def _without_effect(key: str, instead: str) -> str:
    return f"The configuration key {key!r} changes nothing here. {instead}"


def say_once(key: str, sentence: str) -> None:
    """Write a warning into the log, unless there was one in the process before.

    Args:
        key: What it is about: a key of the configuration, or another name.
        sentence: What it says.
    """
    if key not in _said:
        import logging

        _said.add(key)
        logging.getLogger("penstock").warning("%s", sentence)


@functools.lru_cache(maxsize=10_000)
def _nearest(key: str) -> str | None:
    """The known key that is nearest to another one; None if none is near."""
    from difflib import SequenceMatcher

    best, found = _ALIKE, None
    matcher: SequenceMatcher[Any] = SequenceMatcher(None, "", key, autojunk=False)
    letters = _letters(key)
    for name, its_letters in _known_names():
        whole = len(name) + len(key)
        different = abs(len(name) - len(key)), (letters ^ its_letters).bit_count()
        if max(different) > (1 - best) * whole:
            continue
        matcher.set_seq1(name)
        if matcher.quick_ratio() >= best and (ratio := matcher.ratio()) >= best:
            best, found = ratio, name
    return found


@functools.cache
def _known_names() -> list[tuple[str, int]]:
    return [(name, _letters(name)) for name in (*OPTIONS, *flink_keys().names())]


def _letters(key: str) -> int:
    """Which letters a key has, one bit for each."""
    return sum(1 << (ord(letter) % 64) for letter in set(key))
