"""Sources that only an executor knows how to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.runtime.operators.preaggregate import ColumnPlan


@dataclass(frozen=True, eq=False)
class FrameSource:
    """The rows of a Spark DataFrame, bounded or streaming.

    Attributes:
        frame: The DataFrame.
        split_column: The column that names the split of a row; None if all are of one split.
        is_sorted: Whether rows come by time, as far as the watermark strategy asks for, though they may be
            of several files.
    """

    frame: Any
    split_column: str | None = None
    is_sorted: bool = False


@dataclass(frozen=True, eq=False)
class AggregatedFrameSource:
    """A bounded Spark DataFrame, of which workers get what the rows of each key and pane come to.

    Attributes:
        frame: The DataFrame.
        time: The column of the event timestamps.
        pane_size: How long a pane is, in milliseconds.
        offset: When some pane starts, in milliseconds.
        plan: What is computed.
        parallelism: Among how many subtasks the keys are divided.
        max_parallelism: How many key groups there are.
    """

    frame: Any
    time: str
    pane_size: int
    offset: int
    plan: ColumnPlan
    parallelism: int
    max_parallelism: int


@dataclass(frozen=True)
class TextFileSource:
    """The lines of a text file, or of the files of a folder."""

    path: str
    charset: str = "UTF-8"


@dataclass(frozen=True)
class SocketTextSource:
    """The lines that come from a socket, as from `nc -lk 9999`."""

    host: str
    port: int
