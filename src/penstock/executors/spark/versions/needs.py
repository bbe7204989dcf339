"""Which Python, and which packages, each Spark can stand."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.executors.spark.versions.features import Version


class Range(NamedTuple):
    """Some versions of a package.

    Attributes:
        least: The least of them.
        below: The first that is none of them any more.
    """

    least: Version
    below: Version

    def __str__(self) -> str:
        most = "" if self.below == _ANY else f",<{_text(self.below)}"
        return f">={_text(self.least)}{most}"


def _text(number: Version) -> str:
    return f"{number[0]}" if number[1] == 0 else f"{number[0]}.{number[1]}"


_ANY: Final[Version] = (1 << 30, 0)

NEEDS: Final[dict[Version, dict[str, Range]]] = {
    (3, 5): {
        "Python": Range((3, 8), (3, 13)),
        "pyarrow": Range((4, 0), _ANY),
        "pandas": Range((1, 0), (3, 0)),
    },
    (4, 0): {
        "Python": Range((3, 9), (3, 14)),
        "pyarrow": Range((11, 0), _ANY),
        "pandas": Range((2, 0), (3, 0)),
    },
    (4, 1): {
        "Python": Range((3, 10), (3, 15)),
        "pyarrow": Range((15, 0), _ANY),
        "pandas": Range((2, 2), (3, 0)),
    },
}
"""By the version of Spark. What a newer one needs, its own package says, and pip sees to."""

NUMPY_OF_PYARROW: Final[dict[Version, Version]] = {(26, 0): (2, 0)}
"""From which pyarrow on which NumPy is the least, if there is one: with an older one pyarrow cannot be imported."""

WITHOUT_DISTUTILS: Final[Version] = (4, 0)
"""From which Spark on it does without distutils, which Python itself has no more from 3.12 on."""
