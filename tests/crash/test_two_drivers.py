"""A driver that was given up and still lives: it stops at a point, another takes over, then it goes on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crash.killer import CrashTestFailed, Trial, killed_until_done
from tests.crash.lives import Kill, Plan
from tests.crash.points import WITHOUT_LOCK
from tests.crash.surroundings.surroundings import Surroundings
from tests.servers.s3_server import S3Server
from tests.servers.zygote import Zygote

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

PATIENCE = 30.0


class Stalled:
    """A driver that stops at a point until it is released.

    Args:
        trial: Its job.
        point: The point.
        ahead: In which epoch of those that are still to come.
    """

    def __init__(self, trial: Trial, point: str, ahead: int) -> None:
        self.number = len(trial.lives)
        self._trial = trial
        self._mark = trial.folder / f"mark-{self.number}"
        self._thread = threading.Thread(target=self._live, args=(Kill("stall", point, ahead),))
        self._thread.start()
        deadline = time.monotonic() + PATIENCE
        while not self._mark.exists():
            assert time.monotonic() < deadline, f"{point} was not reached"
            time.sleep(0.01)

    def _live(self, kill: Kill) -> None:
        self._trial.live("local", 2, kill)

    def release(self) -> str:
        """Let it go on to its end, and return the error it ended with; empty for none."""
        self._mark.unlink()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return error_of(self._trial, self.number)


def error_of(trial: Trial, number: int) -> str:
    lines = (trial.folder / f"life-{number}.log").read_text().splitlines()
    return next((line for line in lines if line.startswith("penstock.errors.")), "")


@pytest.fixture
def trial(tmp_path: Path, zygotes: Iterator[Zygote]) -> Iterator[Trial]:
    trial = Trial(tmp_path, 21, 8, 20, zygotes=zygotes)
    yield trial
    trial.close()


def test_a_second_driver_is_refused_on_a_disk(trial: Trial) -> None:
    first = Stalled(trial, "epochs.before", 2)

    with pytest.raises(CrashTestFailed, match=r"LocationInUseError: The job at .* runs already"):
        trial.live("local", 2)

    assert first.release() == ""
    trial.check()


@pytest.mark.parametrize(
    "point", ["epochs.before", "publish.before", "files.commit.in", "delete.before", "state.after"]
)
def test_one_that_comes_back_when_all_is_done(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    monkeypatch.setenv(WITHOUT_LOCK, "1")
    first = Stalled(trial, point, 3)
    assert trial.live("local", 2).code == 0

    first.release()

    trial.check()


@pytest.mark.parametrize("second", ["epoch", "state"])
@pytest.mark.parametrize("point", ["epochs.before", "publish.before"])
def test_one_that_goes_on_while_the_next_begins(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, point: str, second: str
) -> None:
    """The second driver has read what is committed, and not committed itself, when the first one goes on."""
    monkeypatch.setenv(WITHOUT_LOCK, "1")
    first = Stalled(trial, point, 3)
    other = Stalled(trial, f"{second}.before", 0)

    assert "LocationInUseError" in first.release()
    # What the first one committed meanwhile does not count.
    assert other.release() == ""
    trial.check()


def test_one_that_stands_still_until_another_has_its_place(
    tmp_path: Path, zygotes: Iterator[Zygote]
) -> None:
    trial = Trial(tmp_path, 22, 8, 20, around=Surroundings(has_locks=False), zygotes=zygotes)
    plans = iter([Plan("local", 2, Kill("suspend", "state.after", ahead=2))])

    killed_until_done(trial, lambda trial: next(plans, Plan("local", 3)))

    assert trial.lives[0].killed_at is not None
    assert len(trial.lives) > 1


def test_one_on_an_object_store(
    tmp_path: Path, s3: tuple[S3Server, str], zygotes: Iterator[Zygote]
) -> None:
    server, place = s3
    trial = Trial(
        tmp_path, 23, 6, 20, around=Surroundings(store=(place, server.environment)), zygotes=zygotes
    )
    plans = iter([Plan("local", 2, Kill("suspend", "epochs.in", ahead=1))])

    killed_until_done(trial, lambda trial: next(plans, Plan("local", 1)))

    assert trial.lives[0].killed_at is not None
