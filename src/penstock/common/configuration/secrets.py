"""What of settings and other texts may be shown: secrets are known by their keys, and by what is around them."""

from __future__ import annotations

import re
from typing import Final

from penstock.common.plain_text import without_logins

_HIDDEN: Final = "******"
_WORDS: Final = (
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "cookie",
    "jaas",
    "apikey",
    "accesskey",
    "accountkey",
    "servicekey",
    "privatekey",
    "encryptionkey",
    "basicauth",
    "authparams",
    "httpheaders",
)
"""What is part of the keys of secrets, whatever is between its words: those of Flink, and a few more."""
_PARTS: Final = frozenset({"pass", "auth", "authorization", "header", "headers"})
"""What is between two dots, dashes or underscores of the keys of secrets."""
_BETWEEN: Final = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_NAMED: Final = re.compile(
    r"""((?:password|passwd|pwd|\bpass|passphrase|secret|token|credentials?|cookie|\bsig|signature
        |(?:api|access|account|private)[-_.]?key)\\*["']?\s*[=:]\s*)
        ("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^&;\s]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_AUTHORIZATION: Final = re.compile(r"(authorization[\"']?\s*[=:]\s*)[^\r\n]+", re.IGNORECASE)
_BEARER: Final = re.compile(r"\b(bearer\s+)[^\s,;\"']+", re.IGNORECASE)
_PRIVATE_KEY: Final = re.compile(
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_WORD: Final = re.compile(r"\S+")


def shown_setting(key: str, value: str) -> str:
    """Return the value of a setting without passwords and other secrets.

    Args:
        key: The key. Of one that sounds like a secret nothing is shown.
        value: The value as text. Of any other key it is shown as `without_secrets` returns it.

    Example:
        >>> shown_setting("shop.pwd", "hunter2")
        '******'
        >>> shown_setting("shop.url", "jdbc:postgresql://bob:hunter2@db/shop?password=hunter2&ssl=true")
        'jdbc:postgresql://db/shop?password=******&ssl=true'
    """
    if _is_secret(key):
        return _HIDDEN
    return without_secrets(without_logins(value))


def without_secrets(text: str) -> str:
    """Return a text without the secrets that are known by what is around them.

    These are logins of addresses, what follows `password=` or the like, `Bearer` or `Authorization:`, and private
    keys.

    Args:
        text: The text, of one line or many, such as a traceback.

    Example:
        >>> without_secrets("cannot connect to jdbc:postgresql://bob:hunter2@db/shop: password: hunter2")
        'cannot connect to jdbc:postgresql://db/shop: password: ******'
    """
    if "@" in text:
        text = _WORD.sub(lambda word: without_logins(word[0]), text)
    for pattern in (_AUTHORIZATION, _NAMED, _BEARER, _PRIVATE_KEY):
        text = pattern.sub(rf"\g<1>{_HIDDEN}", text)
    return text


def _is_secret(key: str) -> bool:
    parts = [part.lower() for part in _BETWEEN.split(key)]
    if not _PARTS.isdisjoint(parts) or key.lower().endswith(".key"):
        return True
    joined = "".join(parts)
    return any(word in joined for word in _WORDS)
