from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.kit import peers
from benchmarks.kit.peers import PeerHung, PeerUnavailable, PyFlink, end_group

JOB = """
import json, os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
for line in sys.stdin:
    order = json.loads(line)
    if order["what"] == "hang":
        time.sleep(1000)
    if order["what"] == "end":
        child.kill()
        break
    print("noise")
    print("answer", json.dumps({"pids": [os.getpid(), child.pid], "mode": sys.argv[1]}), flush=True)
"""

STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]).pid, flush=True)
time.sleep(1000)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something in the place of PyFlink."""
    for name, value in (
        ("ROOT", tmp_path),
        ("HOME", tmp_path),
        ("STAMP", tmp_path / "installed"),
        ("PATIENCE", 0.2),
        ("ensure_java", lambda: None),
    ):
        monkeypatch.setattr(peers, name, value)
    (tmp_path / "installed").touch()
    for folder in ("bin", "benchmarks"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "benchmarks" / "job.py").write_text(JOB)


@pytest.mark.usefixtures("installed")
class TestPyFlink:
    def test_that_does_not_answer_in_time_is_started_anew(self) -> None:
        with PyFlink("process", "job") as flink:
            first = flink.ask(what="go")
            assert flink.ask(60, what="go") == first
            with pytest.raises(PeerHung, match=r"did not answer within 0\.01 s"):
                flink.ask(0.01, what="hang")
            assert not [pid for pid in first["pids"] if runs(pid)]
            second = flink.ask(what="go")
            assert not set(first["pids"]) & set(second["pids"])
        assert not [pid for pid in second["pids"] if runs(pid)]

    def test_that_ends_by_itself_says_where_its_log_is(self) -> None:
        with PyFlink("process", "job") as flink:  # noqa: SIM117 - the order is what fails
            with pytest.raises(PeerUnavailable, match=r"Its log: job-process\.log"):
                flink.ask(what="end")

    def test_leaves_nothing_behind_when_it_is_interrupted(self) -> None:
        with contextlib.suppress(KeyboardInterrupt), PyFlink("process", "job") as flink:
            pids = flink.ask(what="go")["pids"]
            raise KeyboardInterrupt
        assert not [pid for pid in pids if runs(pid)]


def test_group_that_does_not_end_when_asked_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PATIENCE", 0.2)
    process = subprocess.Popen(
        [sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    with process.stdout:
        child = int(process.stdout.readline())
    end_group(process)
    assert not [pid for pid in (process.pid, child) if runs(pid)]


def runs(pid: int) -> bool:
    """Whether a process is there, and more than an entry that its parent has not read."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
