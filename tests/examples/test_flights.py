from __future__ import annotations

import importlib
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from tests.examples.running import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

FLIGHTS = EXAMPLES / "flights"
MODULES = ("data", "expected", "picture", "report", "streams")


@pytest.fixture(scope="module")
def example() -> Iterator[SimpleNamespace]:
    sys.path.insert(0, str(FLIGHTS))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    sys.path.remove(str(FLIGHTS))
    for name in MODULES:
        del sys.modules[name]


@pytest.mark.spark
def test_hours_days_and_wind_are_what_pandas_computes(tmp_path: Path) -> None:
    picture = tmp_path / "new" / "wind.html"
    run = subprocess.run(
        [sys.executable, FLIGHTS / "main.py", "--months", "2", "--picture", picture],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    checks = [line for line in lines if line.startswith("pandas gets the same")]
    assert len(checks) == 4
    assert all(check.endswith(": yes") for check in checks)
    by_schedule, by_departure = [line for line in lines if line.startswith("LGA")]
    assert by_schedule.split()[5:] == ["0", "-"]
    assert int(by_departure.split()[5]) > 100
    assert picture.read_text(encoding="utf-8").count("<polyline") == 3


def test_departures_are_when_the_clocks_of_new_york_say_so(
    example: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The file takes long to read: once is enough.
    monkeypatch.setattr(example.data, "_read", cache(example.data._read))
    flights = example.data.read_flights(12)
    shown = example.data._read("flights.csv.zip", 12)["dep_time"].dropna().astype(int) % 2400
    departed = pd.to_datetime(flights["departed"], unit="ms", utc=True)
    clock = departed.dt.tz_convert("America/New_York").dt

    assert len(flights) == 328_521
    assert (clock.hour * 100 + clock.minute == shown).all()


def test_the_picture_has_a_point_for_each_airport_and_wind(example: SimpleNamespace) -> None:
    departures = [
        example.streams.WindyDeparture(origin, 0, delay, wind)
        for origin in ("EWR", "JFK", "LGA")
        for delay, wind in ((10, 0.0), (20, 4.9), (30, 99.0))
    ]
    page = example.picture.draw(departures)
    drawing = ET.fromstring(page[page.index("<svg") :])

    titles = [title.text for title in drawing.findall("circle/title")]
    assert titles[:2] == ["Newark: 2 departures, 15.0 min", "Newark: 1 departures, 30.0 min"]
    assert len(titles) == 6
    names = [text for text in drawing.findall("text") if text.get("class") == "name"]
    heights = [float(name.get("y", "nan")) for name in names]
    assert [name.text for name in names] == ["Newark", "Kennedy", "LaGuardia"]
    assert all(lower - higher >= 17 for higher, lower in pairwise(heights))
