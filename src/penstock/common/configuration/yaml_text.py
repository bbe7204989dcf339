"""What YAML writes in one text, as Flink's configurations do: lists, which may be `a;b` as well, and bytes."""

from __future__ import annotations

import binascii
import re
from typing import Any, Final

__all__ = [
    "bytes_in_yaml",
    "list_items",
    "split_outside_quotes",
    "without_quotes",
    "yaml_bytes",
    "yaml_list",
]

_WORDS: Final = {"true": True, "false": False, "null": None, "~": None}

_BINARY: Final = re.compile(r"""!!binary\s+(?:\|-?\s)?["']?([A-Za-z0-9+/=\s]*)["']?\s*""")
_QUOTED: Final = re.compile(r"""(['"])(.*)\1""", re.DOTALL)


def list_items(text: str) -> list[str]:
    r"""The items of a list as they are written, with the quotes that they have.

    Raises:
        ValueError: If a bracket or a quote is not closed.

    Example:
        >>> list_items("a;b"), list_items("['a, b', c]"), list_items("- a\n- b")
        (['a', 'b'], ["'a, b'", 'c'], ['a', 'b'])
    """
    text = text.strip()
    if text.startswith("["):
        if not text.endswith("]"):
            raise ValueError(text)
        return split_outside_quotes(text[1:-1], ",")
    if text.startswith("- "):
        return [line.strip()[1:].strip() for line in text.splitlines() if line.strip()]
    return split_outside_quotes(text, ";")


def split_outside_quotes(text: str, separator: str) -> list[str]:
    """The parts of a text between separators that stand in no quotes; empty ones are left out.

    Raises:
        ValueError: If a quote is not closed.

    Example:
        >>> split_outside_quotes("a; 'b;c'", ";")
        ['a', "'b;c'"]
    """
    parts: list[str] = []
    quote, begin = "", 0
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"" and text[begin:place].rstrip()[-1:] in ("", ":"):
            quote = letter
        elif letter == separator:
            parts.append(text[begin:place])
            begin = place + 1
    if quote:
        raise ValueError(text)
    return [part.strip() for part in (*parts, text[begin:]) if part.strip()]


def without_quotes(item: str) -> str:
    """The text that a part stands for.

    Example:
        >>> without_quotes("'a;b'"), without_quotes("c")
        ('a;b', 'c')
    """
    match = _QUOTED.fullmatch(item)
    return item if match is None else match.group(2)


def yaml_list(text: str) -> list[Any]:
    """The items of a list; in YAML's form, those without quotes that are no texts as what they are.

    Raises:
        ValueError: If a bracket or a quote is not closed.

    Example:
        >>> yaml_list("[1, 2.5, true, '3', a]"), yaml_list("1;2")
        ([1, 2.5, True, '3', 'a'], ['1', '2'])
    """
    if not text.strip().startswith(("[", "- ")):
        return text.split(";")
    return [_scalar(item) for item in list_items(text)]


def _scalar(item: str) -> Any:
    if item.lower() in _WORDS:
        return _WORDS[item.lower()]
    for kind in (int, float):
        try:
            return kind(item)
        except ValueError:
            continue
    return without_quotes(item)


def yaml_bytes(value: bytes) -> str:
    r"""The text of bytes.

    Example:
        >>> yaml_bytes(b"\1\2\3"), yaml_bytes(b"")
        ('!!binary |-\n  AQID', '!!binary ""')
    """
    if not value:
        return '!!binary ""'
    return f"!!binary |-\n  {binascii.b2a_base64(value, newline=False).decode()}"


def bytes_in_yaml(text: str) -> bytes:
    r"""The bytes that a text stands for.

    Raises:
        ValueError: If it is none of bytes.

    Example:
        >>> bytes_in_yaml("!!binary |-\n  AQID")
        b'\x01\x02\x03'
    """
    match = _BINARY.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return binascii.a2b_base64(match.group(1))
