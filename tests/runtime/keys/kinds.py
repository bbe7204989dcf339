"""Keys of all kinds, at the top level of a module that another process can import quickly."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from penstock.common.rows.data_frame_row import row_factory
from penstock.common.types import Row
from penstock.runtime.keys.list_key import ListKey
from penstock.runtime.keys.window_values import GlobalWindow, TimeWindow, Window

NEW_YORK = ZoneInfo("America/New_York")


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"
    ROUGE = "red"  # noqa: PIE796 - two names of one member


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(enum.StrEnum):
    ON = "on"
    OFF = "off"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Corner(tuple[int, int], enum.Enum):  # noqa: SLOT001 - an enum is no such tuple
    ORIGIN = (0, 0)


class Holiday(date, enum.Enum):
    NEW_YEAR = 2025, 1, 1


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Flight:
    carrier: str
    number: int
    note: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class Train:
    carrier: str
    number: int
    note: Any = field(default=None, compare=False)


class Charter(Flight):
    """A class that inherits being a dataclass."""


class Shift(Window):
    def __init__(self, day: date, name: str) -> None:
        self.day = day
        self.name = name

    def max_timestamp(self) -> int:
        return 0


SAMPLES: list[Any] = [
    None,
    0,
    7,
    -7,
    2**70,
    2.5,
    float("inf"),
    1 + 2j,
    Decimal("1.1"),
    Fraction(1, 3),
    "",
    "hello",
    "\udcff",
    b"",
    b"hello",
    date(2013, 11, 3),
    datetime(2013, 11, 3, 1, 30),  # noqa: DTZ001 - keys without zone are keys too
    datetime(2013, 11, 3, 1, 30, tzinfo=NEW_YORK),
    datetime(2013, 11, 3, 1, 30, 0, 5, tzinfo=UTC),
    time(12, 30),
    time(12, 30, tzinfo=timezone(timedelta(hours=2))),
    timedelta(days=2, microseconds=1),
    UUID(int=5),
    UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    Colour.RED,
    Colour.GREEN,
    Level.HIGH,
    Mode.ON,
    Access.READ | Access.WRITE,
    (),
    (1, "a"),
    ("a", 1),
    (("a",), 1),
    Point(1, 2),
    ListKey([1, "a"]),
    (ListKey(["a"]), 1),
    frozenset({"a", "b"}),
    Row(a=1, b="x"),
    Row("x", 1),
    row_factory(["a", "b"])((3, "y")),
    Flight("UA", 1545),
    Train("UA", 1545),
    Charter("UA", 1545),
    TimeWindow(-5, 5),
    GlobalWindow.get(),
    Shift(date(2013, 11, 3), "night"),
]
