from __future__ import annotations

import subprocess
import sys
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
    plan, *months, year = run.stdout.split("\n2013 ")
    assert "HASH" in plan
    assert [month.partition("\n")[0] for month in months] == []
    assert len(year.splitlines()) == 39
    for row in ("EWR     United Air Lines Inc.            45,652            435    12.5 min",):
        assert row in year
