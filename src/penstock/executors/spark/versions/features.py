"""What newer versions of Spark have and older ones lack: the one place that compares versions."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

import pyspark

Version = tuple[int, int]

KNOWN: Final[tuple[Version, ...]] = ((3, 5), (4, 0), (4, 1), (4, 2), (4, 3))
"""What penstock is tested with."""
OLDEST: Final = KNOWN[0]
NEWEST: Final = KNOWN[-1]
"""Any other is taken to have what it has."""


class Feature(Enum):
    """What some versions lack, by the first that has it."""

    ARTIFACTS = "4.0", "SparkSession.addArtifacts, also in a classic session"
    ARROW_RESULTS = "4.0", "DataFrame.toArrow"
    CONNECT = "4.0", "Spark Connect as part of the package, with all that penstock asks of it"
    INTERRUPTION = "4.0", "SparkSession.interruptOperation, also in a classic session"
    JAVA_21 = "4.0", "an Arrow that reaches the memory of Java 21"
    SCHEMAS_FROM_TEXT = "4.0", "StructType.fromDDL"
    PARTITIONS_BY_ID = "4.1", "DataFrame.repartitionById"
    MOVED_STREAMING_CLASSES = "4.1", "the Java package execution.streaming.checkpointing"
    UNIX_SOCKETS = "4.1", "spark.python.unix.domain.socket.enabled"
    ARROW_TIME_ZONES = "4.2", "to_arrow_schema with a time zone"
    PYTHON_TICKS = "4.2", "sources in Python that are told where the last micro-batch ended"

    @property
    def since(self) -> Version:
        """The first version that has it."""
        found = version_of(self.value[0])
        assert found is not None
        return found


def version_of(text: str) -> Version | None:
    """Return the major and the minor number of a version; None if it is no such version.

    Example:
        >>> version_of("4.0.1+vendor")
        (4, 0)
    """
    found = re.match(r"(\d+)\.(\d+)", text)
    return None if found is None else (int(found[1]), int(found[2]))


def has(feature: Feature) -> bool:
    """Tell whether the pyspark that is installed has something; one whose version says nothing is taken for a new one."""
    return (version_of(pyspark.__version__) or NEWEST) >= feature.since


def streaming_class(name: str) -> str:
    """Return the full name of one of Spark's Java classes that write the checkpoints of streaming queries."""
    folder = ".checkpointing" if has(Feature.MOVED_STREAMING_CLASSES) else ""
    return f"org.apache.spark.sql.execution.streaming{folder}.{name}"
