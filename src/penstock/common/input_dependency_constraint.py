"""When a task may start, as far as its inputs go."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """When a task may start. Nothing takes one, in PyFlink 2.3 as here: the name is for programs that import it.

    Attributes:
        ANY: When there is something to read on any of its inputs.
        ALL: When there is something to read on all of them.
    """

    ANY = 0
    ALL = 1
