"""Named points of a job at which something is killed, once: in the driver and in the workers.

The environment variable names the point; whatever process reaches it first, in the epoch that is meant or a
later one, leaves a mark and kills. A worker knows of it because the program of the test imports this module.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.crash.surroundings import disk
from tests.servers.processes import Process, kill, kill_session, process_of, processes

from penstock.checkpoint import generations
from penstock.checkpoint.object_storage import ObjectStorage
from penstock.checkpoint.storage import LocalStorage
from penstock.datastream.connectors.databases.committer import RowsCommitter
from penstock.datastream.connectors.databases.epochs_table import EpochsTable
from penstock.datastream.connectors.files.committer import FileCommitter
from penstock.datastream.connectors.files.staging import Staging
from penstock.datastream.connectors.files.writer import _Piece
from penstock.errors import InconsistentEpochError
from penstock.executors.driver.epoch_runner import EpochRunner
from penstock.executors.driver.publishing import Publisher
from penstock.runtime.epoch import Epoch
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.subtask import Subtask

VARIABLE: Final = "PENSTOCK_CRASH"
SESSION: Final = "PENSTOCK_CRASH_SESSION"
WITHOUT_LOCK: Final = "PENSTOCK_CRASH_WITHOUT_LOCK"
"""If it is set, drivers do not lock the location: as on an object store, where there are no locks."""
VARIABLES: Final = (VARIABLE, WITHOUT_LOCK, disk.VARIABLE)
"""What workers must have in their environment too."""
_PATIENCE: Final = 60.0
_SLOW: Final = 3.0
"""How long a task takes that is slow, in seconds."""
_UNTIL_REPORTED: Final = 0.3
"""How long Spark may take to hear that a task is done, in seconds."""


class Point(NamedTuple):
    """Where what is killed.

    Attributes:
        name: The point.
        epoch: The first epoch in which it counts.
        target: Who is killed: see `TARGETS`.
        marker: The file that says that it happened; it may happen once.
        skip: How often the process passes it before.
        every: Once in how many epochs it happens again; 0 for never.
    """

    name: str
    epoch: int
    target: str
    marker: str
    skip: int = 0
    every: int = 0


def is_driver(process: Process) -> bool:
    return "tests.crash.job" in process.command and "processes.py" not in process.command


TARGETS: Final[dict[str, Callable[[Process], bool]]] = {
    "all": lambda process: "processes.py" not in process.command,
    "driver": lambda process: is_driver(process) or process.is_java,
    "python": is_driver,
    "jvm": lambda process: process.is_java,
    "workers": lambda process: process.is_spark_worker,
}
"""What of the driver's session is killed. Besides: `worker`, the process that reached the point; `executor`,
the JVM that runs it; `zombie`, the driver and its JVM, while the process that reached the point goes on
when the mark is removed; `stall`, nobody, and the process goes on when the mark is removed; `raise` and
`exit`, nobody, but the process fails at the point, or ends; `slow`, nobody, but it takes its time;
`suspend`, nobody, but all stand still until they are told to go on; `power`, all, and the disk has no more than
what was synced."""


CLAIMED: Final = "claimed"
"""What a driver says when it has claimed the job's location."""
MIXED: Final = "mixed attempts"
"""What it says when it found that two tasks of an epoch read different attempts of a third, and runs it again."""


class Fault(RuntimeError):
    """Raised at a point where something is to fail."""


class _Here:
    """This process.

    Attributes:
        point: The point that is armed; None for none.
        epoch: The epoch that it is at.
        passed: How often it has passed the point.
    """

    point: Point | None = None
    epoch = -1
    passed = 0


def reached(name: str) -> None:
    """Say that a point is reached."""
    if is_due(name):
        fire()


def is_due(name: str) -> bool:
    """Whether something is to be killed at a point that is reached."""
    if _Here.point is None or name != _Here.point.name or _Here.epoch < _Here.point.epoch:
        return False
    _Here.passed += 1
    return _Here.passed > _Here.point.skip and not os.path.exists(_done())


def _done() -> str:
    """Return the file that says that it happened."""
    assert _Here.point is not None
    every = _Here.point.every
    return f"{_Here.point.marker}.done" + (f"-{_Here.epoch // every}" if every else "")


