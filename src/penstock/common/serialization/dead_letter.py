"""A message that holds no record, with what is known of it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DeadLetter"]


class DeadLetter(NamedTuple):
    """A message that holds no record. What is not known of it, as only its bytes were there, is None.

    Attributes:
        message: Its bytes.
        error: Why, with the class of the error in front; at most about 1,000 characters of it.
        topic: Where it came from.
        partition: The partition of the topic.
        offset: Where in the partition.
        timestamp: When it was made, or written, in milliseconds.
        key: Its key.
        headers: Names and values of its headers, in their order.
    """

    message: bytes
    error: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
