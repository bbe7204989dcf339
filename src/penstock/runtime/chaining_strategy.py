"""Whether an operator may share a chain with its neighbours."""

from __future__ import annotations

from enum import Enum


class ChainingStrategy(Enum):
    """Whether an operator may share a chain with its neighbours.

    Attributes:
        ALWAYS: Chained to its predecessor wherever the rules allow it.
        HEAD: Starts a chain; successors may be chained to it.
        NEVER: Neither its predecessor nor its successors are chained to it.
    """

    ALWAYS = "always"
    HEAD = "head"
    NEVER = "never"
