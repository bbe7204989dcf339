"""What Spark's own page calls a job: its query, its epochs, and the levels of its chains.

Spark shows the text that describes an action at its SQL execution, its jobs and their stages, and the name of a
Python function in the plan. How long they are and what is in them is up to whoever names operators and jobs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession

from penstock.common.plain_text import fitted, one_line
from penstock.runtime.program import Program

_LONGEST_JOB: Final = 60
_LONGEST_LEVEL: Final = 80
_HARMLESS: Final = str.maketrans("<>&", "()+")
_ARROW: Final = " -> "
_STARTING: Final[set[str]] = set()
_NAMING: Final = threading.Lock()


def page_name(name: str, longest: int = _LONGEST_JOB) -> str:
    """Return a name as it can stand on the page: in one line, not too long, and without what HTML is made of.

    Spark takes what looks like HTML for HTML. A query's name must not be empty.

    Args:
        name: The name.
        longest: How many letters' room there is, and how many there are at most.

    Example:
        >>> page_name("Source: <numbers> -> Map")
        'Source: (numbers) -> Map'
    """
    parts = (part.translate(_HARMLESS) for part in one_line(name).split(_ARROW))
    # Marks take no room, but what is sent to the page is not to grow with them.
    return fitted(_ARROW.join(parts), longest)[:longest] or "unnamed"


def level_names(program: Program) -> list[str]:
    """Return what each level of a program is called: the names of its chains."""
    return [
        page_name(
            " + ".join(vertex.name for vertex in program.vertices if vertex.level == level),
            _LONGEST_LEVEL,
        )
        for level in range(program.levels)
    ]


def named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function, with the name that Spark's plan is to show."""
    function.__name__ = function.__qualname__ = name
    return function


@contextmanager
def query_name(spark: SparkSession, job: str) -> Iterator[str]:
    """Give a name to a streaming query of a job, which nobody else gets until it has started.

    Spark wants the names of the queries of a session to differ: a job whose name is taken gets a number with it.
    """
    with _NAMING:
        taken = {query.name for query in spark.streams.active} | _STARTING
        name, number = page_name(job), 2
        while name in taken:
            name, number = f"{page_name(job)} ({number})", number + 1
        _STARTING.add(name)
    try:
        yield name
    finally:
        with _NAMING:
            _STARTING.remove(name)
