from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from penstock.testing import KeyedProcessFunctionHarness

OVERDUE = Path(__file__).parents[2] / "examples" / "overdue_flights.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("overdue_flights", OVERDUE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["overdue_flights"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.spark
def test_finds_the_alerts_that_pandas_finds() -> None:
    run = subprocess.run(
        [sys.executable, OVERDUE], capture_output=True, text=True, timeout=110, check=False
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("\npandas finds the same alerts: yes\n")
    lines = run.stdout.splitlines()
    assert "Jul 2013        28,545      850" in lines
    assert "N17108  EV 3806   STL  2013-01-01 20:28  2013-01-02 01:47" in lines


def test_the_next_time_that_a_clock_shows_is_found_in_utc(example: ModuleType) -> None:
    after = pd.to_datetime(
        pd.Series(
            [
                "2013-01-01 10:17+00:00",  # five hours before New York, six before Chicago
                "2013-01-01 10:17+00:00",
                "2013-01-02 04:00+00:00",  # lands on the next day
                "2013-11-03 05:20+00:00",  # a time that New York has twice that night
                "2013-03-10 05:00+00:00",  # the night in which summer begins
            ]
        )
    )
    clock = pd.Series([830, 830, 15, 130, 400], dtype="Int64")
    zone = pd.Series(["America/New_York", "America/Chicago", *["America/New_York"] * 3])
    found = example.next_time(clock, after, zone).sort_index()
    assert [f"{time:%m-%d %H:%M}" for time in found] == [
        "01-01 13:30",
        "01-01 14:30",
        "01-02 05:15",
        "11-03 05:30",
        "03-10 08:00",
    ]


def test_a_plane_is_awaited_where_it_is_due_until_it_is_due(example: ModuleType) -> None:
    row = example.Row("time", "plane", "flight", "destination", "due")
    harness = KeyedProcessFunctionHarness(example.Overdue(), lambda event: event.plane)

    def see(time: int, flight: str, destination: str, due: int | None = None) -> None:
        harness.process_element(row(time, "N1", flight, destination, due), timestamp=time)

    see(0, "AA 1", "BOS", due=100)
    see(50, "AA 1", "BOS")
    assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0

    see(60, "AA 2", "MIA", due=160)
    see(70, "AA 1", "BOS")
    see(161, "AA 2", "MIA")
    see(170, "AA 3", "MIA", due=300)
    harness.process_watermark(299)
    see(300, "AA 3", "MIA")
    harness.end_input()
    assert harness.extract_output_values() == [example.Alert("N1", "AA 2", "MIA", 60, 160)]
    assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0
