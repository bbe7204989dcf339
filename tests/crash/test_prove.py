"""What is made of the logs of long runs, and of what a soak measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.crash import prove
from tests.crash.soak import verdict as soak_verdict

LOG = """\
# On local, seed 1
number | input | ...
   1 | 1000 | hashmap local x5 | disk | epochs.in | all | 2 | 0.50 | driver killed, the next went on
   2 | 1000 | hashmap local x5 | disk | - | drain | 4 | - | driver drained, the next went on
   3 | 1000 | hashmap local x5 | disk | call | all at drain | 4 | 1.50 | driver killed
     | 1000 | kill: after 2 lives the outcome is the oracle's
     | 1001 | FAILED in job 1, kill
# On cluster, seed 1
"""


def test_a_log_becomes_a_table() -> None:
    first, second = prove.read(LOG.splitlines())

    assert first.row == "| no Spark | 3 | 1 | 1 | 1.0 s |"
    assert second.faults.total() == 0
    assert "| `drain` | 2 |" in prove.table([first, second])


@pytest.mark.parametrize(("step", "is_flat"), [(0.0, True), (0.01, True), (1.0, False)])
def test_what_is_flat(step: float, is_flat: bool) -> None:
    points = [(float(second), 100 + step * second) for second in range(100)]

    verdict = soak_verdict.verdict("driver_mb", points)

    assert verdict is not None
    assert verdict.is_flat is is_flat
    assert verdict.text.endswith("flat" if is_flat else "GROWS")


def test_a_start_that_grows_counts_for_nothing() -> None:
    points = [(float(second), min(second, 50.0)) for second in range(101)]

    verdict = soak_verdict.verdict("driver_mb", points)

    assert verdict is not None
    assert verdict.is_flat


def test_a_soak_becomes_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["seconds", "epoch", *soak_verdict.SERIES]
    rows = [",".join(names)]
    rows += [",".join([str(second), str(second), *["7"] * len(names[2:])]) for second in range(9)]
    (tmp_path / "soak.csv").write_text("\n".join(rows))

    page = tmp_path / "crash-test.md"
    page.write_text("Before.\n<!-- soak -->\nold\n<!-- end of soak -->\nAfter.\n")
    code = soak_verdict.tell(tmp_path / "soak.csv", tmp_path / "soak.svg")

    assert code == 0
    assert "8 epochs in 0 minutes" in capsys.readouterr().out
    assert "old" not in page.read_text()
    assert "| Memory of the workers | 7 MB | +0.0 | 8.0 |" in page.read_text()
    assert page.read_text().endswith("<!-- end of soak -->\nAfter.\n")
    assert (tmp_path / "soak.svg").read_text().count("<polyline") == len(soak_verdict.SERIES)