def fire() -> None:
    """Kill what is to be killed, unless that has happened."""
    assert _Here.point is not None
    try:
        with open(_done(), "x") as done:
            done.write(f"{_Here.epoch}")
            done.flush()
    except FileExistsError:
        return
    target = _Here.point.target
    for mark in (_Here.point.marker, f"{_Here.point.marker}.done"):
        Path(mark).touch()
    session = int(os.environ.get(SESSION, "0")) or os.getsid(0)
    if target == "worker":
        os.kill(os.getpid(), signal.SIGKILL)
    elif target == "executor":
        kill_executor()
    elif target == "raise":
        raise Fault(f"{_Here.point.name} fails, as it should")
    elif target == "exit":
        os._exit(1)
    elif target == "slow":
        time.sleep(_SLOW)
    elif target == "suspend":
        suspend(session)
    elif target in {"zombie", "stall"}:
        _outlive(session, kills=target == "zombie")
    else:
        meant = TARGETS["all" if target == "power" else target]
        kill_session(session, lambda one: meant(one) and not is_keeper(one))
        here = process_of(os.getpid())
        if target == "workers" and here is not None and here.is_spark_worker:
            kill([here.pid])  # on a cluster it is in another session


def suspend(session: int) -> int:
    """Let all of a session stand still but for what keeps it, and return how many processes there were."""
    return kill([one.pid for one in processes(session) if not is_keeper(one)], signal.SIGSTOP)


def is_keeper(process: Process) -> bool:
    return "processes.py" in process.command


def kill_executor() -> None:
    """Kill the JVM that has the running Python task, and the task with it; its disk is lost too.

    Otherwise another executor on this machine would read from there what the dead one has sent.
    """
    above = process_of(os.getppid())
    while above is not None and not above.is_java:
        above = process_of(above.parent)
    assert above is not None
    variables = Path(f"/proc/{above.pid}/environ").read_bytes().decode().split("\0")
    kill([above.pid])
    for variable in variables:
        if variable.startswith("SPARK_EXECUTOR_DIRS="):
            for folder in variable.partition("=")[2].split(os.pathsep):
                shutil.rmtree(folder, ignore_errors=True)
    kill([os.getpid()])


def _outlive(session: int, *, kills: bool) -> None:
    """Go on when the others are dead and the mark is removed."""
    assert _Here.point is not None
    if kills:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.setsid()
        kill_session(session, lambda one: TARGETS["driver"](one) and not is_keeper(one))
    _await(Path(_Here.point.marker), exists=False)


def _await(path: Path, *, exists: bool) -> bool:
    """Wait until a file is there, or is not; return whether it came to that."""
    deadline = time.monotonic() + _PATIENCE
    while path.exists() is not exists:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def install() -> None:
    """Arm the point that the environment names, in this process, once."""
    disk.install()
    if os.environ.get(WITHOUT_LOCK):
        setattr(generations, "_lock", lambda storage: None)  # noqa: B010
    text = os.environ.get(VARIABLE)
    if not text or _Here.point is not None:
        return
    _Here.point = Point(**json.loads(text))
    _wrap(Subtask, "begin_epoch", _noting_epoch)
    _wrap(Carrier, "run", _around_level)
    _wrap(EpochRunner, "run", _around_epoch)
    _wrap(EpochRunner, "_outcome", _telling_of_mixed_attempts)
    for storage in (LocalStorage, ObjectStorage):
        _wrap(storage, "write", _around_writing)
        _wrap(storage, "create", _around_writing)
        _wrap(storage, "delete", _around_deleting)
    _wrap(Publisher, "__call__", _around("publish"))
    _wrap(FileCommitter, "commit", _around("files.commit"))
    _wrap(Staging, "_move", _after("files.commit.in"))
    _wrap(Staging, "join", _around("files.join"))
    _wrap(Staging, "sweep", _around("files.sweep"))
    _wrap(_Piece, "complete", _around_piece)
    _wrap(RowsCommitter, "_commit", _around("table.commit"))
    _wrap(EpochsTable, "remember", _after("table.commit.in"))


def tell_of_claim() -> None:
    """Let this process say when it has claimed a job's location."""
    _wrap(generations.Generation, "__init__", _telling(CLAIMED))


Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


def _wrap(owner: type, method: str, wrapper: Wrapper) -> None:
    original = getattr(owner, method)
    setattr(owner, method, functools.wraps(original)(wrapper(original)))


def _around(name: str) -> Wrapper:
    """Return what makes a point before a method, and one after it."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(*arguments: Any, **named: Any) -> Any:
            reached(f"{name}.before")
            result = original(*arguments, **named)
            reached(f"{name}.after")
            return result

        return method

    return wrapper


def _telling(word: str) -> Wrapper:
    """Return what says a word when a method has ended."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(*arguments: Any, **named: Any) -> None:
            original(*arguments, **named)
            print(word, flush=True)

        return method

    return wrapper


