from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ENRICHED = Path(__file__).parents[2] / "examples" / "enriched_flights.py"


@pytest.mark.spark
def test_merges_what_pandas_merges_in_the_same_order() -> None:
    run = subprocess.run(
        [sys.executable, ENRICHED], capture_output=True, text=True, timeout=110, check=False
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("\npandas merges the same, in the same order: yes\n")
    lines = run.stdout.splitlines()
    assert "336,776 flights, of 284,170 the plane is known" in lines
    assert "Boeing                                82,912   14,418,976" in lines
    assert "Chicago Ohare Intl                    17,283" in lines
