"""Lives that are stopped, drained, begin from savepoints, or have another program than those before."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crash import changes, oracle
from tests.crash.changes import EXTRA, MORE, NAMED, NAMELESS, TALLY, Version
from tests.crash.killer import CrashTestFailed, Trial
from tests.crash.lives import End, Kill, Plan
from tests.crash.long import HEAD, resumed
from tests.crash.plan import FAULTS, ByChance
from tests.crash.records import Record
from tests.crash.surroundings.surroundings import Surroundings
from tests.servers.zygote import Zygote

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def trial(tmp_path: Path, zygotes: Iterator[Zygote]) -> Iterator[Trial]:
    trial = Trial(tmp_path, 41, 11, zygotes=zygotes)
    yield trial
    trial.close()


def test_savepoints_of_savepoints(trial: Trial) -> None:
    for parallelism in (1, 3):
        life = trial.run(Plan("local", parallelism, end=End("stop-with-savepoint", 3)))
        assert life.savepoint is not None
        trial.move(life.savepoint)

    assert trial.run(Plan("local", 2)).outcome == "finished"
    trial.check()


def test_a_drain_and_what_follows(trial: Trial) -> None:
    assert trial.run(Plan("local", 2, end=End("drain", 4))).outcome == "drained"
    assert trial.drains == 1

    assert trial.run(Plan("local", 1, version=Version(1, drains=1))).outcome == "finished"
    trial.check()


def test_a_program_that_changes(trial: Trial) -> None:
    features = frozenset({TALLY, MORE, f"{EXTRA}-1"})
    kill = Kill("all", "publish.after", ahead=2)
    trial.run(Plan("local", 2, kill))
    trial.run(Plan("local", 2, kill, version=Version(1, features)))

    assert trial.run(Plan("local", 1, version=Version(2))).is_refused
    trial.run(Plan("local", 2, kill, version=Version(3, frozenset({MORE}), drops=True)))
    again = frozenset({TALLY, MORE, f"{EXTRA}-4"})
    assert trial.run(Plan("local", 3, version=Version(4, again))).outcome == "finished"
    trial.check()


def test_an_operator_that_is_given_a_uid(trial: Trial) -> None:
    kill = Kill("all", "publish.after", ahead=2)
    trial.run(Plan("local", 2, kill, version=Version(0, frozenset({NAMELESS}))))

    life = trial.run(Plan("local", 2, version=Version(1, frozenset({NAMED}))))

    assert life.is_refused
    assert life.error == "UnclaimedStateError"


def test_what_a_version_dropped_is_missed(trial: Trial) -> None:
    kill = Kill("all", "publish.after", ahead=3)
    with_more = Version(0, frozenset({MORE}))
    trial.run(Plan("local", 2, kill, version=with_more))
    trial.run(Plan("local", 2))
    part = next((trial.disk / "output-more").rglob("part-*"))

    part.unlink()

    with pytest.raises(CrashTestFailed, match=r"more: .* x lost"):
        trial.check()


@pytest.mark.parametrize("loses_more", [False, True])
def test_only_what_was_not_published_may_be_dropped(trial: Trial, loses_more: bool) -> None:
    kill = Kill("all", "publish.before", ahead=3)
    trial.run(Plan("local", 2, kill, version=Version(0, frozenset({MORE}))))
    trial.run(Plan("local", 2, version=Version(1, drops=True)))
    assert trial.dropped == {0}

    if loses_more:
        next((trial.disk / "output-more").rglob("part-*")).unlink()
        with pytest.raises(CrashTestFailed, match=r"more: .* x lost"):
            trial.check()
    else:
        trial.check()


def test_who_stands_still_before_the_claim_never_goes_on(
    tmp_path: Path, zygotes: Iterator[Zygote]
) -> None:
    trial = Trial(tmp_path, 41, 6, 20, around=Surroundings(has_locks=False), zygotes=zygotes)
    try:
        trial.run(Plan("local", 1, Kill("suspend", "generations.before")))
        assert trial.run(Plan("local", 1)).outcome == "finished"
        trial.settle()
        trial.check()
        assert (tmp_path / "life-0.log").read_text().splitlines() == ["started"]
    finally:
        trial.close()


@pytest.mark.parametrize("seed", range(30))
def test_changes_are_of_some_kind(seed: int) -> None:
    chance = random.Random(seed)
    version = Version()
    for number in range(1, 10):
        new = changes.next_version(chance, version, number)
        assert new.features != version.features
        assert not (changes.must_refuse(version, new) and changes.must_go_on(version, new))
        version = new


def test_results_of_what_comes_and_goes() -> None:
    runs = changes.runs_of(
        [Version(0, frozenset({TALLY})), Version(1), Version(2, frozenset({TALLY}))], TALLY
    )

    assert runs == {0: 0, 2: 1}


def test_what_is_there_again_after_going_back() -> None:
    files: list[list[Record]] = [[]]
    lines = {"files": oracle.expected(files) * 2}

    assert oracle.faults(files, lines, history=oracle.History(repeats=1)) == []


@pytest.mark.parametrize(
    ("order", "is_right"),
    [([0, 1, 2], True), ([0, 2, 1], False), ([0, 1, 2, 2], False), ([0, 1], False)],
)
def test_each_file_comes_once_and_in_its_order(order: list[int], is_right: bool) -> None:
    files = [[Record(2 * n, "k", n, n), Record(2 * n + 1, "k", n, n)] for n in range(3)]
    results = oracle.expected([files[number] for number in order])
    sink = {"files": [one._replace(stamp=f"0-{one.record}") for one in results]}

    assert (oracle.faults(files, sink) == []) is is_right


@pytest.mark.parametrize("master", ["local", "local[2]", "spark://"])
def test_every_fault_is_planned(tmp_path: Path, master: str) -> None:
    trial = Trial(tmp_path, 42, 1)
    plan = ByChance(random.Random(5), [master], [1, 2], ["all"], FAULTS)
    plans = [plan(trial) for _ in range(300)]

    assert {one.kill.target for one in plans if one.kill} >= {"all", "raise", "power", "suspend"}
    assert {one.end.how for one in plans} == {
        *("finish", "stop", "savepoint", "stop-with-savepoint", "drain")
    }


def test_a_log_is_resumed_after_its_last_complete_job(tmp_path: Path) -> None:
    log = tmp_path / "log"
    job = "   1 | 1000 | killed\n     | 1000 | kill: after 2 lives the outcome is the oracle's\n"
    log.write_text(f"# On local\n{HEAD}\n{job}   2 | 1001 | killed\n")

    assert resumed(log) == (1, 1)
    assert log.read_text() == f"# On local\n{HEAD}\n{job}"
