"""A clock that jumps, as programs see it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.crash.surroundings.clock import Clock, can_jump

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not can_jump(), reason="needs gcc, on Linux"
)

DAY = 86_400
ASK = (
    "import time, datetime; print(time.time(), time.time_ns(), datetime.datetime.now().timestamp())"
)


@pytest.mark.parametrize("seconds", [DAY, -DAY, 0])
def test_it_jumps(tmp_path: Path, seconds: int) -> None:
    clock = Clock(tmp_path)
    clock.jump(seconds)

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ASK],
        env={**os.environ, **clock.environment},
        capture_output=True,
        text=True,
        check=True,
    )

    first, nanoseconds, second = done.stdout.split()
    for found in (float(first), int(nanoseconds) / 1e9, float(second)):
        assert found - time.time() == pytest.approx(seconds, abs=60)
