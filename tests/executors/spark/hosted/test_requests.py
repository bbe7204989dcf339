"""What clients ask of a job on a server, without Spark."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.checkpoint.storage import LocalStorage
from penstock.errors import CheckpointNotReadableError, SavepointError
from penstock.executors.spark.hosted import requests
from penstock.executors.spark.hosted.reports import Answer
from penstock.executors.spark.hosted.requests import (
    CANCEL,
    CHECKPOINT,
    LOOK,
    SAVEPOINT,
    STOP,
    Requests,
)


class FakeJob:
    def __init__(self) -> None:
        self.did: list[Any] = []

    def cancel(self) -> None:
        self.did.append(CANCEL)

    def stop(self) -> None:
        self.did.append(STOP)

    def turn(self) -> str:
        return "turn"

    def checkpoint(self, turn: str) -> int:
        self.did.append(turn)
        return 7

    def savepoint(self, path: str | None = None, **more: Any) -> str:
        if path is None:
            raise SavepointError("nowhere")
        return f"{path} {more}"


class Place:
    """A folder of requests, and what they come to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.job = FakeJob()
        self._answers: dict[str, Answer] = {}
        self._changed = threading.Condition()
        storage = LocalStorage(str(folder), is_durable=False)
        job: Any = self.job
        self.requests = Requests(storage, "requests/1", job, self._take)

    def _take(self, request: str, answer: Answer) -> None:
        with self._changed:
            self._answers[request] = answer
            self._changed.notify_all()

    def write(self, request: str, file: str = "part-00000-a.txt", **asked: Any) -> None:
        folder = self._folder / "requests" / "1" / request
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(json.dumps(asked) + "\n")

    def names(self) -> list[str]:
        return sorted(path.name for path in (self._folder / "requests" / "1").iterdir())

    def answer(self, request: str) -> Answer:
        self.requests.look()
        with self._changed:
            assert self._changed.wait_for(lambda: request in self._answers, 10)
            return self._answers[request]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_each_is_done_once(place: Place) -> None:
    place.write("a", what=STOP)
    assert place.answer("a") == Answer(None)
    place.write("b", what=CHECKPOINT)
    assert place.answer("b") == Answer(7)
    place.write("c", what=CANCEL)
    assert place.answer("c") == Answer(None)
    assert place.job.did == [STOP, "turn", CANCEL]


def test_what_is_taken_up_is_deleted_once_spark_can_no_longer_write_to_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(requests, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    place.write("a", what=LOOK)
    assert place.answer("a") == Answer(None)
    assert place.names() == ["a"]
    place.write("a", "_SUCCESS")
    for _ in range(2):
        place.requests.look()
        assert place.names() == ["a"]
        clock[0] += 5
    place.requests.look()
    assert place.names() == []


def test_what_spark_has_not_moved_to_its_place_is_not_there_yet(place: Place) -> None:
    place.write("a", "_temporary/0/part-00000-a.txt", what=STOP)
    place.requests.look()
    place.requests.finish()
    assert place.job.did == []


def test_what_cannot_be_read_for_a_while_is_done_then(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> bytes:
        raise CheckpointNotReadableError("away")

    place.write("a", what=CHECKPOINT)
    with monkeypatch.context() as away:
        away.setattr(LocalStorage, "read", refuse)
        with pytest.raises(CheckpointNotReadableError):
            place.requests.look()
    assert place.answer("a") == Answer(7)


def test_a_savepoint_comes_with_its_arguments_and_its_error(place: Place) -> None:
    place.write("a", what=SAVEPOINT, path="/x", stops=True)
    assert place.answer("a").found == "/x {'stops': True}"
    place.write("b", what=SAVEPOINT)
    assert isinstance(place.answer("b").error, SavepointError)
