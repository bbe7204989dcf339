"""Epochs without records, for a timer that is due or a split that may turn idle: who begins them.

Spark does, where it takes a source of ticks beside the others. To Spark before 4.2 a source in Python does not fit, as
it is not told where the last micro-batch ended; there the driver begins an epoch that is no micro-batch, while
Spark waits for data.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from typing import Final, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.executors.spark.connect import is_connect
from penstock.executors.spark.hosted.by_value import travels_by_code
from penstock.executors.spark.runs.offsets import TICKS
from penstock.executors.spark.runs.wake_up import write_wake_up
from penstock.executors.spark.versions.features import Feature, has

_WAITING: Final = "Waiting for "


class Ticks(Protocol):
    """What begins epochs without records."""

    @property
    def sources(self) -> Sequence[str]:
        """The names of the sources that it adds to the query, as metadata has them."""

    def began(self) -> None:
        """Take note that an epoch begins."""

    def wake(self, at: int | None) -> None:
        """Take note of when the next epoch is due (milliseconds), or that none is (None)."""

    def frame(self, spark: SparkSession) -> DataFrame | None:
        """Return the source that it adds to the query."""

    def is_due(self, query: StreamingQuery) -> bool:
        """Whether the driver is to begin an epoch now."""

    def close(self) -> None:
        """Let go of everything."""


class NoTicks:
    """For programs that want no epochs without records."""

    sources: Sequence[str] = ()

    def began(self) -> None:
        """Nobody counts from it."""

    def wake(self, at: int | None) -> None:
        """Nobody waits for it."""

    def frame(self, spark: SparkSession) -> DataFrame | None:
        """Return None: there is no source."""
        return None

    def is_due(self, query: StreamingQuery) -> bool:
        """Never."""
        return False

    def close(self) -> None:
        """There is nothing."""


class SourceTicks(NoTicks):
    """Spark begins them, by a source of ticks, which lives on the driver's machine."""

    sources = (TICKS,)

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="penstock-ticks-")

    def wake(self, at: int | None) -> None:
        write_wake_up(self._folder, at)

    def frame(self, spark: SparkSession) -> DataFrame | None:
        from penstock.executors.spark.runs import tick

        if is_connect(spark):
            # What the server starts for a source cannot import what workers can.
            travels_by_code(tick)
        return tick.tick_frame(spark, self._folder)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


class DriverTicks(NoTicks):
    """The driver begins them.

    Args:
        interval: The milliseconds from the beginning of one epoch to that of the next, at least.
    """

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._next: int | None = None
        self._began = 0

    def began(self) -> None:
        self._began = _now()

    def wake(self, at: int | None) -> None:
        self._next = at

    def is_due(self, query: StreamingQuery) -> bool:
        now = _now()
        if self._next is None or now < max(self._next, self._began + self._interval):
            return False
        status = query.status
        # What it waits for is data, or its next trigger: then what is there would come with that.
        return (
            status["message"].startswith(_WAITING)
            and not status["isTriggerActive"]
            and not status["isDataAvailable"]
        )


def _now() -> int:
    return time.time_ns() // 1_000_000


def new_ticks(interval: int) -> Ticks:
    """Return what begins epochs without records in the Spark that is here.

    Args:
        interval: The milliseconds from the beginning of one epoch to that of the next, at least.
    """
    return SourceTicks() if has(Feature.PYTHON_TICKS) else DriverTicks(interval)