def _after(name: str) -> Wrapper:
    """Return what makes a point after a method."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(*arguments: Any, **named: Any) -> Any:
            result = original(*arguments, **named)
            reached(name)
            return result

        return method

    return wrapper


def _around_piece(original: Callable[..., Any]) -> Callable[..., Any]:
    def complete(self: _Piece) -> Any:
        reached("files.prepare.before")
        if is_due("files.prepare.in"):
            self._file.flush()
            half = self._file.tell() // 2
            rest = Path(self._file.name).read_bytes()[half:]
            self._file.truncate(half)
            fire()
            # Whoever lives, as another was killed, goes on with the whole.
            self._file.seek(half)
            self._file.write(rest)
        result = original(self)
        reached("files.prepare.after")
        return result

    return complete


def _noting_epoch(original: Callable[..., None]) -> Callable[..., None]:
    def begin_epoch(self: Subtask, epoch: Epoch, *rest: Any) -> None:
        _Here.epoch = epoch.number
        original(self, epoch, *rest)

    return begin_epoch


def _around_level(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Carrier, buffers: Any) -> Any:
        _Here.epoch = self.epoch.number
        reached("level.before")
        if self.number == 1 and is_due("level.between") and _await(_first_task(), exists=True):
            time.sleep(_UNTIL_REPORTED)
            fire()
        yield from original(self, buffers)
        reached("level.after")
        if self.number == 0 and is_due("level.between"):
            _first_task().touch()

    return run


def _first_task() -> Path:
    assert _Here.point is not None
    return Path(f"{_Here.point.marker}.first-{_Here.epoch}")


def _around_epoch(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: EpochRunner, number: int, *rest: Any, **named: Any) -> Any:
        _Here.epoch = number
        reached("epoch.before")
        record = original(self, number, *rest, **named)
        reached("epoch.after")
        return record

    return run


def _telling_of_mixed_attempts(original: Callable[..., Any]) -> Callable[..., Any]:
    def outcome(self: EpochRunner, buffers: Any) -> Any:
        try:
            return original(self, buffers)
        except InconsistentEpochError:
            print(MIXED, flush=True)
            raise

    return outcome


def _around_writing(original: Callable[..., None]) -> Callable[..., None]:
    def write(
        self: LocalStorage | ObjectStorage, name: str, chunks: bytes | Iterable[bytes]
    ) -> None:
        place = name.partition("/")[0]
        reached(f"{place}.before")
        if is_due(f"{place}.in"):
            data = chunks if isinstance(chunks, bytes) else b"".join(chunks)
            if isinstance(self, LocalStorage):
                _leave_half(self, name, data)
            else:  # an object is there as a whole or not at all
                fire()
            chunks = data if isinstance(chunks, bytes) else [data]
        original(self, name, chunks)
        reached(f"{place}.after")

    return write


def _leave_half(storage: LocalStorage, name: str, data: bytes) -> None:
    """Write half a file where a draft of it would be, and kill."""
    folder = os.path.dirname(storage.url(name))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f".{uuid.uuid4().hex}"), "wb") as file:
        file.write(data[: len(data) // 2])
        file.flush()
        os.fsync(file.fileno())
        fire()


def _around_deleting(original: Callable[..., None]) -> Callable[..., None]:
    def delete(self: LocalStorage | ObjectStorage, names: Iterable[str]) -> None:
        found = list(names)
        if found:
            reached("delete.before")
            original(self, found[:1])
            reached("delete.in")
        original(self, found[1:])
        if found:
            reached("delete.after")

    return delete


def watch_spark(location: str) -> None:
    """Kill from the driver when Spark's own log of a streaming query has come to the point."""
    if _Here.point is None or not _Here.point.name.startswith("spark."):
        return
    _, log, when = _Here.point.name.split(".")
    threading.Thread(target=_watch, args=(Path(location), log, when), daemon=True).start()


def _watch(location: Path, log: str, when: str) -> None:
    assert _Here.point is not None
    while True:
        names = [path.name for path in location.glob(f"spark*/{log}/*")]
        names += [path.name for path in location.glob(f"spark*/{log}/.*")]
        drafts = {_number(name) for name in names if name.startswith(".") and ".tmp" in name}
        logged = {int(name) for name in names if name.isdecimal()}
        found = drafts if when == "in" else logged
        if any(number is not None and number >= _Here.point.epoch for number in found):
            _Here.epoch = max(number for number in found if number is not None)
            fire()
            return
        time.sleep(0.0005)


def _number(name: str) -> int | None:
    parts = name.split(".")
    return int(parts[1]) if len(parts) > 2 and parts[1].isdecimal() else None
