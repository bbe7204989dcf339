from __future__ import annotations

import subprocess
import sys
from calendar import month_name
from pathlib import Path

import pytest

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights.py"


@pytest.mark.spark
def test_streams_the_year_month_by_month_and_agrees_with_pandas() -> None:
    run = subprocess.run(
        [sys.executable, FLIGHTS], capture_output=True, text=True, timeout=110, check=False
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("\npandas gets the same totals: yes\n")
    plan, *months, year = run.stdout.split("\n2013")
    assert "HASH (key by)" in plan
    assert [month.split()[1] for month in months] == list(month_name)[1:12]
    assert "EWR     United Air Lines Inc.             3,636             21     8.7 min" in months[0]
    for row in (
        "EWR     United Air Lines Inc.            45,652            435    12.5 min",
        "JFK     Hawaiian Airlines Inc.              342              0     4.9 min",
        "LGA     SkyWest Airlines Inc.                23              3    10.4 min",
    ):
        assert row in year.splitlines()
