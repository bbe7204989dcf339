"""URLs of servers of Spark Connect, as in "sc://host:15002/;token=secret"."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

_PORT: Final = 15002


def place_of(url: str) -> tuple[str, int] | None:
    """Return the host and the port that a URL names; None if it is none.

    Example:
        >>> place_of("sc://spark.example.org")
        ('spark.example.org', 15002)
    """
    try:
        parts = urlsplit(url)
        port = parts.port or _PORT
    except ValueError:
        return None
    return (parts.hostname, port) if parts.scheme == "sc" and parts.hostname else None


def without_parameters(url: str) -> str:
    """Return a URL without what may be a secret.

    Example:
        >>> without_parameters("sc://host:443/;token=secret")
        'sc://host:443'
    """
    parts = urlsplit(url)
    return f"sc://{parts.netloc.rpartition('@')[2]}"
