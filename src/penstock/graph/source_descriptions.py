"""Sources that only an executor knows how to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.runtime.columnar.plan import ColumnPlan


class ColumnKind(Enum):
    """What a column of a DataFrame holds, as far as it matters to whoever computes with columns."""

    WHOLE = "whole numbers of at most 64 bits"
    REAL = "floating-point numbers"
    TEXT = "texts, equal if all their characters are"
    BOOLEAN = "true or false"
    DATE = "days"
    INSTANT = "points in time"
    OTHER = "anything else"


@dataclass(frozen=True)
class FrameDescription:
    """What a program has to know of a DataFrame.

    Attributes:
        row_type: The names of its columns, and their types; one without a counterpart holds anything.
        kinds: What each column holds, by its name.
        is_bounded: Whether it ends.
    """

    row_type: RowTypeInfo
    kinds: Mapping[str, ColumnKind]
    is_bounded: bool


@dataclass(frozen=True, eq=False)
class FrameSource:
    """The rows of a DataFrame, bounded or streaming.

    Attributes:
        frame: The DataFrame, an object of the engine's own.
        split_column: The column that names the split of a row; None if all are of one split.
        is_sorted: Whether rows come by time, as far as the watermark strategy asks for.
        kinds: What each column holds, by its name.
    """

    frame: Any
    split_column: str | None = None
    is_sorted: bool = False
    kinds: Mapping[str, ColumnKind] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class AggregatedFrameSource:
    """A bounded DataFrame, of which workers get what the rows of each key and pane come to.

    Attributes:
        frame: The DataFrame, an object of the engine's own.
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
