"""Which Python, and which packages, penstock needs with each Spark."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.executors.spark.versions.features import Version

_ANY: Final[Version] = (1 << 30, 0)


class Range(NamedTuple):
    """Some versions of a package.

    Attributes:
        least: The least of them.
        below: The first that is none of them any more.
    """

    least: Version
    below: Version = _ANY

    def has(self, version: Version) -> bool:
        """Whether a version is one of them."""
        return self.least <= version < self.below

    def __str__(self) -> str:
        most = "" if self.below == _ANY else f",<{_text(self.below)}"
        return f">={_text(self.least)}{most}"


def _text(number: Version) -> str:
    return f"{number[0]}" if number[1] == 0 else f"{number[0]}.{number[1]}"


PYARROW: Final = Range((18, 0))
"""penstock's own need, on driver and workers; no Spark asks for a newer one."""

PYARROW_WITH_NUMPY_1: Final = Range(PYARROW.least, (26, 0))
"""A newer one cannot be imported with NumPy 1."""

PYTHON: Final[dict[Version, Range]] = {
    (3, 5): Range((3, 11), (3, 13)),
    (4, 0): Range((3, 11), (3, 14)),
    (4, 1): Range((3, 11), (3, 15)),
    (4, 2): Range((3, 11), (3, 15)),
    (4, 3): Range((3, 11), (3, 15)),
}
"""By the version of Spark: from the least that penstock runs on to the newest that pyspark names."""

PANDAS: Final[dict[Version, Range]] = {
    (3, 5): Range((1, 0), (3, 0)),
    (4, 0): Range((2, 0), (3, 0)),
    (4, 1): Range((2, 2), (3, 0)),
    (4, 2): Range((2, 2)),
    (4, 3): Range((2, 2)),
}
"""By the version of Spark, each of which looks for pandas where a program calls `mapInArrow`."""

WITHOUT_DISTUTILS: Final[Version] = (4, 0)
"""From which Spark on it does without distutils, which Python itself has no more from 3.12 on."""
