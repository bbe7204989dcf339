"""The crash test on Spark Connect in its short form. The long one: `python -m tests.crash.connect.on_connect`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.crash.connect.on_connect import CrashTestFailed, Trial
from tests.servers.connect_server import NEEDS_CONNECT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@NEEDS_CONNECT
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_each_record_counts_once_whatever_is_killed(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 5)
    try:
        for kind in ("driver", "client", "server"):
            trial.strike(kind)
        trial.check()
    finally:
        trial.close()


def test_what_is_lost_or_double_is_found(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 5)
    trial.feed()
    words = Counter((tmp_path / "in" / "000000").read_text().split())
    results = [f"{word} {n + 1}\n" for word, times in words.items() for n in range(times)]
    part = tmp_path / "out" / "part-0"
    part.parent.mkdir()
    part.write_text("".join(results))
    trial.compare()

    part.write_text("".join([*results, results[0]]))
    with pytest.raises(CrashTestFailed, match=r"too many: Counter\(\{'"):
        trial.compare()
    part.write_text("".join(results[1:]))
    with pytest.raises(CrashTestFailed, match=r"lost: Counter\(\{'"):
        trial.compare()
    trial.close()
